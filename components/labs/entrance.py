"""The labs' entrance: the map of a transformer, whose boxes lead to the labs."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import streamlit as st

from components.charts.diagram import Drawing, Size, show_buttons
from components.controls import form
from components.shell import session
from components.shell.link import PAGES
from models.content import Texts
from models.insight.words import counted
from models.labs.transformer_map import MapStack, MapSublayer, stacks
from models.spec.knob import Knob
from models.spec.query import slug
from models.spec.settings import Settings

TEXTS = Texts("labs/map")
KEY, MAP = "labs", "labs_map"
BOTH, ALONE = "encoder and decoder", "decoder alone (GPT)"
LABS = ("normalization", "attention", "gradients", "residual", "autoregression")
# By box, whose name is the heading of its sentence: a lab, its part, and what the link says.
LEADS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "add & norm": (
        ("residual", "", "Add and norm on one token"),
        ("residual", "A whole block", "A whole block, number by number"),
        ("normalization", "", "Norms on a table of tokens"),
    ),
    "norm": (("normalization", "", "Norms on a table of tokens"),),
    "add": (("residual", "", "A residual by hand"),),
    "final norm": (("residual", "", "Pre-norm by hand, with its final norm"),),
    "attention": (("attention", "", "Single and multi-head, number by number"),),
    "masked attention": (
        ("attention", "", "One head; switch its mask"),
        ("autoregression", "Earlier tokens", "Earlier tokens never change"),
    ),
    "cross-attention": (("attention", "Encoder and decoder", "Encoder and decoder, trained"),),
    "feed-forward": (("attention", "Without feed-forward", "A net without feed-forward"),),
    "embedding": (("autoregression", "A token's row", "A token's row of numbers"),),
    "positions": (("attention", "Positions", "Positions"),),
    "residual": (
        ("residual", "Memory and subspaces", "What a stream keeps"),
        ("gradients", "", "A gradient through many blocks"),
    ),
    "× N": (
        ("residual", "A whole block", "A whole block, number by number"),
        ("gradients", "", "A gradient through many blocks"),
    ),
    "linear, softmax": (("autoregression", "", "A text, token by token"),),
}
# What is shown where the chosen box is not drawn.
INSTEAD = {
    "add & norm": "norm",
    "norm": "add & norm",
    "add": "add & norm",
    "final norm": "add & norm",
    "attention": "masked attention",
    "cross-attention": "masked attention",
}
SIZE = Size(box_height=25, letter_width=7.4, padding=14, add_radius=10)
COLUMN, GAP, SKIP, HALF, FRAME = 206, 8, 84, 64, 98  # pixels: a column, between boxes, and from its middle outwards


@dataclass(frozen=True)
class TransformerMap(Settings):
    columns = (1,)

    net: Annotated[str, Knob("Transformer", choices=dict.fromkeys((BOTH, ALONE)), control="segments")] = BOTH
    norm: Annotated[str, Knob("Norm", choices=dict.fromkeys(("post-norm", "pre-norm")), control="segments")] = (
        "post-norm"
    )
    box: Annotated[str, Knob("Part", choices=dict.fromkeys(LEADS))] = "add & norm"


def draw() -> None:
    form.keep(TransformerMap, KEY, only=["box"])
    picture, beside = st.columns([3, 2], gap="medium")
    with beside:
        shown = form.draw(TransformerMap, KEY, only=["net", "norm"])
    drawn = stacks(shown.norm, alone=shown.net == ALONE)
    svg, boxes = transformer(drawn)
    box = shown.box if shown.box in boxes else INSTEAD[shown.box]
    with picture:
        show_buttons(svg, box, key=MAP, on_touch=_touched)
    with beside:
        st.subheader(box[:1].upper() + box[1:], anchor=False)
        st.markdown(TEXTS(box))
        for lab, part, label in LEADS[box]:
            query = {"part": slug(part)} if part else {}
            st.page_link(PAGES / f"{lab}.py", label=label, icon=":material/arrow_forward:", query_params=query)
        st.caption(counts(drawn))
        st.caption(TEXTS(shown.norm))
    with st.container(horizontal=True):
        for lab in LABS:
            st.page_link(PAGES / f"{lab}.py")


def _touched() -> None:
    name = getattr(session.widget_value(MAP), "touched", None)
    if name in LEADS:  # it comes from a browser
        form.put(KEY, box=name)


def counts(drawn: list[MapStack]) -> str:
    """How many sublayers and norms are drawn."""
    sublayers, norms = sum(len(stack.sublayers) for stack in drawn), sum(stack.norms for stack in drawn)
    final = sum(stack.final_norm for stack in drawn)
    more = f", and {counted(final, 'final norm')}" if final else ""
    return TEXTS("counts", sublayers=counted(sublayers, "sublayer"), norms=counted(norms, "norm"), final=more)


def transformer(drawn: list[MapStack]) -> tuple[str, list[str]]:
    """The SVG of the stacks side by side, read upwards, and the names of its boxes."""
    drawing = Drawing(size=SIZE)
    columns = [_Column(drawing, COLUMN * (at + 0.5), -1 if drawn[at + 1 :] else 1) for at in range(len(drawn))]
    for column, stack in zip(columns, drawn, strict=True):
        column.stack(stack, last=stack is drawn[-1])
    if len(columns) > 1:
        _memory(drawing, *columns)
    top = min(column.y for column in columns) - 12
    size = f'viewBox="0 {top:.0f} {COLUMN * len(drawn)} {-top:.0f}"'
    style = f'style="width:100%;max-width:{1.06 * COLUMN * len(drawn):.0f}px"'
    inside = f"<title>Map of a transformer</title>{''.join(drawing.parts)}"
    svg = f'<svg class="block-diagram" role="group" aria-label="Map of a transformer" {size} {style}>{inside}</svg>'
    return svg, list(dict.fromkeys(name for column in columns for name in column.names))


class _Column:
    """A stack drawn upwards from y = 0 around `x`, its residuals on the `side` (-1 left, 1 right)."""

    def __init__(self, drawing: Drawing, x: float, side: int) -> None:
        self.drawing, self.x, self.side, self.y = drawing, x, side, -14.0
        self.names: list[str] = []
        self.cross = 0.0  # height of the cross-attention

    def stack(self, stack: MapStack, *, last: bool) -> None:
        self._text("tokens" if not last else "tokens so far")
        self._box("embedding", "head")
        self._add("positions")
        self._wire(12)
        begin = self.y
        for sublayer in stack.sublayers:
            self._sublayer(sublayer)
        self._wire(16)
        self._frame(begin, self.y)
        self._wire(6)
        if stack.final_norm:
            self._box("final norm", "norm")
        if last:
            self._box("linear, softmax", "head")
            self._wire(GAP)
            self._text("next token")

    def _sublayer(self, sublayer: MapSublayer) -> None:
        self._wire(8)
        fork = self.y
        if sublayer.norm_in:
            self._box("norm", "norm")
        self._box(sublayer.branch, "branch")
        if sublayer.branch == "cross-attention":
            self.cross = self.y + SIZE.box_height / 2
        if sublayer.norm_add:
            self._box("add & norm", "norm")
            joins, reach = self.y + SIZE.box_height / 2, HALF
        else:
            self._add("add")
            joins, reach = self.y + SIZE.add_radius, SIZE.add_radius
        outer = self.x + self.side * SKIP
        corners = [(self.x, fork), (outer, fork), (outer, joins), (self.x + self.side * reach, joins)]

        def line() -> None:
            for kind in ("skip", "reach"):  # the second is unseen and wide enough for a finger
                for (x1, y1), (x2, y2) in pairwise(corners):
                    self.drawing.wire(x1, y1, x2, y2, kind)

        self._touchable("residual", line)

    def _wire(self, up: float) -> None:
        self.drawing.wire(self.x, self.y, self.x, self.y - up)
        self.y -= up

    def _text(self, words: str) -> None:
        self.y -= 8
        self.drawing.text(words, self.x, self.y, "side")
        self.y -= 10

    def _box(self, name: str, kind: str) -> None:
        self._wire(GAP)
        self.y -= SIZE.box_height
        self._touchable(
            name, lambda: self.drawing.rect(name, self.x - HALF, self.y + SIZE.box_height / 2, 2 * HALF, kind)
        )

    def _add(self, name: str) -> None:
        """A circle in which something is added: the positions, or a residual."""
        self._wire(GAP)
        self.y -= 2 * SIZE.add_radius
        drawing = self.drawing
        drawing.x = self.x

        def circle() -> None:
            drawing.add(self.y + SIZE.add_radius)
            if name == "positions":
                drawing.wire(self.x + SIZE.add_radius, self.y + SIZE.add_radius, self.x + 26, self.y + SIZE.add_radius)
                drawing.text(name, self.x + 58, self.y + SIZE.add_radius, "side")

        self._touchable(name, circle)

    def _frame(self, begin: float, end: float) -> None:
        """The dashed line around what is repeated."""
        place = f'x="{self.x - FRAME:.0f}" y="{end:.0f}" width="{2 * FRAME}" height="{begin - end:.0f}"'
        self.drawing.parts.append(f'<rect class="scale frame" {place} rx="8"/>')
        middle = self.x + self.side * (FRAME - 20)
        self._touchable("× N", lambda: self.drawing.rect("× N", middle - 20, end, 40, "head plain"))

    def _touchable(self, name: str, draw: Callable[[], None]) -> None:
        parts = self.drawing.parts
        written = name.replace("&", "&amp;")
        parts.append(f'<g role="button" tabindex="0" data-box="{written}" aria-label="{written}">')
        draw()
        parts.append("</g>")
        self.names.append(name)


def _memory(drawing: Drawing, encoder: _Column, decoder: _Column) -> None:
    """What the encoder has read goes to the cross-attention of the decoder."""
    top, between = encoder.y - GAP, (encoder.x + decoder.x) / 2
    corners = [
        (encoder.x, encoder.y),
        (encoder.x, top),
        (between, top),
        (between, decoder.cross),
        (decoder.x - HALF, decoder.cross),
    ]
    for (x1, y1), (x2, y2) in pairwise(corners):
        drawing.wire(x1, y1, x2, y2)
