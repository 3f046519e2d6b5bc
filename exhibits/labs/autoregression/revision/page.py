"""How appending a token leaves earlier ones unchanged, with the causal mask and without."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure
from components.instruments.panel import InstrumentPanel
from components.labs.parts import draw_charts, draw_finding
from components.labs.prompts import KEY, LOGIT_ROUNDING, EditableText, ReadText, change_chart
from components.labs.prompts import TEXTS as SHARED
from models import answers
from models.answers import Change
from models.content import Texts
from models.insight.lens import visible_token
from models.insight.words import count_in_words
from models.spec import TASKS, RunConfig

TEXTS = Texts("labs/autoregression/revision")


def draw(panel: InstrumentPanel, read: ReadText) -> EditableText | None:
    """Draws how the last token changes earlier positions, with and without the mask. Returns what may be replaced."""
    if read.tokens < 2:
        st.info(TEXTS("one token"))
        return None
    answer = panel.ask(answers.REVISION, text=read.text)
    if answer is None:
        return None
    tokens, causal, unmasked = answer.value.tokens, answer.value.causal, answer.value.unmasked
    draw_charts(KEY, revision_chart(tokens[:-1], causal.difference, unmasked.difference))
    draw_finding(revision_sentence(causal, unmasked, tokens[-1]), "measured")
    with st.expander("What is compared"):
        st.markdown(TEXTS("what is compared"))
    if answer.cfg != panel.cfg:
        return None
    return EditableText(read.text, readable_symbols(answer.cfg, answer.value.classes))


def revision_sentence(causal: Change, unmasked: Change, token: str) -> str:
    """How appending a token changes the logits before it, with the causal mask and without."""
    largest, largest_unmasked = float(causal.difference.max()), float(unmasked.difference.max())
    if not np.isfinite([largest, largest_unmasked]).all():
        return SHARED("revision not finite")
    count = len(unmasked.before)
    return TEXTS(
        "revision",
        verdict="Earlier tokens never change" if largest < LOGIT_ROUNDING else "Earlier tokens change",
        token=visible_token(token),
        causal=largest,
        bare=largest_unmasked,
        positions=count_in_words(count, "position"),
        rounding=", which is rounding" if 0 < largest < LOGIT_ROUNDING else "",
        changed=(unmasked.before != unmasked.after).sum(),
        count=count,
    )


def revision_chart(tokens: Sequence[str], causal: np.ndarray, unmasked: np.ndarray) -> Figure:
    """The largest change of a logit by position (T - 1,) when one more token is appended."""
    return change_chart("Change by token", tokens, causal, unmasked)


def readable_symbols(cfg: RunConfig, classes: Sequence[str]) -> Sequence[str]:
    """The characters that the net can also write, or the numbers of the task."""
    task = TASKS[cfg.task]
    return list(classes) if task.kind == "text" else [str(i) for i in range(task.vocabulary)]
