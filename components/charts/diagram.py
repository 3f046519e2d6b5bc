"""The diagram of a block as SVG, drawn from the same plan as the model, so that its norms are where the model's are.

The colour of text comes from the page, all others from the charts.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

import streamlit as st

from components.charts.colour import NORM, SIGNAL, WEIGHTS
from models.content import phrase
from models.spec import NORMS, PLACEMENTS, RunConfig, plan
from models.spec.placement import Placement
from models.spec.plan import SublayerPlan


@dataclass(frozen=True)
class Size:
    """The measures of a drawing, in pixels."""

    skip_y: int = 34
    branch_y: int = 104
    step: int = 20  # of wire before a box
    box_height: int = 34
    padding: int = 16  # of a box, both sides together
    letter_width: float = 8.2
    name_gap: int = 16  # from the skip up to its name
    add_radius: int = 12
    number_room: int = 0  # of wire for a number
    is_terse: bool = False  # attention is labelled without its options


FULL = Size()
WHOLE = Size(skip_y=21, branch_y=51, step=9, box_height=20, padding=9, letter_width=7, name_gap=12, add_radius=8)
SMALL = replace(WHOLE, is_terse=True)
NUMBERED = replace(SMALL, number_room=56)
SHORT = re.compile(
    "|".join(sorted((re.escape(norm.short) for norm in NORMS.values() if norm.short), key=len, reverse=True))
)
HEIGHT, ROW_HEIGHT = 148, 64  # pixels of a drawing, and of a sublayer in a small one
CAPTION_LETTER_WIDTH = 6.5  # pixels, at most
NO_SLOTS = PLACEMENTS["none"]


@dataclass
class Drawing:
    """SVG parts along a line from left to right; the next one starts at `x`."""

    x: float = 10
    parts: list[str] = field(default_factory=list)
    size: Size = FULL

    def box(self, label: str, y: float, kind: str) -> None:
        """Adds a box at height y after a wire; in a small drawing, with a short label."""
        if self.size is not FULL:
            label = SHORT.sub("norm", label)
        if self.size.is_terse:
            label = label.partition(",")[0]
        width, step = self.size.padding + self.size.letter_width * len(label), self.size.step
        self.wire(self.x, y, self.x + step, y)
        self.x += step
        self.rect(label, self.x, y, width, kind)
        self.x += width

    def rect(self, label: str, x: float, y: float, width: float, kind: str) -> None:
        """Adds a box without a wire: its left side at x, its middle at height y."""
        height = self.size.box_height
        geometry = f'x="{x:.0f}" y="{y - height / 2:.0f}" width="{width:.0f}" height="{height}"'
        self.parts.append(f'<rect class="{kind}" {geometry} rx="6"/>')
        if "lacks" in kind:
            self.wire(x, y, x + width, y)
        self.text(label, x + width / 2, y, "name lacks" if "lacks" in kind else "name")

    def wire(self, x1: float, y1: float, x2: float, y2: float, kind: str = "wire") -> None:
        self.parts.append(f'<line class="{kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>')

    def text(self, label: str, x: float, y: float, kind: str = "name") -> None:
        """Adds text, centred unless it is a caption."""
        self.parts.append(f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(phrase(label))}</text>')

    def add(self, y: float, lacks: str = "") -> None:
        """Adds the circle where skip and branch meet, or would meet (`lacks`)."""
        self.parts.append(f'<circle class="add{lacks}" cx="{self.x:.0f}" cy="{y:.0f}" r="{self.size.add_radius}"/>')
        self.text("+", self.x, y + 1, f"plus{lacks}")


# On a phone the sublayers of a block stand one below the other; elsewhere a wide block scrolls instead of shrinking.
STYLE = f"""
.diagram-place{{overflow-x:auto}}
.diagram-place:focus-visible{{outline:2px solid var(--st-text-color);outline-offset:-2px}}
.block-diagram{{display:block;max-width:100%;height:auto;color:var(--st-text-color)}}
.block-diagram text{{fill:currentColor;font:14px var(--st-font,sans-serif);text-anchor:middle;
dominant-baseline:central}}
.block-diagram .plus{{font-size:19px}}.block-diagram .side,.block-diagram .caption{{font-size:13px}}
.block-diagram .caption{{text-anchor:start}}
.block-diagram .wire{{stroke:currentColor;stroke-width:2}}.block-diagram .skip{{stroke:{SIGNAL};stroke-width:5}}
.block-diagram .reach{{stroke:transparent;stroke-width:18}}
.block-diagram [data-box]:is(:hover,[aria-pressed="true"],:focus-visible) .skip{{stroke-width:8}}
.block-diagram .norm{{fill:{NORM}33;stroke:{NORM};stroke-width:2.5}}
.block-diagram .branch{{fill:{WEIGHTS}26;stroke:{WEIGHTS};stroke-width:2}}
.block-diagram .scale,.block-diagram .head{{fill:none;stroke:currentColor;stroke-dasharray:4 3}}
.block-diagram .add{{fill:none;stroke:currentColor;stroke-width:2}}
.block-diagram .lacks:not(text){{fill:none;stroke:currentColor;stroke-width:1.5;stroke-dasharray:2 3;opacity:.5}}
.block-diagram .plain{{fill:var(--st-background-color);stroke-dasharray:none}}
.block-diagram .frame{{opacity:.6}}
.block-diagram [data-box]{{cursor:pointer;outline:none}}
.block-diagram [data-box] .add{{fill:var(--st-background-color)}}
.block-diagram [data-box]:hover :is(rect,circle),.block-diagram [aria-pressed="true"] :is(rect,circle){{stroke-width:4}}
.block-diagram [aria-pressed="true"] text{{font-weight:700}}
.block-diagram [data-box]:focus-visible :is(rect,circle){{stroke:currentColor;stroke-width:4}}
.diagram-nets{{display:grid;gap:.75rem 1.5rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr))}}
.diagram-nets figure{{margin:0;min-width:0}}
.diagram-nets figcaption{{font-size:.95rem}}
.diagram-nets .block-diagram{{width:min(100%,calc(var(--wide)*.075rem))}}
.diagram-nets .block-diagram text{{font-size:12px}}
.diagram-place>.diagram-phone{{display:none}}
@media(max-width:640px){{.diagram-place>.diagram-phone{{display:block}}.diagram-phone+.block-diagram{{display:none}}}}
"""
IN_ATTENTION = ("rotary", "relative bias", "alibi")  # position encodings inside attention
MIN_SCALE = 0.86  # at which its text is readable

_component = st.components.v2.component(
    "block_diagram",
    html='<div class="diagram-place" role="group" aria-label="Block diagram, scrolls sideways" tabindex="0"></div>',
    css=STYLE,
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def show_diagram(cfg: RunConfig, block: int | None = None, *, key: str = "block_diagram") -> None:
    """Draws the diagram of a block, by default the last one."""
    phone = f'<div class="diagram-nets diagram-phone">{small_diagram(cfg, block or cfg.depth, WHOLE)}</div>'
    _component(key=key, data={"svg": phone + block_diagram(cfg, block)})


def show_blocks(nets: Mapping[str, RunConfig], key: str) -> None:
    """Draws the last block and the head of every net, under the net's name."""
    diagrams = (
        f"<figure><figcaption>{escape(name)}</figcaption>{small_diagram(cfg, cfg.depth, WHOLE)}</figure>"
        for name, cfg in nets.items()
    )
    _component(key=key, data={"svg": f'<div class="diagram-nets">{"".join(diagrams)}</div>'})


