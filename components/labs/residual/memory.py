"""The stream as a memory: x + F(x) keeps x, and F = 0 is the identity; without the residual x is lost."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import by_name, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.shell.static_chart import static_chart
from components.shell.text import badge, number, vector
from models.labs.residual import WALKS, cosine, walk
from models.spec.knob import Knob
from models.spec.plan import block_name
from models.spec.settings import Settings

KEY = "residual_memory"
EXAMPLE = WALKS["No norm"]
BLOCKS, WIDTH = 24, 48


@dataclass(frozen=True)
class Branches(Settings):
    """The random branches that a token passes."""

    columns = ()

    size: Annotated[float, Knob(
        "Size of F", "Multiplies the branch's output. At 0 the block is the identity.", 0.0, 3.0, 0.1, control="slider",
        width=416
    )] = 1.0  # fmt: skip
    seed: Annotated[int, Knob("Seed of the branches", high=999, width=200)] = 0


def draw() -> None:
    """The section."""
    x, branch = np.array(EXAMPLE.token), np.array(EXAMPLE.branches[0])
    at = form.draw(Branches, KEY)
    _after_many_blocks(at.size, at.seed)
    with st.expander("One block, with its numbers"):
        _one_block(x, branch, at.size)


def _one_block(x: np.ndarray, branch: np.ndarray, size: float) -> None:
    """A token (D,) with its branch's output added, and taken away again."""
    written = size * branch
    name = "x + F(x)" if size == 1 else f"x + {number(size)} F(x)"
    total = walk(x, [written], "none")[0].sum
    st.markdown(
        f"{name} = {vector(x)} + {vector(written)} = **{vector(total)}**. Subtract the branch's output, and x is "
        f"back: {vector(total)} - {vector(written)} = {vector((total - written).round(10))}."
    )
    st.latex(r"\overline{(x+F)^2}=\overline{x^2}+2\,\overline{xF}+\overline{F^2}")
    st.markdown(sizes(x, written))
    st.markdown(
        "**The block is the identity, because F = 0: a block that should do nothing only has to learn F = 0.** Without "
        f"the residual F = 0 would erase the signal: {vector(0 * branch)}. {badge('formula')}"
        if size == 0
        else f"F = 0 gives the identity: turn the size down. Without the residual the block gives {vector(written)}, "
        f"whose cosine with x is {number(cosine(written, x), 3)} instead of {number(cosine(total, x), 3)}, and x "
        f"cannot be recovered. {badge('formula')}"
    )


def sizes(x: np.ndarray, written: np.ndarray) -> str:
    """The mean square of the sum (D,) + (D,), term by term, and which term is 0 for random branches."""
    own, cross, other = (float(np.mean(part)) for part in (x**2, 2 * x * written, written**2))
    return (
        f"Its mean square is {number(own)} + {number(cross)} + {number(other)} = {number(own + cross + other)}. For a "
        f"random branch the middle term is 0 on average, so mean squares add: {number(own)} + {number(other)} = "
        f"{number(own + other)}, which is {number((own + other) / own, 3)} times the token's."
        + (" Here both point in a similar direction, so their sum is larger." if cross > 0 else "")
    )


def _after_many_blocks(size: float, seed: int) -> None:
    """What is left of a token after many random branch outputs."""
    said = remembered(WIDTH, BLOCKS, size, seed)
    static_chart(memory_chart(said), "What is left of x", f"{KEY}_chart")
    left = number(said["no residual"][-1], 3)
    without = f"{left} without a residual" if size else "without a residual nothing is left but zeros"
    st.markdown(
        f"{BLOCKS} blocks each add a random vector of {number(size)} times the token's size: at the end the stream's "
        f"cosine with x is {number(said['residual'][-1], 3)} with a residual, "
        f"{number(said['residual, post-norm'][-1], 3)} with a norm after every add, "
        f"{number(said['residual, ReLU after the add'][-1], 3)} with a ReLU there, and {without}. {badge('formula')}"
    )


def remembered(width: int, blocks: int, size: float, seed: int) -> dict[str, np.ndarray]:
    """The cosine of the stream with x_0 after 0 ... `blocks` random branch outputs (blocks + 1,), by arrangement."""
    source = np.random.default_rng(seed)
    x = source.normal(size=width)
    x /= np.sqrt(np.mean(x**2))
    writes = size * source.normal(size=(blocks, width))
    ways: dict[str, dict[str, Any]] = {
        "residual": {},
        "residual, post-norm": {"placement": "post-norm"},
        "residual, ReLU after the add": {"relu": True},
        "no residual": {"skip": 0.0},
    }
    return {
        name: np.array([1.0, *(cosine(step.after, x) for step in walk(x, writes, **({"placement": "none"} | way)))])
        for name, way in ways.items()
    }


def memory_chart(found: dict[str, np.ndarray]) -> Figure:
    """The result of `remembered` over the blocks."""
    series = by_name(found, ("now", "other", "formula", "initial"))
    sites = ["x0", *(block_name(at) for at in range(1, BLOCKS + 1))]
    return linear_profile(
        title="What is left of x", unit="cosine with x", hue=SIGNAL, sites=sites, series=series, guides=(0, 1)
    )
