"""Layer norm built by its lines beside torch\'s."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.labs.normed_table import LabTable
from components.labs.parts import draw_finding
from components.player.answer import answer
from components.shell.text import number
from components.shell.waiting import poll_while
from exhibits.labs.normalization.built.answer import LAYER_NORM
from exhibits.labs.normalization.built.numbers import (
    TORCH_EPS,
    TORCH_NORM,
    NormLines,
    digits,
    first_difference,
    unbiased_std_shortfall,
)
from models.content import Texts
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/built")
BUILT_KEY = "normalization_built"


@dataclass(frozen=True)
class BuiltNorm(Settings):
    columns = ()

    biased: Annotated[bool, Knob("unbiased=False", link="divide-by-n")] = NormLines.biased
    inside: Annotated[bool, Knob("eps inside the root", link="eps-inside")] = NormLines.inside
    affine: Annotated[bool, Knob("gamma and beta", link="affine")] = NormLines.affine
    small: Annotated[float, Knob("eps =", choices={1e-6: "1e-6", 1e-5: "1e-5"}, link="line-eps", width=110)] = (
        NormLines.eps
    )
    gamma: Annotated[float, Knob("gamma is", -10.0, 10.0, 0.5, width=130)] = 1.5
    beta: Annotated[float, Knob("beta is", -10.0, 10.0, 0.5, width=130)] = 0.0


def draw(lab: LabTable) -> None:
    """Draws a class built line by line, and its numbers for the chosen token beside torch's."""
    x = lab.token
    settings = form.draw(BuiltNorm, BUILT_KEY)
    gamma, beta = settings.gamma, settings.beta
    lines = NormLines(
        biased=settings.biased,
        inside=settings.inside,
        eps=settings.small,
        affine=settings.affine,
        gamma=gamma,
        beta=beta,
    )
    ours = lines.apply(x)
    code, beside = st.columns(2)
    with code:
        st.code(lines.code, language="python", wrap_lines=True)
        torch_lines = {"biased": True, "inside": True, "affine": True, "small": TORCH_EPS}
        st.button(
            "Use torch's lines", key=f"{BUILT_KEY}_right", on_click=form.put, args=(BUILT_KEY,), kwargs=torch_lines
        )

    def draw_answer() -> bool:
        reply = answer(LAYER_NORM, RunConfig(), row=x.tolist(), eps=TORCH_EPS, gain=gamma, bias=beta)
        reply.show("Asking torch")
        if reply.value is not None:
            theirs = np.asarray(reply.value.row, float)
            st.markdown(digits_table(ours, theirs))
            draw_finding(digits_sentence(ours, theirs, lines), "measured")
        return reply.is_waiting

    with beside:
        poll_while(BUILT_KEY, draw_answer)
    if not lines.inside:
        divisors = {"formula": np.sqrt(x.var() + lines.eps), "code": lines.divisor(x)}
        st.markdown(TEXTS("formula and code", root=number(np.sqrt(lines.eps)), eps=number(lines.eps), **divisors))
    st.markdown(keepdim_sentence(lab.values))
    if not lines.biased:
        wide = {width: unbiased_std_shortfall(width) for width in (64, 512)}
        st.markdown(TEXTS("by hand", less=len(x) - 1, features=len(x), own=unbiased_std_shortfall(len(x)), wide=wide))


def keepdim_sentence(values: np.ndarray) -> str:
    """What `-1` and `keepdim=True` do for a table (T, D), and what would happen without the second."""
    tokens, features = values.shape
    if tokens == 1:
        consequence = TEXTS("keepdim, one token")
    elif features == 1:
        consequence = TEXTS("keepdim, one feature", tokens=tokens)
    elif tokens == features:
        wrong, right = (values - values.mean(-1))[0], values[0] - values[0].mean()
        consequence = TEXTS("keepdim, a silent slip", wrong=wrong.round(3), right=right.round(3))
    else:
        consequence = TEXTS("keepdim, refused", tokens=tokens, features=features)
    return TEXTS("keepdim", consequence=consequence)


def digits_table(ours: np.ndarray, theirs: np.ndarray) -> str:
    """A table in Markdown: the class's digits by feature, red from the first difference on, beside torch's."""
    rows = ["| feature | this class | nn.LayerNorm |", "|---|---|---|"]
    for i, (value, expected) in enumerate(zip(ours, theirs, strict=True), start=1):
        text, place = digits(value), first_difference(value, expected)
        if place is not None:
            text = f"{text[:place]}:red[**{text[place:]}**]"  # a background would stand apart from the digits before it
        rows.append(f"| {i} | {text} | {digits(expected)} |")
    return "\n".join(rows)


def digits_sentence(ours: np.ndarray, theirs: np.ndarray, lines: NormLines) -> str:
    """Whether all digits agree, or by how much the result is too short or too long."""
    if all(first_difference(value, expected) is None for value, expected in zip(ours, theirs, strict=True)):
        are_torchs = replace(TORCH_NORM, gamma=lines.gamma, beta=lines.beta) == lines
        return TEXTS("digits agree" if are_torchs else "digits agree by chance")
    our_length, their_length = float(np.linalg.norm(ours)), float(np.linalg.norm(theirs))
    share = our_length / their_length if their_length else np.inf
    return TEXTS("digits differ", apart=float(np.abs(ours - theirs).max()), share=share)
