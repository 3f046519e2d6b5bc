"""Why all widths are equal: an add whose branch has another width, what joins them, and the gradient past 32 blocks."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile
from components.charts.diagram import Drawing, show_svg
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import badge, vector
from models.content import Texts
from models.labs.widths import (
    BLOCKS,
    CROP,
    JOINS,
    NOTHING,
    ON_BRANCH,
    ON_SKIP,
    SIZES,
    Joined,
    join,
    past_the_branches,
)
from models.spec.knob import Knob
from models.spec.plan import block_name
from models.spec.settings import Settings

TEXTS = Texts("labs/residual")
KEY = "residual_widths"
MAX_WIDTH = 12
SKIP, BRANCH = 40, 116  # heights of the wires in the diagram
SHAPE_PIXELS = 48  # of wire for a shape


@dataclass(frozen=True)
class Widths(Settings):
    """The two widths, what joins them, and how W_s is drawn."""

    columns = (3, 2)

    stream: Annotated[int, Knob("Width of the stream", 2, MAX_WIDTH, control="slider", link="stream")] = 6
    branch: Annotated[int, Knob("Width of the branch's output", 1, MAX_WIDTH, control="slider", link="branch")] = 4
    join: Annotated[str, Knob("Joined by", choices=dict.fromkeys(JOINS), link="join")] = NOTHING
    draws: Annotated[str, Knob("Weights of W_s", choices=dict.fromkeys(SIZES), link="draws")] = next(iter(SIZES))
    seed: Annotated[int, Knob("Seed of the matrices", high=999, link="matrices")] = 0


def draw() -> None:
    """The section."""
    at = form.draw(Widths, KEY, only=["stream", "branch", "join"])
    source = np.random.default_rng(at.seed)
    x, written = source.normal(size=at.stream).round(2), source.normal(size=at.branch).round(2)
    joined = join(x, written, at.join, source)
    show_svg(diagram(at.stream, at.branch, at.join, joined), f"{KEY}_diagram")
    draw_finding(join_sentence(at.stream, at.branch, at.join, joined))
    if joined.sum is not None:
        numbers = [f"residual {vector(joined.residual, 3)}", f"branch {vector(joined.branch, 3)}"]
        st.markdown("  \n".join([*numbers, f"sum **{vector(joined.sum, 3)}** {badge('formula')}"]))
    drawn = form.draw(Widths, KEY, only=["draws", "seed"])
    lines = gradients(drawn)
    draw_charts(KEY, gradient_chart(lines))
    once, every = (float(line[0]) for line in list(lines.values())[1:])
    draw_finding(
        TEXTS(
            "gradient past the branches", blocks=BLOCKS, once=once, every=every, expected=SIZES[drawn.draws] ** BLOCKS
        )
    )


def gradients(at: Widths) -> dict[str, np.ndarray]:
    """The gradient past all branches by site (BLOCKS + 1,): of the identity, of one W_s, of one in every block."""
    size = SIZES[at.draws]
    once, every = (past_the_branches(at.stream, at.branch, size, at.seed, every_block=every) for every in (False, True))
    return {
        "identity, all other joins": np.ones(BLOCKS + 1),
        "W_s where the width changes": once,
        "W_s in every block": every,
    }


def gradient_chart(lines: dict[str, np.ndarray]) -> Figure:
    """The gradient past all branches, by site."""
    pairs = zip(lines.items(), ("now", "formula", "other"), strict=True)
    series = [Series(name, values, role) for (name, values), role in pairs]
    sites = ["x0", *(block_name(at) for at in range(1, BLOCKS + 1))]
    return depth_profile(
        title="Gradient past all branches", unit="norm, 1 at the end", hue=GRADIENT, sites=sites, series=series
    )


def join_sentence(width: int, wide: int, how: str, joined: Joined) -> str:
    """What happens at the add."""
    if how == ON_SKIP:
        return TEXTS("W_s joins", width=width, wide=wide, weights=width * wide)
    if how == ON_BRANCH:
        return TEXTS("W_out joins", width=width, wide=wide, weights=width * wide)
    if width == wide:
        return TEXTS("widths agree", width=width)
    if how == CROP:
        return TEXTS("branch is padded" if wide < width else "branch is cropped", wide=wide, missing=abs(width - wide))
    if joined.sum is None:
        return TEXTS("widths break", problem=joined.problem.strip(), width=width, wide=wide)
    return TEXTS("widths broadcast", width=width)


def diagram(width: int, wide: int, how: str, joined: Joined) -> str:
    """One sublayer with the shape on every wire."""
    drawing = Drawing()
    fork = _wire(drawing, 0, SKIP, f"({width},)")
    drawing.wire(fork, SKIP, fork, BRANCH)
    drawing.box("F", BRANCH, "branch")
    _wire(drawing, drawing.x, BRANCH, f"({wide},)")
    if how in (CROP, ON_BRANCH):
        drawing.box(("pad" if wide < width else "crop") if how == CROP else "W_out", BRANCH, "scale")
        _wire(drawing, drawing.x, BRANCH, f"({len(joined.branch)},)")
    ends, meets, drawing.x = drawing.x, drawing.x + 12, fork
    if how == ON_SKIP:
        _wire(drawing, fork, SKIP, f"({width},)")
        drawing.box("W_s", SKIP, "scale")
        meets = max(meets, drawing.x + SHAPE_PIXELS + 12)
    fits = joined.sum is not None
    drawing.wire(drawing.x, SKIP, meets - 12, SKIP, "wire" if how == ON_SKIP else "skip")
    drawing.text(f"({len(joined.residual)},)", (drawing.x + meets - 12) / 2, SKIP - 16, "side")
    drawing.wire(meets, BRANCH, meets, SKIP + 12)
    drawing.wire(ends, BRANCH, meets, BRANCH)
    drawing.x = meets
    drawing.add(SKIP, "" if fits else " lacks")
    if joined.sum is not None:
        _wire(drawing, meets + 12, SKIP, f"({len(joined.sum)},)")
    else:
        drawing.text(f"✗ ({len(joined.residual)},) + ({len(joined.branch)},)", meets + 66, SKIP, "side")
        drawing.x = meets + 124
    wide_pixels = drawing.x + 12
    title = "One sublayer with the shapes on its wires" + ("" if fits else ": the add fails")
    size = f'viewBox="0 0 {wide_pixels:.0f} 148" width="{wide_pixels:.0f}" height="148"'
    inside = f"<title>{title}</title>{''.join(drawing.parts)}"
    return f'<svg class="block-diagram" role="img" aria-label="{title}" {size}>{inside}</svg>'


def _wire(drawing: Drawing, start: float, y: float, shape: str) -> float:
    """A wire with its shape above it; returns where it ends."""
    end = start + SHAPE_PIXELS + 12
    drawing.wire(start, y, end, y)
    drawing.text(shape, (start + end) / 2, y - 16, "side")
    drawing.x = end
    return end
