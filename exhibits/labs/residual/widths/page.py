"""Why all widths are equal: an add whose branch has another width, ways to join them, the gradient past 32 blocks."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.diagram import Drawing, show_svg
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts, draw_finding, line_chart
from components.shell.text import badge, vector
from exhibits.labs.residual.widths.numbers import (
    BLOCKS,
    CROP,
    JOINS,
    NOTHING,
    ON_BRANCH,
    ON_SKIP,
    W_S_SCALES,
    Joined,
    join_and_add,
    residual_gradient_norms,
)
from models.content import Texts
from models.spec.knob import Knob
from models.spec.plan import block_name
from models.spec.settings import Settings

TEXTS = Texts("labs/residual/widths")
KEY = "residual_widths"
MAX_WIDTH = 12
# The diagram, in pixels.
RESIDUAL_Y = 40  # of the residual's wire
BRANCH_Y = 116  # of the branch's wire
HEIGHT = 148
GAP = 12  # between parts; also the radius of the add
WIRE = 60  # length of a wire with a shape above it
SHAPE_RISE = 16  # of a shape above its wire
ERROR_MIDDLE = 66  # from the add to the middle of the text on an add that fails
ERROR_WIDTH = 124  # of this text


@dataclass(frozen=True)
class Widths(Settings):
    columns = (3, 2)

    stream: Annotated[int, Knob("Width of the stream", 2, MAX_WIDTH, control="slider", link="stream")] = 6
    branch: Annotated[int, Knob("Width of the branch's output", 1, MAX_WIDTH, control="slider", link="branch")] = 4
    join: Annotated[str, Knob("Joined by", choices=dict.fromkeys(JOINS), link="join")] = NOTHING
    draws: Annotated[str, Knob("Weights of W_s", choices=dict.fromkeys(W_S_SCALES), link="draws")] = next(
        iter(W_S_SCALES)
    )
    seed: Annotated[int, Knob("Seed of the matrices", high=999, link="matrices")] = 0


def draw() -> None:
    """Draws the diagram of an add with these widths, how it comes out, and the gradient past many blocks."""
    settings = form.draw(Widths, KEY, only=["stream", "branch", "join"])
    stream, branch, method = settings.stream, settings.branch, settings.join
    source = np.random.default_rng(settings.seed)
    x = source.normal(size=stream).round(2)
    output = source.normal(size=branch).round(2)
    joined = join_and_add(x, output, method, source)
    show_svg(diagram(stream, branch, method, joined), f"{KEY}_diagram")
    draw_finding(join_sentence(stream, branch, method, joined))
    if joined.sum is not None:
        numbers = [f"residual {vector(joined.residual, 3)}", f"branch {vector(joined.branch, 3)}"]
        st.markdown("  \n".join([*numbers, f"sum **{vector(joined.sum, 3)}** {badge('formula')}"]))
    settings = form.draw(Widths, KEY, only=["draws", "seed"])
    scale = W_S_SCALES[settings.draws]
    gradient_norms = partial(residual_gradient_norms, stream, branch, scale, settings.seed)
    once, every = gradient_norms(every_block=False), gradient_norms(every_block=True)
    draw_charts(KEY, gradient_chart(once, every))
    ends = {"once": float(once[0]), "every": float(every[0]), "expected": scale**BLOCKS}
    draw_finding(TEXTS("gradient past the branches", blocks=BLOCKS, **ends))


def _draw_wire(drawing: Drawing, start: float, y: float, width: int) -> float:
    """Draws a wire from x = `start` with the shape (width,) above it. Returns the x of its end."""
    end = start + WIRE
    drawing.wire(start, y, end, y)
    drawing.text(f"({width},)", (start + end) / 2, y - SHAPE_RISE, "side")
    drawing.x = end
    return end


def join_sentence(stream: int, branch: int, method: str, joined: Joined) -> str:
    """How the add of a stream and a branch of these widths comes out; `method`: one of JOINS, with its result."""
    if method == ON_SKIP:
        return TEXTS("W_s joins", width=stream, wide=branch, weights=stream * branch)
    if method == ON_BRANCH:
        return TEXTS("W_out joins", width=stream, wide=branch, weights=stream * branch)
    if stream == branch:
        return TEXTS("widths agree", width=stream)
    if method == CROP:
        heading = "branch is padded" if branch < stream else "branch is cropped"
        return TEXTS(heading, wide=branch, missing=abs(stream - branch))
    if joined.sum is None:
        return TEXTS("widths break", problem=joined.problem.strip(), width=stream, wide=branch)
    return TEXTS("widths broadcast", width=stream)


def diagram(stream: int, branch: int, method: str, joined: Joined) -> str:
    """The SVG of one sublayer with the shape on every wire.

    `stream`, `branch`: their widths. `method`: one of JOINS, with its result `joined`.
    """
    drawing = Drawing()
    fork = _draw_wire(drawing, 0, RESIDUAL_Y, stream)
    drawing.wire(fork, RESIDUAL_Y, fork, BRANCH_Y)
    drawing.box("F", BRANCH_Y, "branch")
    branch_end = _draw_wire(drawing, drawing.x, BRANCH_Y, branch)
    if method in (CROP, ON_BRANCH):
        box_name = "W_out"
        if method == CROP:
            box_name = "pad" if branch < stream else "crop"
        drawing.box(box_name, BRANCH_Y, "scale")
        branch_end = _draw_wire(drawing, drawing.x, BRANCH_Y, len(joined.branch))
    add = branch_end + GAP
    drawing.x = fork
    if method == ON_SKIP:
        _draw_wire(drawing, fork, RESIDUAL_Y, stream)
        drawing.box("W_s", RESIDUAL_Y, "scale")
        add = max(add, drawing.x + WIRE)
    wire_class = "wire" if method == ON_SKIP else "skip"
    drawing.wire(drawing.x, RESIDUAL_Y, add - GAP, RESIDUAL_Y, wire_class)
    drawing.text(f"({len(joined.residual)},)", (drawing.x + add - GAP) / 2, RESIDUAL_Y - SHAPE_RISE, "side")
    drawing.wire(add, BRANCH_Y, add, RESIDUAL_Y + GAP)
    drawing.wire(branch_end, BRANCH_Y, add, BRANCH_Y)
    drawing.x = add
    drawing.add(RESIDUAL_Y, is_missing=joined.sum is None)
    title = "One sublayer with the shapes on its wires"
    if joined.sum is not None:
        _draw_wire(drawing, add + GAP, RESIDUAL_Y, len(joined.sum))
    else:
        title += ": the add fails"
        drawing.text(f"✗ ({len(joined.residual)},) + ({len(joined.branch)},)", add + ERROR_MIDDLE, RESIDUAL_Y, "side")
        drawing.x = add + ERROR_WIDTH
    width = f"{drawing.x + GAP:.0f}"
    size = f'viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
    inside = f"<title>{title}</title>{''.join(drawing.parts)}"
    return f'<svg class="block-diagram" role="img" aria-label="{title}" {size}>{inside}</svg>'


def gradient_chart(once: np.ndarray, every: np.ndarray) -> Figure:
    """The gradient past all branches by site, with a W_s `once` and in `every` block (BLOCKS + 1,), and without any."""
    lines = {
        "identity, all other joins": np.ones(BLOCKS + 1),
        "W_s where the width changes": once,
        "W_s in every block": every,
    }
    sites = ["x0", *(block_name(i) for i in range(1, BLOCKS + 1))]
    roles = ("now", "formula", "other")
    return line_chart("Gradient past all branches", sites, lines, roles, unit="norm, 1 at the end", hue=GRADIENT)
