"""Layer norm built by its lines beside torch's, and gain and bias as rows that learn."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import LOSS, NORM
from components.charts.depth import Series, depth_profile, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_names
from components.labs.parts import draw_charts, draw_finding
from components.player.answer import answer
from components.shell.text import badge, number
from components.shell.waiting import poll_while
from models import answers
from models.content import Texts
from models.labs.built_norm import TORCH_EPS, TORCHS, NormLines, digits, first_difference
from models.labs.learned_rows import STEPS, RowsLearned, largest_rate, learned, least_loss
from models.labs.normalization import normalised
from models.labs.normalization_laws import shortfall
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
BUILT, ROWS = "normalization_built", "normalization_rows"
MAX_FEATURES = 8  # whose gain and bias are drawn
THIS, ALL = "this token", "all tokens"


@dataclass(frozen=True)
class BuiltNorm(Settings):
    """The lines of the class, and the gain and bias that it is given."""

    columns = ()

    biased: Annotated[bool, Knob("unbiased=False", link="divide-by-n")] = NormLines.biased
    inside: Annotated[bool, Knob("eps inside the root", link="eps-inside")] = NormLines.inside
    affine: Annotated[bool, Knob("gamma and beta", link="affine")] = NormLines.affine
    small: Annotated[float, Knob("eps =", choices={1e-6: "1e-6", 1e-5: "1e-5"}, link="line-eps", width=110)] = (
        NormLines.eps
    )
    gamma: Annotated[float, Knob("gamma is", -10.0, 10.0, 0.5, width=130)] = 1.5
    beta: Annotated[float, Knob("beta is", -10.0, 10.0, 0.5, width=130)] = 0.0


@dataclass(frozen=True)
class LearnedRows(Settings):
    """What gain and bias learn from, and how fast; the step that is shown."""

    columns = (3,)

    fit: Annotated[str, Knob("Fit the targets of", choices=dict.fromkeys((THIS, ALL)))] = ALL
    rate: Annotated[float, Knob("Learning rate", 0.01, 3.0, 0.05, link="rows-rate")] = 0.3
    shown: Annotated[int, Knob("Step", 0, STEPS, 1, control="slider", link="descent")] = STEPS


def by_lines(values: np.ndarray, row: int, _eps: float, _names: list[str]) -> None:
    """The class by its lines, its code and its numbers beside torch's, for the chosen token."""
    x = values[row]
    at = form.draw(BuiltNorm, BUILT)
    lines = NormLines(at.biased, at.inside, at.small, at.affine, at.gamma, at.beta)
    own = lines.normalised(x)
    code, beside = st.columns(2)
    with code:
        st.code(lines.code, language="python", wrap_lines=True)
        right = {"biased": True, "inside": True, "affine": True, "small": TORCH_EPS}
        st.button("Use torch's lines", key=f"{BUILT}_right", on_click=form.put, args=(BUILT,), kwargs=right)

    def answered() -> bool:
        reply = answer(answers.LAYER_NORM, RunConfig(), row=x.tolist(), eps=TORCH_EPS, gain=at.gamma, bias=at.beta)
        reply.show("Asking torch")
        if reply.value is not None:
            theirs = np.asarray(reply.value.row, float)
            st.markdown(compared(own, theirs))
            draw_finding(digits_sentence(own, theirs, lines), "measured")
        return reply.waiting

    with beside:
        poll_while(BUILT, answered)
    if not lines.biased:
        wide = {width: shortfall(width) for width in (64, 512)}
        st.markdown(TEXTS("by hand", less=len(x) - 1, features=len(x), own=shortfall(len(x)), wide=wide))


def compared(own: np.ndarray, theirs: np.ndarray) -> str:
    """A table in Markdown: feature by feature the class's digits, the first that differs marked, beside torch's."""
    rows = ["| feature | this class | nn.LayerNorm |", "|---|---|---|"]
    for at, (mine, torchs) in enumerate(zip(own, theirs, strict=True), start=1):
        text, place = digits(mine), first_difference(mine, torchs)
        if place is not None:
            text = f"{text[:place]}:red[**{text[place:]}**]"  # a background would stand apart from the digits before it
        rows.append(f"| {at} | {text} | {digits(torchs)} |")
    return "\n".join(rows)


