"""Draws a block as SVG from the plan that also builds the model, so that the norms are where the model has them.

Text has the colour of the page; all other colours are those of the charts.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

import streamlit as st

from components.charts.colour import NORM, SIGNAL, WEIGHTS
from models.spec import NORMS, PLACEMENTS, RunConfig, plan
from models.spec.placement import Placement
from models.spec.plan import SublayerPlan
from models.spec.vocabulary import MANY_STREAMS


@dataclass(frozen=True)
class Size:
    """The sizes in a drawing, in pixels."""

    skip_y: int = 34
    branch_y: int = 104
    step: int = 20  # length of the wire before a box
    box_height: int = 34
    padding: int = 16  # of a box, left and right together
    letter_width: float = 8.2
    name_gap: int = 16  # from the skip up to its name
    add_radius: int = 12
    number_room: int = 0  # length of wire kept free for a number
    is_terse: bool = False  # label attention without its options


FULL = Size()
COMPACT = Size(skip_y=21, branch_y=51, step=9, box_height=20, padding=9, letter_width=7, name_gap=12, add_radius=8)
TERSE = replace(COMPACT, is_terse=True)
NUMBERED = replace(TERSE, number_room=56)
NORM_NAMES = re.compile(
    "|".join(sorted((re.escape(norm.short) for norm in NORMS.values() if norm.short), key=len, reverse=True))
)
HEIGHT = 148  # pixels of a FULL drawing
ROW_HEIGHT = 64  # pixels of a sublayer in all smaller drawings
CAPTION_LETTER_WIDTH = 6.5  # pixels, at most
MARGIN = 2  # pixels beside a small drawing
WIDEST = 416  # pixels of a small drawing whose text a phone still shows at MIN_SCALE
NO_SLOTS = PLACEMENTS["none"]


@dataclass
class Drawing:
    """The SVG parts of a drawing, added from left to right. The next part starts at `x`."""

    x: float = 10
    parts: list[str] = field(default_factory=list)
    size: Size = FULL

    def box(self, label: str, y: float, kind: str) -> None:
        """Adds a wire and a box at height y. `kind` is the box's CSS class. Smaller drawings shorten the label."""
        if self.size is not FULL:
            label = NORM_NAMES.sub("norm", label)
        if self.size.is_terse:
            label = label.partition(",")[0]
        width = self.size.padding + self.size.letter_width * len(label)
        self.wire(self.x, y, self.x + self.size.step, y)
        self.x += self.size.step
        self.rect(label, self.x, y, width, kind)
        self.x += width

    def rect(self, label: str, x: float, y: float, width: float, kind: str) -> None:
        """Adds a box without a wire, with its left side at x and its middle at height y."""
        height = self.size.box_height
        geometry = f'x="{x:.0f}" y="{y - height / 2:.0f}" width="{width:.0f}" height="{height}"'
        self.parts.append(f'<rect class="{kind}" {geometry} rx="6"/>')
        is_missing = "lacks" in kind  # a norm that the block does not have
        if is_missing:
            self.wire(x, y, x + width, y)
        self.text(label, x + width / 2, y, "name lacks" if is_missing else "name")

    def wire(self, x1: float, y1: float, x2: float, y2: float, kind: str = "wire") -> None:
        self.parts.append(f'<line class="{kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>')

    def text(self, label: str, x: float, y: float, kind: str = "name") -> None:
        """Adds text, centred unless it is a caption."""
        self.parts.append(f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(label)}</text>')

    def dot(self, x: float, y: float, kind: str = "") -> None:
        """Adds a point at which a stream is read, or with `kind` "+" one at which something is added to it."""
        added = " add plain" if kind else ""
        self.parts.append(f'<circle class="dot{added}" cx="{x:.0f}" cy="{y:.1f}" r="{3.5 if kind else 2.5}"/>')

    def add(self, y: float, *, is_missing: bool = False) -> None:
        """Adds the circle in which skip and branch are summed, faint if the block has no skip."""
        lacks = " lacks" if is_missing else ""
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
.block-diagram .stream{{stroke:{SIGNAL};stroke-width:2.5}}.block-diagram .dot{{fill:currentColor}}
.block-diagram .reach{{stroke:transparent;stroke-width:18}}.block-diagram .wide{{stroke-width:36}}
.block-diagram .target{{fill:none;stroke:none!important;pointer-events:all}}
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
@media(pointer:coarse){{.diagram-place>.diagram-fingers{{display:block}}.diagram-fingers+.block-diagram{{display:none}}}}
"""
SCALARS = "λ x + μ x₀"  # what a block with learned scalars reads
IN_ATTENTION = ("rotary", "relative bias", "alibi")  # position encodings inside attention
MIN_SCALE = 0.86  # smallest scale of a FULL drawing at which its text is readable

_component = st.components.v2.component(
    "block_diagram",
    html='<div class="diagram-place" role="group" aria-label="Block diagram, scrolls sideways" tabindex="0"></div>',
    css=STYLE,
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def show_diagram(cfg: RunConfig, block: int | None = None, *, key: str = "block_diagram") -> None:
    """Draws the diagram of a block, by default the last one, with a compact version for phones."""
    phone = f'<div class="diagram-nets diagram-phone">{small_diagram(cfg, block or cfg.depth, COMPACT)}</div>'
    _component(key=key, data={"svg": phone + block_diagram(cfg, block)})


def show_blocks(nets: Mapping[str, RunConfig], key: str) -> None:
    """Draws the last block and the head of every net, under the net's name."""
    diagrams = (
        f"<figure><figcaption>{escape(name)}</figcaption>{small_diagram(cfg, cfg.depth, COMPACT)}</figure>"
        for name, cfg in nets.items()
    )
    _component(key=key, data={"svg": f'<div class="diagram-nets" style="--nets:{len(nets)}">{"".join(diagrams)}</div>'})


