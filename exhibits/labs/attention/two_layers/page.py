"""Why attention has layers: "it" hesitates between two nouns in the first and decides in the second."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.parts import Figure
from components.charts.tokens import token_map
from components.controls import form
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import named_table, vector
from exhibits.labs.attention.two_layers.numbers import FEATURES, IT, LAST_WORDS, LayersOfIt, two_layers, words
from models.content import Texts
from models.labs.attention import Head, Matrices
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/two_layers")
KEY = "attention_layers"
MIN_WRITTEN_WEIGHT = 0.05  # the map's cells show no smaller weight
WORDS_PIXELS = 64  # height of the words below the map
TICK_DEGREES = -50  # slope of these words
MIN_DECIDED_WEIGHT = 0.6  # on one noun, for "it" to have decided


@dataclass(frozen=True)
class LastWord(Settings):
    columns = (2,)

    last: Annotated[str, Knob("The animal did not cross the street because it was too ...",
        choices=dict.fromkeys(LAST_WORDS), link="last-word", control="segments")] = LAST_WORDS[0]  # fmt: skip
    second: Annotated[bool, Knob("Second head in the first layer", link="second-head")] = True


def draw(_head: Head, _token: int, _x: np.ndarray, _matrices: Matrices) -> None:
    settings = form.draw(LastWord, KEY)
    layers = two_layers(settings.last, second_head=settings.second)
    tokens = words(settings.last)
    draw_charts(KEY, it_map(layers, tokens, second_head=settings.second))
    draw_finding(layers_sentence(layers, tokens))
    vectors = {"before the first layer": np.eye(len(FEATURES))[2], "after it": layers.stream[IT]}
    columns = {"“it”": list(vectors), f"[{', '.join(FEATURES)}]": list(map(vector, vectors.values()))}
    named_table("The vector of it", columns)
    st.caption(TEXTS("two layers by hand"))


def layers_sentence(layers: LayersOfIt, tokens: tuple[str, ...]) -> str:
    """How "it" divides its weight between the nouns in both layers, and whether it decides."""
    nouns = [tokens.index(noun) for noun in ("animal", "street")]
    first, second = (head.weights[IT][nouns] for head in (layers.nouns, layers.decision))
    share = {"animal": first[0], "street": first[1], "later_animal": second[0], "later_street": second[1]}
    if second.max() < MIN_DECIDED_WEIGHT:
        return TEXTS("it cannot decide", **share)
    chosen = ("animal", "street")[int(second.argmax())]
    return TEXTS("it decides", last=tokens[-1], chosen=chosen, **share)


def it_map(layers: LayersOfIt, tokens: tuple[str, ...], *, second_head: bool) -> Figure:
    """The attention of "it", a row for each head; that of a head which is off is empty."""
    heads = {"head 1": layers.nouns, "head 2": layers.adjectives, "layer 2": layers.decision}
    values = np.array([head.weights[IT] for head in heads.values()])
    hidden = np.zeros(values.shape, bool)
    hidden[1] = not second_head
    texts = np.where(hidden | (values < MIN_WRITTEN_WEIGHT), "", np.char.mod("%.2f", values)).tolist()
    axes: dict[str, Any] = {"tokens": list(tokens), "rows": list(heads), "x": "", "y": "heads of layer 1, layer 2"}
    figure = token_map(title="Where “it” looks", values=values, unit="share", hidden=hidden, texts=texts, **axes)
    figure["layout"]["margin"]["b"] = WORDS_PIXELS
    figure["layout"]["xaxis"] |= {
        "tickvals": list(range(1, len(tokens) + 1)),
        "ticktext": list(tokens),
        "tickangle": TICK_DEGREES,
    }
    return figure
