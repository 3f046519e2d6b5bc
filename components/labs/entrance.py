"""The labs' entrance: the map of a transformer, whose boxes lead to the labs."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import streamlit as st

from components.charts.diagram import Drawing, Size, show_buttons
from components.controls import form
from components.labs.page import PARTS, LabPart
from components.shell import session
from components.shell.link import PAGES
from components.shell.related import link_to_comparisons
from models.content import Texts
from models.insight.words import count_in_words
from models.labs.labs import LABS
from models.labs.transformer_map import MapStack, MapSublayer, stacks
from models.spec.knob import Knob
from models.spec.query import slug
from models.spec.settings import Settings

TEXTS = Texts("transformer_map")
KEY, MAP_KEY = "labs", "labs_map"
ENCODER_DECODER, DECODER_ALONE = "encoder and decoder", "decoder alone (GPT)"
NORM_PLACEMENTS = ("post-norm", "pre-norm")


# The parts of the picture, whose names are the headings of their sentences.
BOXES = (
    "add & norm",
    "norm",
    "add",
    "final norm",
    "attention",
    "masked attention",
    "cross-attention",
    "feed-forward",
    "embedding",
    "positions",
    "residual",
    "× N",
    "linear, softmax",
)
# The box to choose instead of one that is not drawn.
FALLBACK_BOXES = {
    "add & norm": "norm",
    "norm": "add & norm",
    "add": "add & norm",
    "final norm": "add & norm",
    "attention": "masked attention",
    "cross-attention": "masked attention",
}
DRAWING_SIZE = Size(box_height=25, letter_width=7.4, padding=14, add_radius=10)
FINGER = (
    56  # of the drawing for fingers, whose scale on a phone of 360 pixels is 0.8: the least side of what is pressed
)
# Lengths of the drawing, in pixels.
COLUMN_WIDTH = 206
BOX_GAP = 8  # between the boxes of a column
SUBLAYER_GAP = 8  # between a residual's fork and what is below it
FRAME_PADDING_BELOW = 12  # from the positions to the frame around the sublayers
FRAME_PADDING_ABOVE = 16
ABOVE_FRAME = 6
TOP_MARGIN = 12
FIRST_Y = -14.0  # the lowest line of a column
TEXT_RISE = 8  # from a line to the middle of the text above it
ABOVE_TEXT = 10
POSITIONS_WIRE = 26  # from the middle of a column to the end of the wire of the positions
POSITIONS_TEXT = 58
REPEAT_BOX_WIDTH = 40
REPEAT_BOX_INSET = 20  # from the frame's side to the middle of the box "× N"
# From the middle of a column outwards, to the residual, the side of a box and the side of the frame.
RESIDUAL_REACH = 84
BOX_REACH = 64
FRAME_REACH = 98


@dataclass(frozen=True)
class TransformerMap(Settings):
    columns = (1,)

    net: Annotated[
        str, Knob("Transformer", choices=dict.fromkeys((ENCODER_DECODER, DECODER_ALONE)), control="segments")
    ] = ENCODER_DECODER
    norm: Annotated[str, Knob("Norm", choices=dict.fromkeys(NORM_PLACEMENTS), control="segments")] = NORM_PLACEMENTS[0]
    box: Annotated[str, Knob("Part", choices=dict.fromkeys(BOXES))] = "add & norm"


def draw() -> None:
    form.keep(TransformerMap, KEY, only=["box"])
    map_column, text_column = st.columns([3, 2], gap="medium")
    with text_column:
        settings = form.draw(TransformerMap, KEY, only=["net", "norm"])
    drawn = stacks(settings.norm, decoder_only=settings.net == DECODER_ALONE)
    svg, boxes = transformer_svg(drawn)
    for_fingers, _ = transformer_svg(drawn, FINGER)
    box = settings.box if settings.box in boxes else FALLBACK_BOXES[settings.box]
    with map_column:
        show_buttons(svg, box, key=MAP_KEY, on_touch=_choose_box, for_fingers=for_fingers)
    with text_column:
        st.subheader(box[:1].upper() + box[1:], anchor=False)
        st.markdown(TEXTS(box))
        parts = parts_on_map(box)
        for part in parts:
            query = {} if part.order == 1 else {"part": slug(part.title)}
            page = PAGES / f"{part.lab}.py"
            st.page_link(page, label=part.map[box][1], icon=":material/arrow_forward:", query_params=query)
        link_to_comparisons(dict.fromkeys(part.lab for part in parts))
        st.caption(counts_sentence(drawn))
        st.caption(TEXTS(settings.norm))
    with st.container(horizontal=True):
        for lab in LABS:
            st.page_link(PAGES / f"{lab}.py")


def parts_on_map(box: str) -> list[LabPart]:
    """The parts of labs to which a box leads, in the order of their places."""
    leading = [part for parts in PARTS.values() for part in parts if box in part.map]
    return sorted(leading, key=lambda part: part.map[box][0])


def _choose_box() -> None:
    """Chooses the pressed box if it exists; its name comes from a browser."""
    name = getattr(session.widget_value(MAP_KEY), "touched", None)
    if name in BOXES:
        form.put(KEY, box=name)


def counts_sentence(drawn: list[MapStack]) -> str:
    """How many sublayers and norms are drawn."""
    sublayers = sum(len(stack.sublayers) for stack in drawn)
    norms = sum(stack.norms for stack in drawn)
    final = sum(stack.final_norm for stack in drawn)
    more = f", and {count_in_words(final, 'final norm')}" if final else ""
    counts = {"sublayers": count_in_words(sublayers, "sublayer"), "norms": count_in_words(norms, "norm")}
    return TEXTS("counts", final=more, **counts)


def transformer_svg(drawn: list[MapStack], target: int = 0) -> tuple[str, list[str]]:
    """The SVG of the stacks side by side, read upwards, and the names of its boxes.

    `target`: the least side of what is pressed, in pixels of the drawing.
    """
    drawing = Drawing(size=DRAWING_SIZE)
    columns = []
    for i, stack in enumerate(drawn):
        is_last = stack is drawn[-1]
        column = _Column(drawing, COLUMN_WIDTH * (i + 0.5), 1 if is_last else -1, target)
        column.draw_stack(stack, is_last=is_last)
        columns.append(column)
    if len(columns) > 1:
        _draw_memory(drawing, *columns)
    top = min(column.y for column in columns) - TOP_MARGIN
    width = COLUMN_WIDTH * len(drawn)
    size = f'viewBox="0 {top:.0f} {width} {-top:.0f}"'
    style = f'style="width:100%;max-width:{1.06 * width:.0f}px"'
    inside = f"<title>Map of a transformer</title>{''.join(drawing.parts)}"
    svg = f'<svg class="block-diagram" role="group" aria-label="Map of a transformer" {size} {style}>{inside}</svg>'
    return svg, list(dict.fromkeys(name for column in columns for name in column.names))


class _Column:
    """A stack drawn upwards from y = 0 around `x`, its residuals on the `side` (-1 left, 1 right)."""

    def __init__(self, drawing: Drawing, x: float, side: int, target: int) -> None:
        self.drawing = drawing
        self.x = x
        self.side = side
        self.target = target
        self.y = FIRST_Y
        self.names: list[str] = []
        self.cross_attention_y = 0.0

    def draw_stack(self, stack: MapStack, *, is_last: bool) -> None:
        self._draw_text("tokens so far" if is_last else "tokens")
        self._draw_box("embedding", "head")
        self._draw_add("positions")
        self._draw_wire(FRAME_PADDING_BELOW)
        start = self.y
        for sublayer in stack.sublayers:
            self._draw_sublayer(sublayer)
        self._draw_wire(FRAME_PADDING_ABOVE)
        self._draw_frame(start, self.y)
        self._draw_wire(ABOVE_FRAME)
        if stack.final_norm:
            self._draw_box("final norm", "norm")
        if is_last:
            self._draw_box("linear, softmax", "head")
            self._draw_wire(BOX_GAP)
            self._draw_text("next token")

    def _draw_sublayer(self, sublayer: MapSublayer) -> None:
        self._draw_wire(SUBLAYER_GAP)
        fork = self.y
        if sublayer.norm_in:
            self._draw_box("norm", "norm")
        self._draw_box(sublayer.branch, "branch")
        if sublayer.branch == "cross-attention":
            self.cross_attention_y = self.y + DRAWING_SIZE.box_height / 2
        if sublayer.norm_add:
            self._draw_box("add & norm", "norm")
            join = self.y + DRAWING_SIZE.box_height / 2
            reach = BOX_REACH
        else:
            self._draw_add("add")
            join = self.y + DRAWING_SIZE.add_radius
            reach = DRAWING_SIZE.add_radius
        outer = self.x + self.side * RESIDUAL_REACH
        corners = [(self.x, fork), (outer, fork), (outer, join), (self.x + self.side * reach, join)]

        def draw_line() -> None:
            for kind in ("skip", "reach"):  # the second is invisible and wide enough for a finger
                for (x1, y1), (x2, y2) in pairwise(corners):
                    is_wide = self.target and kind == "reach" and x1 == x2
                    self.drawing.wire(x1, y1, x2, y2, "reach wide" if is_wide else kind)

        self._draw_button("residual", draw_line)

    def _draw_wire(self, length: float) -> None:
        self.drawing.wire(self.x, self.y, self.x, self.y - length)
        self.y -= length

    def _draw_text(self, words: str) -> None:
        self.y -= TEXT_RISE
        self.drawing.text(words, self.x, self.y, "side")
        self.y -= ABOVE_TEXT

    def _draw_gap(self, height: float) -> None:
        """Draws the wire to a part of a height, so long that what is pressed has its room."""
        self._draw_wire(max(BOX_GAP, self.target - height))

    def _draw_target(self, x: float, y: float, width: float = 0) -> None:
        """Draws an invisible rectangle around (x, y) that is large enough for a finger."""
        if self.target:
            width = max(width, self.target)
            corner = f'x="{x - width / 2:.0f}" y="{y - self.target / 2:.0f}"'
            self.drawing.parts.append(f'<rect class="target" {corner} width="{width:.0f}" height="{self.target}"/>')

    def _draw_box(self, name: str, kind: str) -> None:
        self._draw_gap(DRAWING_SIZE.box_height)
        self.y -= DRAWING_SIZE.box_height
        middle = self.y + DRAWING_SIZE.box_height / 2

        def draw_rect() -> None:
            self.drawing.rect(name, self.x - BOX_REACH, middle, 2 * BOX_REACH, kind)
            self._draw_target(self.x, middle, 2 * BOX_REACH)

        self._draw_button(name, draw_rect)

    def _draw_add(self, name: str) -> None:
        """Draws a circle that adds the positions or a residual."""
        drawing = self.drawing
        radius = DRAWING_SIZE.add_radius
        self._draw_gap(2 * radius)
        self.y -= 2 * radius
        middle = self.y + radius
        drawing.x = self.x

        def draw_circle() -> None:
            drawing.add(middle)
            self._draw_target(self.x, middle)
            if name == "positions":
                drawing.wire(self.x + radius, middle, self.x + POSITIONS_WIRE, middle)
                drawing.text(name, self.x + POSITIONS_TEXT, middle, "side")

        self._draw_button(name, draw_circle)

    def _draw_frame(self, start: float, end: float) -> None:
        """Draws the dashed frame around the repeated sublayers, and its box "× N"."""
        geometry = f'x="{self.x - FRAME_REACH:.0f}" y="{end:.0f}" width="{2 * FRAME_REACH}" height="{start - end:.0f}"'
        self.drawing.parts.append(f'<rect class="scale frame" {geometry} rx="8"/>')
        left = self.x + self.side * (FRAME_REACH - REPEAT_BOX_INSET) - REPEAT_BOX_WIDTH / 2

        def draw_rect() -> None:
            self.drawing.rect("× N", left, end, REPEAT_BOX_WIDTH, "head plain")
            self._draw_target(left + REPEAT_BOX_WIDTH / 2, end)

        self._draw_button("× N", draw_rect)

    def _draw_button(self, name: str, draw: Callable[[], None]) -> None:
        """Wraps what `draw` adds to the drawing in a button that chooses the box `name`."""
        parts = self.drawing.parts
        escaped = name.replace("&", "&amp;")
        parts.append(f'<g role="button" tabindex="0" data-box="{escaped}" aria-label="{escaped}">')
        draw()
        parts.append("</g>")
        self.names.append(name)


def _draw_memory(drawing: Drawing, encoder: _Column, decoder: _Column) -> None:
    """Draws the line from the end of the encoder to the cross-attention of the decoder."""
    top = encoder.y - BOX_GAP
    between = (encoder.x + decoder.x) / 2
    corners = [
        (encoder.x, encoder.y),
        (encoder.x, top),
        (between, top),
        (between, decoder.cross_attention_y),
        (decoder.x - BOX_REACH, decoder.cross_attention_y),
    ]
    for (x1, y1), (x2, y2) in pairwise(corners):
        drawing.wire(x1, y1, x2, y2)