def show_svg(svg: str, key: str) -> None:
    _component(key=key, data={"svg": svg})


def show_buttons(svg: str, chosen: str, *, key: str, on_touch: Callable[[], None], for_fingers: str) -> None:
    """Draws an SVG whose groups with `data-box` are buttons; the button `chosen` is pressed.

    `for_fingers`: the SVG that stands in its place on a phone and where there is no mouse. A press calls `on_touch`;
    the attribute `touched` of the widget's value is then the name of the box.
    """
    svg = f'<div class="diagram-phone diagram-fingers">{for_fingers}</div>{svg}'
    _component(key=key, data={"svg": svg, "chosen": chosen}, on_touched_change=on_touch)


def block_diagram(cfg: RunConfig, block: int | None = None) -> str:
    """Returns the SVG of a block, by default the last one, sublayer by sublayer.

    It ends with a box for the next block; after the last block, with the sum that joins the streams, the final norm and
    the output head.
    """
    net = plan(cfg)
    block = block or cfg.depth
    drawing = Drawing()
    drawing.text("x", drawing.x + 4, FULL.skip_y)
    drawing.x += 14
    if cfg.stack == "learned scalars":
        drawing.box(SCALARS, FULL.skip_y, "scale")
    if cfg.stack == "dlcl":
        drawing.box(_weighted_sum(cfg), FULL.skip_y, "scale")
    for sublayer in net.block_sublayers(block):
        _draw_sublayer(drawing, cfg, sublayer)
    if block < cfg.depth:
        drawing.box(f"block {block + 1}", FULL.skip_y, "head")
    else:
        _draw_end(drawing, cfg, net.final_norm)
    caption = _caption(cfg, block)
    title = escape(_title(cfg, net.active_sublayers(block)[-1]))
    drawing.text(caption, 6, HEIGHT - 10, "caption")
    width = max(drawing.x, CAPTION_LETTER_WIDTH * len(caption)) + 12
    style = f'style="min-width:{MIN_SCALE * width:.0f}px"'
    size = f'viewBox="0 0 {width:.0f} {HEIGHT}" width="{width:.0f}" height="{HEIGHT}" {style}'
    content = f"<title>{title}</title>{''.join(drawing.parts)}"
    return f'<svg class="block-diagram" role="img" aria-label="{title}" {size}>{content}</svg>'


