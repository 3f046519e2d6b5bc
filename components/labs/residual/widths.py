"""Why all widths are equal: an add whose branch has another width, ways to join them, the gradient past 32 blocks."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.diagram import Drawing, show_svg
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts, draw_finding, line_chart
from components.shell.text import badge, vector
from models.content import Texts
from models.labs.widths import (
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
from models.spec.knob import Knob
from models.spec.plan import block_name
from models.spec.settings import Settings

TEXTS = Texts("labs/residual")
KEY = "residual_widths"
MAX_WIDTH = 12
RESIDUAL_Y, BRANCH_Y = 40, 116  # pixels, of the wires in the diagram
SHAPE_PIXELS = 48  # of wire for a shape


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
    settings = form.draw(Widths, KEY, only=["stream", "branch", "join"])
    stream, branch, method = settings.stream, settings.branch, settings.join
    source = np.random.default_rng(settings.seed)
    x, output = source.normal(size=stream).round(2), source.normal(size=branch).round(2)
    joined = join_and_add(x, output, method, source)
    show_svg(diagram(stream, branch, method, joined), f"{KEY}_diagram")
    draw_finding(join_sentence(stream, branch, method, joined))
    if joined.sum is not None:
        numbers = [f"residual {vector(joined.residual, 3)}", f"branch {vector(joined.branch, 3)}"]
        st.markdown("  \n".join([*numbers, f"sum **{vector(joined.sum, 3)}** {badge('formula')}"]))
    settings = form.draw(Widths, KEY, only=["draws", "seed"])
    size, seed = W_S_SCALES[settings.draws], settings.seed
    once, every = (residual_gradient_norms(stream, branch, size, seed, every_block=every) for every in (False, True))
    draw_charts(KEY, gradient_chart(once, every))
    ends = {"once": float(once[0]), "every": float(every[0]), "expected": size**BLOCKS}
    draw_finding(TEXTS("gradient past the branches", blocks=BLOCKS, **ends))


def _draw_wire(drawing: Drawing, start: float, y: float, width: int) -> float:
    """Draws a wire with the shape (width,) above it. Returns its end."""
    end = start + SHAPE_PIXELS + 12
    drawing.wire(start, y, end, y)
    drawing.text(f"({width},)", (start + end) / 2, y - 16, "side")
    drawing.x = end
    return end


def join_sentence(stream: int, branch: int, method: str, joined: Joined) -> str:
    """How the add of a stream and a branch of these widths comes out."""
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
    """The SVG of one sublayer with the shape on every wire."""
    drawing = Drawing()
    fork = _draw_wire(drawing, 0, RESIDUAL_Y, stream)
    drawing.wire(fork, RESIDUAL_Y, fork, BRANCH_Y)
    drawing.box("F", BRANCH_Y, "branch")
    branch_end = _draw_wire(drawing, drawing.x, BRANCH_Y, branch)
    if method in (CROP, ON_BRANCH):
        crop = "pad" if branch < stream else "crop"
        drawing.box(crop if method == CROP else "W_out", BRANCH_Y, "scale")
        branch_end = _draw_wire(drawing, drawing.x, BRANCH_Y, len(joined.branch))
    add = branch_end + 12
    drawing.x = fork
    if method == ON_SKIP:
        _draw_wire(drawing, fork, RESIDUAL_Y, stream)
        drawing.box("W_s", RESIDUAL_Y, "scale")
        add = max(add, drawing.x + SHAPE_PIXELS + 12)
    drawing.wire(drawing.x, RESIDUAL_Y, add - 12, RESIDUAL_Y, "wire" if method == ON_SKIP else "skip")
    drawing.text(f"({len(joined.residual)},)", (drawing.x + add - 12) / 2, RESIDUAL_Y - 16, "side")
    drawing.wire(add, BRANCH_Y, add, RESIDUAL_Y + 12)
    drawing.wire(branch_end, BRANCH_Y, add, BRANCH_Y)
    drawing.x = add
    drawing.add(RESIDUAL_Y, "" if joined.sum is not None else " lacks")
    title = "One sublayer with the shapes on its wires"
    if joined.sum is not None:
        _draw_wire(drawing, add + 12, RESIDUAL_Y, len(joined.sum))
    else:
        title += ": the add fails"
        drawing.text(f"✗ ({len(joined.residual)},) + ({len(joined.branch)},)", add + 66, RESIDUAL_Y, "side")
        drawing.x = add + 124
    width = f"{drawing.x + 12:.0f}"
    size = f'viewBox="0 0 {width} 148" width="{width}" height="148"'
    inside = f"<title>{title}</title>{''.join(drawing.parts)}"
    return f'<svg class="block-diagram" role="img" aria-label="{title}" {size}>{inside}</svg>'


def gradient_chart(once: np.ndarray, every: np.ndarray) -> Figure:
    """The gradient past all branches by site (BLOCKS + 1,): of the identity, of one W_s, of one in every block."""
    lines = {
        "identity, all other joins": np.ones(BLOCKS + 1),
        "W_s where the width changes": once,
        "W_s in every block": every,
    }
    sites, roles = ["x0", *(block_name(i) for i in range(1, BLOCKS + 1))], ("now", "formula", "other")
    return line_chart("Gradient past all branches", sites, lines, roles, unit="norm, 1 at the end", hue=GRADIENT)
