"""The lens as figures and a table: what the output head reads at every site, and texts that a net is asked about."""

import numpy as np
import pandas as pd

from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure, places, site_word
from components.charts.tokens import token_map
from models.answers import Lens
from models.insight.lens import visible_token
from models.insight.words import number

# The start of the book, or symbols of a task; `recall` ends with the first key of a query.
PROMPTS = {
    "book": "Call me Ish",
    "recall": "3 17 1 20 4 30 5 25 9 16 2 22 6 28 8 19 5",
    **dict.fromkeys(("copy", "reverse", "sort", "successor"), "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3"),
}
MAX_LABELS = 20  # beside the map


def lens_map(title: str, sites: tuple[str, ...], value: Lens, position: int) -> Figure:
    """The likeliest class at every site and token, shaded by its probability; bold where the last site agrees."""
    top = value.top
    names = [visible_token(name) for name in value.classes]
    texts = []
    for row in top:
        texts.append([_class_label(names, best, last) for best, last in zip(row, top[-1], strict=True)])
    return token_map(
        title=title,
        tokens=[visible_token(token) for token in value.tokens],
        rows=row_labels(sites),
        y="block",
        values=value.probability,
        unit="probability",
        x="token read",
        texts=texts,
        hidden=np.repeat(~value.readable[:, None], top.shape[1], 1),
        marked=position + 1,
    )


def row_labels(sites: tuple[str, ...]) -> list[str]:
    """Labels beside the map's rows: input, and blocks at their last sublayer; at most MAX_LABELS of many blocks."""
    labels = places(sites)["labels"]
    interval = max(1, -(-len(set(labels)) // MAX_LABELS))
    shown = []
    for label, following in zip(labels, (*labels[1:], ""), strict=True):
        is_last_of_block = label != following
        is_at_interval = not label.isdigit() or int(label) % interval == 0
        shown.append(label if is_last_of_block and is_at_interval else "")
    return shown


def _class_label(names: list[str], top: int, last: int) -> str:
    """Name of the class `top`, bold if it equals `last`; empty for -1, where nothing is finite."""
    name = names[top] if top >= 0 else ""
    return f"<b>{name}</b>" if name and top == last else name


def distance_chart(sites: tuple[str, ...], value: Lens, position: int) -> Figure:
    """KL(end || site) in nats, at the sites that the lens reads."""
    read = value.readable
    names = tuple(site for site, is_read in zip(sites, read, strict=True) if is_read)
    series = [Series("KL to the end", value.kl[read, position])]
    return depth_profile(title="Distance from the end by site", unit="KL, nats", hue=SIGNAL, sites=names, series=series)


def lens_rows(sites: tuple[str, ...], value: Lens, position: int) -> pd.DataFrame:
    """Table of the sites that the lens reads: the likeliest class at each, compared with the last site."""
    top, names = value.top[:, position], value.classes
    return pd.DataFrame(
        [
            {
                "site": site_word(sites[row]),
                "says": "not finite" if top[row] < 0 else visible_token(names[top[row]]),
                "probability": number(value.probability[row, position]),
                "of the final answer": number(value.final_probability[row, position]),
                "KL, nats": number(value.kl[row, position]),
                "agrees": "yes" if top[row] == top[-1] >= 0 else "no",
            }
            for row in np.flatnonzero(value.readable)
        ]
    )