def block_shape(cfg: RunConfig, block: int) -> Hashable:
    """Returns a key of a block's appearance: blocks of a net with equal keys have the same diagram."""
    overrides = tuple((key, value) for overridden, key, value in cfg.overrides if overridden == block)
    return overrides, tuple(replace(sublayer, site="", block=0) for sublayer in plan(cfg).block_sublayers(block))


def small_diagram(cfg: RunConfig, block: int, size: Size = TERSE) -> str:
    """Returns the SVG of a block alone, its sublayers one below the other. Missing norms and residuals are faint.

    With size COMPACT, the last block includes the final norm and the head, in a row of their own where they would make
    it wider than WIDEST. With size NUMBERED, a block of one sublayer has three empty texts of class `number`, and two
    paths of class `way`: `through` its branch and `past` it. The attribute `data-tail` of a path is the length of its
    part after the sum.
    """
    net = plan(cfg)
    overrides = {key: value for number, key, value in cfg.overrides if number == block}
    slots = PLACEMENTS[str(overrides.get("placement", cfg.placement))]
    rows: list[str] = []
    width = 0.0
    for row, sublayer in enumerate(net.block_sublayers(block)):
        drawing = Drawing(x=MARGIN, size=size)
        if cfg.stack == "learned scalars" and not row:
            drawing.box(SCALARS, size.skip_y, "scale")
        fork, join = _draw_sublayer(drawing, cfg, sublayer, slots)
        end = drawing.x + size.step + size.number_room
        tail = Drawing(x=drawing.x, size=size)
        if size is COMPACT and sublayer is net.sublayers[-1]:
            _draw_end(tail, cfg, net.final_norm)
            if tail.x + MARGIN <= WIDEST:
                drawing.parts += tail.parts
                drawing.x = end = tail.x
                tail.parts = []
            else:
                tail = Drawing(x=MARGIN, size=size)
                _draw_end(tail, cfg, net.final_norm)
                width = max(width, tail.x + MARGIN)
        drawing.wire(drawing.x, size.skip_y, end, size.skip_y)
        if size.number_room:
            _draw_numbers(drawing, fork, join, end, has_skip=bool(sublayer.skip))
        width = max(width, end + (size.add_radius if size.number_room else MARGIN))
        for parts in filter(None, (drawing.parts, tail.parts)):
            rows.append(f'<g transform="translate(0 {len(rows) * ROW_HEIGHT})">{"".join(parts)}</g>')
    title = escape(_title(cfg, net.active_sublayers(block)[-1]))
    height = ROW_HEIGHT * len(rows)
    measures = f'viewBox="0 0 {width:.0f} {height}" style="--wide:{width:.0f};--high:{height}"'
    kind = "block-diagram" if len(rows) > 1 else "block-diagram single"
    return f'<svg class="{kind}" role="img" aria-label="{title}" {measures}>{"".join(rows)}</svg>'


def _draw_end(drawing: Drawing, cfg: RunConfig, final_norm: str) -> None:
    """Draws the sum that joins the streams, the final norm and the head."""
    if cfg.stack == "dlcl":
        drawing.box(_weighted_sum(cfg), drawing.size.skip_y, "scale")
    if cfg.stack in MANY_STREAMS:
        drawing.box(f"Σ {cfg.streams} streams", drawing.size.skip_y, "scale")
    if cfg.stack == "residual":
        drawing.box(f"+ {_normed(cfg, 'x₀ + all branches')}", drawing.size.skip_y, "norm")
    if final_norm != "none":
        drawing.box(f"final {NORMS[final_norm].short}", drawing.size.skip_y, "norm")
    drawing.box("head", drawing.size.skip_y, "head")


