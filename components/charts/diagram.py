"""The diagram of a block, drawn from the plan that the model is built from: its norms are where the model has them.

The SVG takes the colour of text from the page, and the others from the charts.
"""

import re
from collections.abc import Callable, Mapping
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
    """The pixels of a drawing: from wire to wire, and of a box, its padding and its letters."""

    skip: int = 34
    branch: int = 104
    step: int = 20
    box: int = 34
    padding: int = 16
    letter: float = 8.2
    above: int = 16  # of the skip: its name
    add: int = 12
    room: int = 0  # of wire for a number
    terse: bool = False  # attention without what it has besides


FULL = Size()
WHOLE = Size(skip=21, branch=51, step=9, box=20, padding=9, letter=7, above=12, add=8)
SMALL = replace(WHOLE, terse=True)
NUMBERED = replace(SMALL, room=56)
SHORT = re.compile(
    "|".join(sorted((re.escape(norm.short) for norm in NORMS.values() if norm.short), key=len, reverse=True))
)
HEIGHT, ROW = 148, 64  # of a drawing, and of a sublayer in a small one
CAPTION_LETTER = 6.5  # pixels that are enough for a letter of a caption
NO_SLOTS = PLACEMENTS["none"]


@dataclass
class Drawing:
    """SVG parts along a line from left to right; `x` is where the next one starts."""

    x: float = 10
    parts: list[str] = field(default_factory=list)
    size: Size = FULL

    def box(self, label: str, y: float, kind: str) -> None:
        """Adds a box at height y, with the wire that leads to it; in a small drawing, with a short label."""
        if self.size is not FULL:
            label = SHORT.sub("norm", label)
        if self.size.terse:
            label = label.partition(",")[0]
        width, step = self.size.padding + self.size.letter * len(label), self.size.step
        self.wire(self.x, y, self.x + step, y)
        self.x += step
        self.rect(label, self.x, y, width, kind)
        self.x += width

    def rect(self, label: str, x: float, y: float, width: float, kind: str) -> None:
        """Adds a box without a wire, whose left side is at x and whose middle is at height y."""
        height = self.size.box
        place = f'x="{x:.0f}" y="{y - height / 2:.0f}" width="{width:.0f}" height="{height}"'
        self.parts.append(f'<rect class="{kind}" {place} rx="6"/>')
        if "lacks" in kind:
            self.wire(x, y, x + width, y)
        self.text(label, x + width / 2, y, "name lacks" if "lacks" in kind else "name")

    def wire(self, x1: float, y1: float, x2: float, y2: float, kind: str = "wire") -> None:
        """Adds a straight wire."""
        self.parts.append(f'<line class="{kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>')

    def text(self, label: str, x: float, y: float, kind: str = "name") -> None:
        """Adds text, centred unless it is a caption."""
        self.parts.append(f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(phrase(label))}</text>')

    def add(self, y: float, lacks: str = "") -> None:
        """Adds the circle where skip and branch meet, or would."""
        self.parts.append(f'<circle class="add{lacks}" cx="{self.x:.0f}" cy="{y:.0f}" r="{self.size.add}"/>')
        self.text("+", self.x, y + 1, f"plus{lacks}")


# On a phone a block has its sublayers one below the other; elsewhere a wide one keeps a readable size and is scrolled.
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
READABLE = 0.86  # the least scale at which its text can be read

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
    """Draws the last block of every net, and what follows it, under the net's name."""
    drawn = (
        f"<figure><figcaption>{escape(name)}</figcaption>{small_diagram(cfg, cfg.depth, WHOLE)}</figure>"
        for name, cfg in nets.items()
    )
    _component(key=key, data={"svg": f'<div class="diagram-nets">{"".join(drawn)}</div>'})


def show_svg(svg: str, key: str) -> None:
    """Draws an SVG in the diagrams' style."""
    _component(key=key, data={"svg": svg})


def touchable(svg: str, chosen: str, *, key: str, touched: Callable[[], None]) -> None:
    """Draws an SVG whose groups with `data-box` are buttons; a press calls `touched`, a callback.

    The name of the box is then `touched` of the widget's value.
    """
    _component(key=key, data={"svg": svg, "chosen": chosen}, on_touched_change=touched)


