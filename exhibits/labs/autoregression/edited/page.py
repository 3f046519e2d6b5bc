"""Replaces one token of the text, and lets the net continue after the mistake and a correction."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.parts import draw_charts, draw_finding
from components.labs.prompts import KEY, LOGIT_ROUNDING, EditableText, change_chart, join_text, reading_notes
from components.labs.prompts import TEXTS as SHARED
from components.player.answer import answer
from models import answers
from models.answers import Change
from models.content import Texts
from models.insight.lens import visible_token
from models.insight.words import count_in_words
from models.spec import TASKS
from models.spec.knob import Knob
from models.spec.query import escape_markdown
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression/edited")
CORRECTION = "; no, I mean "
CONTINUED_TOKENS = 20


@dataclass(frozen=True)
class Replaced(Settings):
    columns = (2,)

    replaced: Annotated[int, Knob("Replace token", choices={})] = 0
    replacement: Annotated[str, Knob("By", high=3, link="by")] = ""


@dataclass(frozen=True)
class Corrected(Settings):
    columns = (2,)

    correction: Annotated[str, Knob("Text to append", high=60, link="said")] = CORRECTION
    corrects: Annotated[bool, Knob("Let it correct itself", link="correct")] = False


def draw(panel: InstrumentPanel, editable: EditableText) -> None:
    """Draws the replacement of one token and its effect on the logits."""
    cfg, text, symbols = panel.cfg, editable.text, editable.symbols
    is_text = TASKS[cfg.task].kind == "text"
    tokens = list(text) if is_text else text.split()
    middle = len(tokens) // 2
    defaults = Replaced(middle, next(symbol for symbol in reversed(symbols) if symbol != tokens[middle]))
    names = {position: f"{position + 1}: {visible_token(token)}" for position, token in enumerate(tokens)}
    st.subheader("Replace a token", anchor=False)
    edit = form.draw(Replaced, KEY, defaults, variant=cfg.task, legal={"replaced": names})
    token = edit.replacement if edit.replacement in symbols else edit.replacement.strip()
    if token not in symbols:
        unit = "character" if is_text else "number"
        st.error(TEXTS("no such token", what=unit, known=escape_markdown(" ".join(map(visible_token, symbols)))))
        return
    if token == tokens[edit.replaced]:
        st.info(TEXTS("the same token"))
        return
    measured = panel.ask(answers.REPLACEMENT, text=text, at=edit.replaced, token=token)
    if measured is None:
        return
    value, position = measured.value, int(measured.args["at"])
    causal, unmasked = value.causal, value.unmasked
    draw_charts(KEY, change_chart("Change by replaced token", value.tokens, causal.difference, unmasked.difference))
    draw_finding(replacement_sentence(causal, unmasked, position), "measured")
    if is_text:
        _draw_correction(panel, "".join(value.tokens), position)


def _draw_correction(panel: InstrumentPanel, text: str, position: int) -> None:
    """Draws the text that the net writes after the mistake and its correction."""
    st.subheader("Let it correct itself", anchor=False)
    settings = form.draw(Corrected, KEY)
    if not settings.corrects:
        return
    if panel.playhead.playing:
        st.caption(SHARED("pause"))
        return
    prompt = join_text(panel.cfg, text, [settings.correction])
    request: dict[str, Any] = {"step": panel.step, "text": prompt, "count": CONTINUED_TOKENS}
    reply = answer(answers.CONTINUATION, panel.cfg, owner=panel.owner("correct"), **request)
    panel.waiting |= reply.is_waiting
    if reply.value is None:
        reply.show("Writing")
        return
    value = reply.value
    for line in reading_notes(value.unknown, value.cut, value.limit, slides=True):
        st.info(line)
    st.code(join_text(panel.cfg, prompt, value.written), language=None, wrap_lines=True)
    wrote = count_in_words(len(value.written), "token")
    slip = {"slip": visible_token(text[position]), "place": position + 1, "wrote": wrote, "step": panel.step}
    draw_finding(TEXTS("the slip stays", **slip), "measured")


def replacement_sentence(causal: Change, unmasked: Change, position: int) -> str:
    """How many logits move when the token at a position, from 0, is replaced, with the causal mask and without."""
    if not np.isfinite([causal.difference.max(), unmasked.difference.max()]).all():
        return SHARED("revision not finite")
    moved = causal.difference > LOGIT_ROUNDING
    moved_unmasked = unmasked.difference > LOGIT_ROUNDING
    moved_before = moved[:position].sum()
    moved_after = moved[position:].sum()
    moved_before_unmasked = moved_unmasked[:position].sum()
    counts = {"place": position + 1, "earlier": position, "later": len(moved) - position}
    return TEXTS("replaced", before=moved_before, after=moved_after, free=moved_before_unmasked, **counts)