def _draw_sublayer(
    drawing: Drawing, cfg: RunConfig, sublayer: SublayerPlan, slots: Placement = NO_SLOTS
) -> tuple[float, float]:
    """Draws a sublayer: the skip above, the branch below, the addition and the norms.

    Slots for norms that are empty are faint, and so is a missing skip in a small drawing. Returns the x of the fork and
    of the addition.
    """
    size = drawing.size
    skip_y, branch_y = size.skip_y, size.branch_y
    if sublayer.identity:
        drawing.box("taken out", skip_y, "scale")
        return drawing.x, drawing.x
    if cfg.stack in MANY_STREAMS:
        return _draw_streams(drawing, cfg, sublayer, slots)
    if cfg.stack == "attention residuals":
        return _draw_depth_read(drawing, cfg, sublayer, slots)
    fork = drawing.x + size.step + size.number_room
    drawing.wire(drawing.x, skip_y, fork, skip_y)
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


def _draw_streams(drawing: Drawing, cfg: RunConfig, sublayer: SublayerPlan, slots: Placement) -> tuple[float, float]:
    """Draws n streams above, mixed, and the branch below, which reads a sum of them and adds to each."""
    size = drawing.size
    spread = size.add_radius * 1.5
    heights = [size.skip_y + spread * (stream / (cfg.streams - 1) - 0.5) for stream in range(cfg.streams)]
    start, fork = drawing.x, drawing.x + size.step
    drawing.wire(fork, heights[0], fork, size.branch_y)
    drawing.x = fork
    for label, kind in [("Σ α h", "scale"), *_branch_boxes(cfg, sublayer, slots), ("× β", "scale")]:
        drawing.box(label, size.branch_y, kind)
    join = drawing.x + size.step
    drawing.wire(drawing.x, size.branch_y, join, size.branch_y)
    drawing.wire(join, size.branch_y, join, heights[0])
    for height in heights:
        drawing.wire(start, height, join + size.add_radius, height, "stream")
        drawing.dot(fork, height)
        drawing.dot(join, height, "+")
    mixing = "Sinkhorn mix" if cfg.stack == "mHC" else "mix"
    label = f"{mixing} {cfg.streams}×{cfg.streams}"
    width = size.padding + size.letter_width * len(label)
    drawing.rect(label, (fork + join - width) / 2, size.skip_y, width, "scale plain")
    drawing.x = join + size.add_radius
    return fork, join


def _draw_depth_read(drawing: Drawing, cfg: RunConfig, sublayer: SublayerPlan, slots: Placement) -> tuple[float, float]:
    """Draws the branch below, and above it the attention by which the next sublayer reads all outputs so far."""
    size = drawing.size
    fork = drawing.x + size.step
    drawing.wire(drawing.x, size.skip_y, fork, size.skip_y)
    drawing.wire(fork, size.skip_y, fork, size.branch_y)
    drawing.x = fork
    for label, kind in _branch_boxes(cfg, sublayer, slots):
        drawing.box(label, size.branch_y, kind)
    join = drawing.x + size.step
    drawing.wire(drawing.x, size.branch_y, join, size.branch_y)
    drawing.wire(join, size.branch_y, join, size.skip_y)
    drawing.x = join
    summed = f" of Σ {cfg.depth_block}" if cfg.depth_block > 1 else ""
    drawing.box(f"depth attention{summed}", size.skip_y, "scale")
    return fork, join


