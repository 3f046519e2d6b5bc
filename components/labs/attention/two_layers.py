"""Why attention has layers: "it" hesitates between two nouns in the first and decides in the second."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.parts import Figure
from components.charts.tokens import token_map
from components.controls import form
from components.labs.parts import charts, say
from components.shell.text import named_table, vector
from models.content import Texts
from models.labs.attention import Head, Matrices
from models.labs.two_layers import FEATURES, IT, LAST, LayersOfIt, two_layers, words
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_layers"
WRITTEN = 0.05  # from which a weight is written into its cell
WORDS_PIXELS = 64  # below the map
TICK_DEGREES = -50
DECIDED = 0.6  # of a weight on one noun


@dataclass(frozen=True)
class LastWord(Settings):
    columns = (2,)

    last: Annotated[str, Knob("The animal did not cross the street because it was too ...", choices=dict.fromkeys(LAST),
        link="last-word", control="segments")] = LAST[0]  # fmt: skip
    second: Annotated[bool, Knob("Second head in the first layer", link="second-head")] = True


def draw(_head: Head, _at: int, _x: np.ndarray, _matrices: Matrices) -> None:
    at = form.draw(LastWord, KEY)
    layers, tokens = two_layers(at.last, second_head=at.second), words(at.last)
    charts(KEY, it_map(layers, tokens, second_head=at.second), height=280)
    say(layers_sentence(layers, tokens))
    rows = {"before the first layer": np.eye(len(FEATURES))[2], "after it": layers.between[IT]}
    named_table("The vector of it", {"“it”": list(rows), f"[{', '.join(FEATURES)}]": list(map(vector, rows.values()))})
    st.caption(TEXTS("two layers by hand"))


def it_map(layers: LayersOfIt, tokens: tuple[str, ...], *, second_head: bool) -> Figure:
    """Where "it" looks, a row for each head; a head that is off looks nowhere."""
    heads = {"head 1": layers.nouns, "head 2": layers.adjectives, "layer 2": layers.decides}
    values = np.array([head.weights[IT] for head in heads.values()])
    hidden = np.zeros(values.shape, bool)
    hidden[1] = not second_head
    texts = np.where(hidden | (values < WRITTEN), "", np.char.mod("%.2f", values)).tolist()
    how: dict[str, Any] = {"rows": list(heads), "hidden": hidden, "texts": texts, "unit": "share"}
    figure = token_map(
        title="Where “it” looks", tokens=list(tokens), values=values, x="", y="heads of layer 1, layer 2", **how
    )
    figure["layout"]["margin"]["b"] = WORDS_PIXELS
    figure["layout"]["xaxis"] |= {
        "tickvals": list(range(1, len(tokens) + 1)),
        "ticktext": list(tokens),
        "tickangle": TICK_DEGREES,
    }
    return figure


def layers_sentence(layers: LayersOfIt, tokens: tuple[str, ...]) -> str:
    """How "it" divides its weight between the nouns in both layers, and whether it decides."""
    nouns = [tokens.index(noun) for noun in ("animal", "street")]
    first, second = (head.weights[IT][nouns] for head in (layers.nouns, layers.decides))
    share = {"animal": first[0], "street": first[1], "later_animal": second[0], "later_street": second[1]}
    if second.max() < DECIDED:
        return TEXTS("it cannot decide", **share)
    chosen = ("animal", "street")[int(second.argmax())]
    return TEXTS("it decides", last=tokens[-1], chosen=chosen, **share)