def digits_sentence(own: np.ndarray, theirs: np.ndarray, lines: NormLines) -> str:
    """How many decimals agree, and by how much the result is too short or too long."""
    places = [first_difference(mine, torchs) for mine, torchs in zip(own, theirs, strict=True)]
    if all(place is None for place in places):
        return (
            TEXTS("digits agree")
            if replace(TORCHS, gamma=lines.gamma, beta=lines.beta) == lines
            else TEXTS("digits agree by chance")
        )
    length, size = float(np.linalg.norm(theirs)), float(np.linalg.norm(own))
    return TEXTS("digits differ", apart=float(np.abs(own - theirs).max()), share=size / length if length else np.inf)


def rows_that_learn(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """Gain and bias as rows that descend toward targets, for one token or for all."""
    at = form.draw(LearnedRows, ROWS)
    tokens = [row] if at.fit == THIS else list(range(len(values)))
    normed = normalised(values, "layer norm", eps=eps).values[tokens]
    left, right = st.columns(2)
    with left:
        st.markdown("**Start**")
        start = np.array([np.ones(values.shape[1]), np.zeros(values.shape[1])])
        rows = table.table(f"{ROWS}_start", start, name="rows", rows=("gamma", "beta"))
    with right:
        st.markdown("**Targets**")
        of, link = ("one", "target") if at.fit == THIS else ("all", "targets")
        target = table.table(f"{ROWS}_{of}", values[tokens], name=link, rows=[names[token] for token in tokens])
    if rows.shape != start.shape or target.shape != normed.shape:
        st.error(TEXTS("rows do not fit", tokens=len(tokens), features=values.shape[1]))
        return
    walk = learned(normed, target, rows, rate=at.rate)
    floor = least_loss(normed, target)
    draw_charts(ROWS, loss_chart(walk, floor), rows_chart(walk))
    draw_finding(learned_sentence(walk, floor, at.rate, largest_rate(normed), tokens=len(tokens)))
    step = min(at.shown, len(walk.loss) - 1)
    shown = np.vstack([walk.gain[step], walk.bias[step], walk.gain[step] * normed + walk.bias[step], target])
    of_tokens = [names[token] for token in tokens]
    index = ["gamma", "beta", *of_tokens, *(f"target of {name}" for name in of_tokens)]
    frame = pd.DataFrame(shown, index, numbered_names("feature", values.shape[1])).map(number)
    st.markdown(f"**After {step} steps** {badge('formula')}")
    st.dataframe(frame, alt="Gain, bias and results after the step shown, table")


def loss_chart(walk: RowsLearned, floor: float) -> Figure:
    """The loss by step, and the least that any gain and bias can reach."""
    series = [
        Series("loss", walk.loss),
        Series("least for any gamma and beta", np.full(len(walk.loss), floor), "formula"),
    ]
    return depth_profile(
        title="Loss by step", x="step", sites=range(len(walk.loss)), unit="half mean square", hue=LOSS, series=series
    )


def rows_chart(walk: RowsLearned) -> Figure:
    """Gain and bias by step, a line for each feature."""
    count = min(walk.gain.shape[1], MAX_FEATURES)
    rows = (("gamma", walk.gain, "now"), ("beta", walk.bias, "other"))
    series = [Series(f"{name} {at + 1}", line[:, at], role) for name, line, role in rows for at in range(count)]
    title = "gamma and beta by step"
    return linear_profile(title=title, x="step", sites=range(len(walk.loss)), unit="value", hue=NORM, series=series)


def learned_sentence(walk: RowsLearned, floor: float, rate: float, largest: float, *, tokens: int) -> str:
    """Whether gain and bias reach the targets, and why or why not."""
    first, last = float(walk.loss[0]), float(walk.loss[-1])
    if rate > largest and last > first:
        return TEXTS("rows diverge", rate=rate, largest=largest)
    reached = floor <= 1e-12 * max(1.0, first)
    heading = "rows fail" if not reached else "rows reach one" if tokens == 1 else "rows reach several"
    return TEXTS(heading, first=first, last=last, floor=floor, tokens=tokens, steps=len(walk.loss) - 1)