def _draw_skip(drawing: Drawing, skip: float, fork: float, join: float) -> None:
    """Draws a skip of this weight and its addition. Weight 0 leaves both out of a FULL drawing, and else faint."""
    size = drawing.size
    y = size.skip_y
    is_missing = not skip
    is_left_out = is_missing and size is FULL
    drawing.wire(join, size.branch_y, join, y if is_missing else y + size.add_radius)
    names: dict[float, str] = {0: "no residual", 1: "residual"}
    name = names.get(skip, f"residual × {skip:.3g}")
    drawing.text(name, (fork + join) / 2, y if is_left_out else y - size.name_gap, "side")
    if not is_left_out:
        drawing.wire(fork, y, join - size.add_radius, y, "skip lacks" if is_missing else "skip")
        drawing.add(y, is_missing=is_missing)
        drawing.x += size.add_radius
    if is_missing:
        drawing.wire(join, y, drawing.x, y)


def _draw_numbers(drawing: Drawing, fork: float, join: float, end: float, *, has_skip: bool) -> None:
    """Draws empty texts for three numbers, and the paths through the branch and along the skip."""
    size = drawing.size
    drawing.text("", MARGIN, size.skip_y - size.name_gap, "number enters")
    drawing.text("", join - (size.step + size.number_room) / 2, size.branch_y - size.name_gap, "number made")
    drawing.text("", end, size.skip_y - size.name_gap, "number leaves")
    paths = {"through": f"M{MARGIN} {size.skip_y}H{fork:.0f}V{size.branch_y}H{join:.0f}V{size.skip_y}H{end:.0f}"}
    if has_skip:
        paths["past"] = f"M{MARGIN} {size.skip_y}H{end:.0f}"
    tail = f"{end - join:.0f}"
    drawing.parts += [f'<path class="way {name}" d="{path}" data-tail="{tail}"/>' for name, path in paths.items()]


def _norm_box(norm: str, has_slot: bool) -> tuple[str, str]:
    """Returns the label and the CSS classes of a norm's box; the label is empty if there is neither norm nor slot."""
    if norm == "none" and has_slot:
        return "norm", "norm lacks"
    return NORMS[norm].short, "norm"


def _branch_boxes(cfg: RunConfig, sublayer: SublayerPlan, slots: Placement) -> list[tuple[str, str]]:
    """Returns the label and the CSS classes of each box of the branch, from left to right."""
    boxes = [_norm_box(sublayer.norm_in, slots.norm_in)]
    if sublayer.input_scale != 1:
        boxes.append((f"× {sublayer.input_scale:.2g}", "scale"))
    mid = _norm_box(sublayer.norm_mid, slots.norm_mid)
    if sublayer.kind == "attn":
        words = ["attention"]
        words += ["QK-norm"] if cfg.qk_norm else []
        words += ["½ v₁"] if sublayer.values == "mixed" else []
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
    """Returns the number of the block, and how many other blocks have other overrides, in words."""

    def overrides(number: int) -> set[tuple[str, str | bool]]:
        return {(key, value) for other, key, value in cfg.overrides if other == number}

    others = sum(overrides(other) != overrides(block) for other in range(1, cfg.depth + 1))
    exceptions = f"; {others} other block{'s are' if others > 1 else ' is'} set differently" if others else ""
    return f"block {block} of {cfg.depth}{exceptions}"


def _title(cfg: RunConfig, sublayer: SublayerPlan) -> str:
    """Returns the accessible name of the diagram."""
    if sublayer.identity:
        return f"Block diagram: {cfg.net}, taken out"
    overrides = {key: value for block, key, value in cfg.overrides if block == sublayer.block}
    placement = overrides.get("placement", cfg.placement)
    norm = overrides.get("norm", cfg.norm)
    skip = "with a residual" if sublayer.skip else "without a residual"
    if cfg.stack in MANY_STREAMS:
        skip = f"{cfg.stack} of {cfg.streams} streams"
    elif cfg.stack == "attention residuals":
        skip = cfg.stack + (f" in blocks of {cfg.depth_block}" if cfg.depth_block > 1 else "")
    return f"Block diagram: {cfg.net}, {placement}, {norm}, {skip}"
