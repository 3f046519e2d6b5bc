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

TEXTS = Texts("labs/residual/memory")
KEY = "residual_memory"
EXAMPLE = WORKED_EXAMPLES["No norm"]
BLOCKS = 24
WIDTH = 512  # of the stream: random directions have cosines of about 1/√512 = .04
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
    """Draws how similar the stream stays to x over many random blocks, and one block with its numbers."""
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
    """Draws a token (D,) to which its branch's output (D,) is added, and from which it is subtracted again."""
    formula = "x + F(x)" if size == 1 else f"x + {number(size)} F(x)"
    total = x + branch
    branch_text = vector(branch)
    back = vector((total - branch).round(10))
    st.markdown(TEXTS("one block", sum=formula, x=vector(x), branch=branch_text, total=vector(total), back=back))
    st.latex(r"\overline{(x+F)^2}=\overline{x^2}+2\,\overline{xF}+\overline{F^2}")
    st.markdown(sizes_sentence(x, branch))
    if size == 0:
        draw_sentence(TEXTS("identity", erased=branch_text))
        return
    without, with_residual = cosine(branch, x), cosine(total, x)
    draw_sentence(TEXTS("no identity", branch=branch_text, without=without, with_residual=with_residual))


def stream_cosines(width: int, blocks: int, size: float, seed: int) -> dict[str, np.ndarray]:
    """The cosine of the stream with x_0 after 0 to `blocks` random branch outputs, (blocks + 1,), by arrangement."""
    source = np.random.default_rng(seed)
    x = source.normal(size=width)
    x /= np.sqrt(np.mean(x**2))
    writes = size * source.normal(size=(blocks, width))
    cosines = {}
    for name, fields in ARRANGEMENTS.items():
        steps = run_sublayers(x, writes, **({"placement": "none"} | fields))
        cosines[name] = np.array([1.0, *(cosine(step.after, x) for step in steps)])
    return cosines


def sizes_sentence(x: np.ndarray, branch: np.ndarray) -> str:
    """The mean square of x + F, (D,) each, by its three terms; the cross term is 0 on average for random branches."""
    x_square, branch_square = float(np.mean(x**2)), float(np.mean(branch**2))
    cross = float(np.mean(2 * x * branch))
    expected = x_square + branch_square
    totals = {"total": expected + cross, "expected": expected, "times": expected / x_square}
    aligned = f" {TEXTS('aligned')}" if cross > 0 else ""
    return TEXTS("sizes", own=x_square, cross=cross, other=branch_square, aligned=aligned, **totals)


def memory_chart(cosines: dict[str, np.ndarray]) -> Figure:
    """The cosines of the stream with x by site (BLOCKS + 1,), a line for each arrangement."""
    sites = ["x0", *(block_name(i) for i in range(1, BLOCKS + 1))]
    roles = ("now", "other", "formula", "initial")
    axes: dict[str, Any] = {"axis": "linear", "unit": "cosine with x", "hue": SIGNAL, "guides": (0, 1)}
    return line_chart("What is left of x", sites, cosines, roles, **axes)
