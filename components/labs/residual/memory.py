"""The stream as a memory: x + F(x) keeps x, and F = 0 is the identity; without the residual x is lost."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts, draw_sentence, line_chart
from components.shell.text import number, vector
from models.content import Texts
from models.labs.residual import WORKED_EXAMPLES, cosine, run_sublayers
from models.spec.knob import Knob
from models.spec.plan import block_name
from models.spec.settings import Settings

TEXTS = Texts("labs/residual")
KEY = "residual_memory"
EXAMPLE = WORKED_EXAMPLES["No norm"]
BLOCKS, WIDTH = 24, 48
ARRANGEMENTS: dict[str, dict[str, Any]] = {
    "residual": {},
    "residual, post-norm": {"placement": "post-norm"},
    "residual, ReLU after the add": {"relu": True},
    "no residual": {"skip": 0.0},
}


@dataclass(frozen=True)
class Branches(Settings):
    columns = ()

    size: Annotated[float, Knob("Size of F", 0.0, 3.0, 0.1, control="slider", width=416)] = 1.0
    seed: Annotated[int, Knob("Seed of the branches", high=999, width=200)] = 0


def draw() -> None:
    settings = form.draw(Branches, KEY)
    size = settings.size
    cosines = stream_cosines(WIDTH, BLOCKS, size, settings.seed)
    draw_charts(KEY, memory_chart(cosines))
    ends = {name: line[-1] for name, line in cosines.items()}
    without = f"{number(ends['no residual'], 3)} without a residual" if size else TEXTS("nothing left")
    times = "" if size == 1 else f"{number(size)} times "
    draw_sentence(TEXTS("many blocks", blocks=BLOCKS, times=times, cosine=ends, without=without))
    with st.expander("One block, with its numbers"):
        _draw_one_block(np.array(EXAMPLE.token), size * np.array(EXAMPLE.branches[0]), size)


def _draw_one_block(x: np.ndarray, branch: np.ndarray, size: float) -> None:
    """A token (D,) with its branch's output (D,) added and subtracted again."""
    formula = "x + F(x)" if size == 1 else f"x + {number(size)} F(x)"
    total, written = x + branch, vector(branch)
    back = vector((total - branch).round(10))
    st.markdown(TEXTS("one block", sum=formula, x=vector(x), branch=written, total=vector(total), back=back))
    st.latex(r"\overline{(x+F)^2}=\overline{x^2}+2\,\overline{xF}+\overline{F^2}")
    st.markdown(sizes_sentence(x, branch))
    if size == 0:
        draw_sentence(TEXTS("identity", erased=written))
        return
    without, with_residual = cosine(branch, x), cosine(total, x)
    draw_sentence(TEXTS("no identity", branch=written, without=without, with_residual=with_residual))


def stream_cosines(width: int, blocks: int, size: float, seed: int) -> dict[str, np.ndarray]:
    """The cosine of the stream with x_0 after 0 to `blocks` random branch outputs, (blocks + 1,), by arrangement."""
    source = np.random.default_rng(seed)
    x = source.normal(size=width)
    x /= np.sqrt(np.mean(x**2))
    writes = size * source.normal(size=(blocks, width))
    walks = {
        name: run_sublayers(x, writes, **({"placement": "none"} | fields)) for name, fields in ARRANGEMENTS.items()
    }
    return {name: np.array([1.0, *(cosine(step.after, x) for step in steps)]) for name, steps in walks.items()}


def sizes_sentence(x: np.ndarray, branch: np.ndarray) -> str:
    """The mean square of the sum (D,) + (D,) term by term, and the one that is 0 for random branches."""
    of_x, cross, of_branch = (float(np.mean(part)) for part in (x**2, 2 * x * branch, branch**2))
    expected = of_x + of_branch
    totals = {"total": expected + cross, "expected": expected, "times": expected / of_x}
    aligned = f" {TEXTS('aligned')}" if cross > 0 else ""
    return TEXTS("sizes", own=of_x, cross=cross, other=of_branch, aligned=aligned, **totals)


def memory_chart(cosines: dict[str, np.ndarray]) -> Figure:
    sites, roles = ["x0", *(block_name(i) for i in range(1, BLOCKS + 1))], ("now", "other", "formula", "initial")
    axes: dict[str, Any] = {"axis": "linear", "unit": "cosine with x", "hue": SIGNAL, "guides": (0, 1)}
    return line_chart("What is left of x", sites, cosines, roles, **axes)