def block_diagram(cfg: RunConfig, block: int | None = None) -> str:
    """The SVG of a block (by default the last one), sublayer by sublayer, and of what follows it.

    After the last block that is the sum that joins the streams, the final norm and the output head.
    """
    arranged, block = plan(cfg), block or cfg.depth
    drawing = Drawing()
    drawing.text("x", drawing.x + 4, FULL.skip)
    drawing.x += 14
    if cfg.stack == "dlcl":
        drawing.box(_weighted_sum(cfg), FULL.skip, "scale")
    for sublayer in arranged.of_block(block):
        _sublayer(drawing, cfg, sublayer)
    if block < cfg.depth:
        drawing.box(f"block {block + 1}", FULL.skip, "head")
    else:
        _end(drawing, cfg, arranged.final_norm)
    caption, title = _which_block(cfg, block), escape(_title(cfg, arranged.left_of_block(block)[-1]))
    drawing.text(caption, 6, HEIGHT - 10, "caption")
    width = max(drawing.x, CAPTION_LETTER * len(caption)) + 12
    least = f'style="min-width:{READABLE * width:.0f}px"'
    size = f'viewBox="0 0 {width:.0f} {HEIGHT}" width="{width:.0f}" height="{HEIGHT}" {least}'
    inside = f"<title>{title}</title>{''.join(drawing.parts)}"
    return f'<svg class="block-diagram" role="img" aria-label="{title}" {size}>{inside}</svg>'


def small_diagram(cfg: RunConfig, block: int, size: Size = SMALL) -> str:
    """The SVG of a block alone, its sublayers one below the other; what its placement would norm, and the residual that
    it lacks, are faint. A WHOLE one of the last block also has what follows it.

    With NUMBERED wires, a block of one sublayer has three texts `number`, empty, and the `way through` its branch and
    `past` it, whose parts after the sum have the length `data-tail`.
    """
    own = {key: value for at, key, value in cfg.overrides if at == block}
    slots = PLACEMENTS[str(own.get("placement", cfg.placement))]
    rows, wide = [], 0.0
    for at, sublayer in enumerate(plan(cfg).of_block(block)):
        drawing = Drawing(x=2, size=size)
        fork, meets = _sublayer(drawing, cfg, sublayer, slots)
        end = drawing.x + size.step + size.room
        if size is WHOLE and sublayer is plan(cfg).sublayers[-1]:
            _end(drawing, cfg, plan(cfg).final_norm)
            end = drawing.x
        drawing.wire(drawing.x, size.skip, end, size.skip)
        if size.room:
            _numbered(drawing, fork, meets, end, past=bool(sublayer.skip))
        wide = max(wide, end + (size.add if size.room else 2))
        rows.append(f'<g transform="translate(0 {at * ROW})">{"".join(drawing.parts)}</g>')
    title = escape(_title(cfg, plan(cfg).left_of_block(block)[-1]))
    measures = f'viewBox="0 0 {wide:.0f} {ROW * len(rows)}" style="--wide:{wide:.0f};--high:{ROW * len(rows)}"'
    kind = "block-diagram" if rows[1:] else "block-diagram single"
    return f'<svg class="{kind}" role="img" aria-label="{title}" {measures}>{"".join(rows)}</svg>'


def _end(drawing: Drawing, cfg: RunConfig, final_norm: str) -> None:
    """Draws what follows the last block."""
    if cfg.stack == "dlcl":
        drawing.box(_weighted_sum(cfg), drawing.size.skip, "scale")
    if cfg.stack == "residual":
        drawing.box(f"+ {_normed(cfg, 'x₀ + all branches')}", drawing.size.skip, "norm")
    if final_norm != "none":
        drawing.box(f"final {NORMS[final_norm].short}", drawing.size.skip, "norm")
    drawing.box("head", drawing.size.skip, "head")


def _sublayer(
    drawing: Drawing, cfg: RunConfig, sublayer: SublayerPlan, slots: Placement = NO_SLOTS
) -> tuple[float, float]:
    """Draws a sublayer: the branch below, the skip above, the add, and the norms where the plan has them.

    Faint: the norms that it lacks in some `slots`, and in a small drawing a skip that it lacks. Returns where the two
    ways part and meet.
    """
    size = drawing.size
    skip, branch, step = size.skip, size.branch, size.step
    if sublayer.identity:
        drawing.box("taken out", skip, "scale")
        return drawing.x, drawing.x
    start, fork = drawing.x, drawing.x + step + size.room
    drawing.wire(start, skip, fork, skip)
    drawing.wire(fork, skip, fork, branch)
    drawing.x = fork
    for label, kind in _branch_boxes(cfg, sublayer, slots):
        drawing.box(label, branch, kind)
    meets = drawing.x + step + size.room
    drawing.wire(drawing.x, branch, meets, branch)
    drawing.x = meets
    lacks = "" if sublayer.skip else " lacks"
    drawing.wire(meets, branch, meets, skip if lacks else skip + size.add)
    name = "no residual" if lacks else "residual" if sublayer.skip == 1 else f"residual × {sublayer.skip:.3g}"
    drawing.text(name, (fork + meets) / 2, skip if lacks and size is FULL else skip - size.above, "side")
    if not lacks or size is not FULL:
        drawing.wire(fork, skip, meets - size.add, skip, f"skip{lacks}")
        drawing.add(skip, lacks)
        drawing.x += size.add
    if lacks:
        drawing.wire(meets, skip, drawing.x, skip)
    for again in range(sublayer.repeats):
        if again and sublayer.skip:
            drawing.box("+ x" if sublayer.skip == 1 else f"+ {sublayer.skip:.3g} x", skip, "scale")
        label, kind = _norm(sublayer.norm_add, slots.norm_add)
        if label:
            drawing.box(label, skip, kind)
    if sublayer.drop_stream:
        drawing.box(f"dropout {sublayer.drop_stream:g}", skip, "scale")
    return fork, meets