def show_svg(svg: str, key: str) -> None:
    _component(key=key, data={"svg": svg})


def show_buttons(svg: str, chosen: str, *, key: str, on_touch: Callable[[], None]) -> None:
    """Draws an SVG whose groups with `data-box` are buttons; a press calls `on_touch`, a callback.

    The name of the box is then the attribute `touched` of the widget's value.
    """
    _component(key=key, data={"svg": svg, "chosen": chosen}, on_touched_change=on_touch)


def block_diagram(cfg: RunConfig, block: int | None = None) -> str:
    """The SVG of a block (by default the last one), sublayer by sublayer, and of the next block.

    After the last block it has the sum that joins the streams, the final norm and the output head.
    """
    net, block = plan(cfg), block or cfg.depth
    drawing = Drawing()
    drawing.text("x", drawing.x + 4, FULL.skip_y)
    drawing.x += 14
    if cfg.stack == "dlcl":
        drawing.box(_weighted_sum(cfg), FULL.skip_y, "scale")
    for sublayer in net.block_sublayers(block):
        _draw_sublayer(drawing, cfg, sublayer)
    if block < cfg.depth:
        drawing.box(f"block {block + 1}", FULL.skip_y, "head")
    else:
        _draw_end(drawing, cfg, net.final_norm)
    caption, title = _caption(cfg, block), escape(_title(cfg, net.active_sublayers(block)[-1]))
    drawing.text(caption, 6, HEIGHT - 10, "caption")
    width = max(drawing.x, CAPTION_LETTER_WIDTH * len(caption)) + 12
    style = f'style="min-width:{MIN_SCALE * width:.0f}px"'
    size = f'viewBox="0 0 {width:.0f} {HEIGHT}" width="{width:.0f}" height="{HEIGHT}" {style}'
    content = f"<title>{title}</title>{''.join(drawing.parts)}"
    return f'<svg class="block-diagram" role="img" aria-label="{title}" {size}>{content}</svg>'


def block_shape(cfg: RunConfig, block: int) -> Hashable:
    """Everything that decides how a block is drawn: blocks of a net with equal shapes have the same diagram."""
    overrides = tuple((key, value) for overridden, key, value in cfg.overrides if overridden == block)
    return overrides, tuple(replace(sublayer, site="", block=0) for sublayer in plan(cfg).block_sublayers(block))


def small_diagram(cfg: RunConfig, block: int, size: Size = SMALL) -> str:
    """The SVG of a block alone, its sublayers one below the other. Norms and residuals that it lacks are faint.

    A WHOLE one of the last block includes the final norm and the head. With NUMBERED wires, a block of one sublayer has
    three empty texts `number`, and paths: the `way through` its branch and the way `past` it, each with the length
    `data-tail` of its part after the sum.
    """
    net = plan(cfg)
    overrides = {key: value for number, key, value in cfg.overrides if number == block}
    slots = PLACEMENTS[str(overrides.get("placement", cfg.placement))]
    rows: list[str] = []
    width = 0.0
    for row, sublayer in enumerate(net.block_sublayers(block)):
        drawing = Drawing(x=2, size=size)
        fork, join = _draw_sublayer(drawing, cfg, sublayer, slots)
        end = drawing.x + size.step + size.number_room
        if size is WHOLE and sublayer is net.sublayers[-1]:
            _draw_end(drawing, cfg, net.final_norm)
            end = drawing.x
        drawing.wire(drawing.x, size.skip_y, end, size.skip_y)
        if size.number_room:
            _draw_numbers(drawing, fork, join, end, has_skip=bool(sublayer.skip))
        width = max(width, end + (size.add_radius if size.number_room else 2))
        rows.append(f'<g transform="translate(0 {row * ROW_HEIGHT})">{"".join(drawing.parts)}</g>')
    title = escape(_title(cfg, net.active_sublayers(block)[-1]))
    height = ROW_HEIGHT * len(rows)
    measures = f'viewBox="0 0 {width:.0f} {height}" style="--wide:{width:.0f};--high:{height}"'
    kind = "block-diagram" if len(rows) > 1 else "block-diagram single"
    return f'<svg class="{kind}" role="img" aria-label="{title}" {measures}>{"".join(rows)}</svg>'


def _draw_end(drawing: Drawing, cfg: RunConfig, final_norm: str) -> None:
    """Draws the sum that joins the streams, the final norm and the head."""
    if cfg.stack == "dlcl":
        drawing.box(_weighted_sum(cfg), drawing.size.skip_y, "scale")
    if cfg.stack == "residual":
        drawing.box(f"+ {_normed(cfg, 'x₀ + all branches')}", drawing.size.skip_y, "norm")
    if final_norm != "none":
        drawing.box(f"final {NORMS[final_norm].short}", drawing.size.skip_y, "norm")
    drawing.box("head", drawing.size.skip_y, "head")


def _draw_sublayer(
    drawing: Drawing, cfg: RunConfig, sublayer: SublayerPlan, slots: Placement = NO_SLOTS
) -> tuple[float, float]:
    """Draws a sublayer: the branch below, the skip above, the add, and its norms.

    Norms that it lacks in `slots` are faint, and so is a missing skip in a small drawing. Returns x of fork and join.
    """
    size = drawing.size
    skip_y, branch_y = size.skip_y, size.branch_y
    if sublayer.identity:
        drawing.box("taken out", skip_y, "scale")
        return drawing.x, drawing.x
    start, fork = drawing.x, drawing.x + size.step + size.number_room
    drawing.wire(start, skip_y, fork, skip_y)
    drawing.wire(fork, skip_y, fork, branch_y)
    drawing.x = fork
    for label, kind in _branch_boxes(cfg, sublayer, slots):
        drawing.box(label, branch_y, kind)
    join = drawing.x + size.step + size.number_room
    drawing.wire(drawing.x, branch_y, join, branch_y)
    drawing.x = join
    _draw_skip(drawing, sublayer.skip, fork, join)
    for repeat in range(sublayer.repeats):
        if repeat and sublayer.skip:
            drawing.box("+ x" if sublayer.skip == 1 else f"+ {sublayer.skip:.3g} x", skip_y, "scale")
        label, kind = _norm_box(sublayer.norm_add, slots.norm_add)
        if label:
            drawing.box(label, skip_y, kind)
    if sublayer.drop_stream:
        drawing.box(f"dropout {sublayer.drop_stream:g}", skip_y, "scale")
    return fork, join