def _numbered(drawing: Drawing, fork: float, meets: float, end: float, *, past: bool) -> None:
    """Places for three numbers, and the ways through the branch and, if there is one, past it."""
    size = drawing.size
    drawing.text("", 2, size.skip - size.above, "number enters")
    drawing.text("", meets - (size.step + size.room) / 2, size.branch - size.above, "number made")
    drawing.text("", end, size.skip - size.above, "number leaves")
    ways = {"through": f"M2 {size.skip}H{fork:.0f}V{size.branch}H{meets:.0f}V{size.skip}H{end:.0f}"}
    if past:
        ways["past"] = f"M2 {size.skip}H{end:.0f}"
    tail = f"{end - meets:.0f}"
    drawing.parts += [f'<path class="way {way}" d="{d}" data-tail="{tail}"/>' for way, d in ways.items()]


def _norm(norm: str, slot: bool) -> tuple[str, str]:
    """The box of a norm; a faint one where there is only its slot, none (an empty label) where there is neither."""
    lacks = norm == "none" and slot
    return ("norm", "norm lacks") if lacks else (NORMS[norm].short, "norm")


def _branch_boxes(cfg: RunConfig, sublayer: SublayerPlan, slots: Placement) -> list[tuple[str, str]]:
    """The branch from left to right as (label, kind)."""
    boxes = [_norm(sublayer.norm_in, slots.norm_in)]
    if sublayer.input_scale != 1:
        boxes.append((f"× {sublayer.input_scale:.2g}", "scale"))
    mid = _norm(sublayer.norm_mid, slots.norm_mid)
    if sublayer.kind == "attn":
        words = ["attention", *["QK-norm"] * cfg.qk_norm, *[cfg.position] * (cfg.position in IN_ATTENTION)]
        boxes += [(", ".join(words), "branch"), mid, ("W", "branch") if mid[0] else ("", "")]
    elif sublayer.kind == "mlp" and cfg.layers_per_branch == 1:
        boxes += [("W", "branch"), mid, (sublayer.activation, "branch")]
    else:
        boxes += [("W₁", "branch"), mid, (sublayer.activation, "branch"), ("W₂", "branch")]
    boxes.append(_norm(sublayer.norm_out, slots.norm_out))
    if sublayer.gate:
        boxes.append((f"× {sublayer.gate}", "scale"))
    elif sublayer.scale != 1:
        boxes.append((f"× {sublayer.scale:.3g}", "scale"))
    if sublayer.drop_branch:
        boxes.append((f"dropout {sublayer.drop_branch:g}", "scale"))
    return [box for box in boxes if box[0]]


def _weighted_sum(cfg: RunConfig) -> str:
    """The input of DLCL's blocks and of its output head."""
    return f"Σ W · {_normed(cfg, 'earlier outputs')}"


def _normed(cfg: RunConfig, text: str) -> str:
    return text if cfg.norm == "none" else f"{NORMS[cfg.norm].short}({text})"


def _which_block(cfg: RunConfig, block: int) -> str:
    """Which block is drawn, and how many other blocks are set differently."""

    def own(number: int) -> set[tuple[str, str | bool]]:
        return {(key, value) for at, key, value in cfg.overrides if at == number}

    others = sum(own(other) != own(block) for other in range(1, cfg.depth + 1))
    exceptions = f"; {others} other block{'s are' if others > 1 else ' is'} set differently" if others else ""
    return f"block {block} of {cfg.depth}{exceptions}"


def _title(cfg: RunConfig, sublayer: SublayerPlan) -> str:
    """The accessible name of the diagram."""
    if sublayer.identity:
        return f"Block diagram: {cfg.net}, taken out"
    own = {key: value for at, key, value in cfg.overrides if at == sublayer.block}
    skip = "with a residual" if sublayer.skip else "without a residual"
    return f"Block diagram: {cfg.net}, {own.get('placement', cfg.placement)}, {own.get('norm', cfg.norm)}, {skip}"