def _draw_skip(drawing: Drawing, skip: float, fork: float, join: float) -> None:
    """Draws the skip and the add. A skip of weight 0 and its add are faint in a small drawing, else left out."""
    size = drawing.size
    y = size.skip_y
    lacks = "" if skip else " lacks"
    drawing.wire(join, size.branch_y, join, y if lacks else y + size.add_radius)
    name = "no residual" if lacks else "residual" if skip == 1 else f"residual × {skip:.3g}"
    drawing.text(name, (fork + join) / 2, y if lacks and size is FULL else y - size.name_gap, "side")
    if not lacks or size is not FULL:
        drawing.wire(fork, y, join - size.add_radius, y, f"skip{lacks}")
        drawing.add(y, lacks)
        drawing.x += size.add_radius
    if lacks:
        drawing.wire(join, y, drawing.x, y)


def _draw_numbers(drawing: Drawing, fork: float, join: float, end: float, *, has_skip: bool) -> None:
    """Draws empty texts for three numbers, and the paths through the branch and along the skip."""
    size = drawing.size
    drawing.text("", 2, size.skip_y - size.name_gap, "number enters")
    drawing.text("", join - (size.step + size.number_room) / 2, size.branch_y - size.name_gap, "number made")
    drawing.text("", end, size.skip_y - size.name_gap, "number leaves")
    paths = {"through": f"M2 {size.skip_y}H{fork:.0f}V{size.branch_y}H{join:.0f}V{size.skip_y}H{end:.0f}"}
    if has_skip:
        paths["past"] = f"M2 {size.skip_y}H{end:.0f}"
    tail = f"{end - join:.0f}"
    drawing.parts += [f'<path class="way {name}" d="{path}" data-tail="{tail}"/>' for name, path in paths.items()]


def _norm_box(norm: str, has_slot: bool) -> tuple[str, str]:
    """Label and kind of a norm's box: faint for an empty slot, with an empty label without norm or slot."""
    return ("norm", "norm lacks") if norm == "none" and has_slot else (NORMS[norm].short, "norm")


def _branch_boxes(cfg: RunConfig, sublayer: SublayerPlan, slots: Placement) -> list[tuple[str, str]]:
    """Label and kind of each box of the branch, from left to right."""
    boxes = [_norm_box(sublayer.norm_in, slots.norm_in)]
    if sublayer.input_scale != 1:
        boxes.append((f"× {sublayer.input_scale:.2g}", "scale"))
    mid = _norm_box(sublayer.norm_mid, slots.norm_mid)
    if sublayer.kind == "attn":
        words = ["attention"]
        words += ["QK-norm"] if cfg.qk_norm else []
        words += [cfg.position] if cfg.position in IN_ATTENTION else []
        boxes += [(", ".join(words), "branch"), mid, ("W", "branch") if mid[0] else ("", "")]
    elif sublayer.kind == "mlp" and cfg.layers_per_branch == 1:
        boxes += [("W", "branch"), mid, (sublayer.activation, "branch")]
    else:
        boxes += [("W₁", "branch"), mid, (sublayer.activation, "branch"), ("W₂", "branch")]
    boxes.append(_norm_box(sublayer.norm_out, slots.norm_out))
    if sublayer.gate:
        boxes.append((f"× {sublayer.gate}", "scale"))
    elif sublayer.scale != 1:
        boxes.append((f"× {sublayer.scale:.3g}", "scale"))
    if sublayer.drop_branch:
        boxes.append((f"dropout {sublayer.drop_branch:g}", "scale"))
    return [box for box in boxes if box[0]]


def _weighted_sum(cfg: RunConfig) -> str:
    return f"Σ W · {_normed(cfg, 'earlier outputs')}"


def _normed(cfg: RunConfig, text: str) -> str:
    return text if cfg.norm == "none" else f"{NORMS[cfg.norm].short}({text})"


def _caption(cfg: RunConfig, block: int) -> str:
    """The number of the block, and how many other blocks are set differently."""

    def overrides(number: int) -> set[tuple[str, str | bool]]:
        return {(key, value) for other, key, value in cfg.overrides if other == number}

    others = sum(overrides(other) != overrides(block) for other in range(1, cfg.depth + 1))
    exceptions = f"; {others} other block{'s are' if others > 1 else ' is'} set differently" if others else ""
    return f"block {block} of {cfg.depth}{exceptions}"


def _title(cfg: RunConfig, sublayer: SublayerPlan) -> str:
    """The accessible name of the diagram."""
    if sublayer.identity:
        return f"Block diagram: {cfg.net}, taken out"
    overrides = {key: value for block, key, value in cfg.overrides if block == sublayer.block}
    placement, norm = overrides.get("placement", cfg.placement), overrides.get("norm", cfg.norm)
    skip = "with a residual" if sublayer.skip else "without a residual"
    return f"Block diagram: {cfg.net}, {placement}, {norm}, {skip}"
