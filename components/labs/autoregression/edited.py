"""A token of the text is replaced by another, and the net goes on after a slip that it cannot take back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.autoregression.inside import change_chart
from components.labs.autoregression.text import KEY, reading_notes, whole
from components.labs.parts import draw_charts, draw_finding
from components.player.answer import answer
from components.shell.text import badge
from models import answers
from models.answers import Change
from models.content import Texts
from models.insight.lens import shown
from models.insight.words import counted
from models.spec import TASKS
from models.spec.knob import Knob
from models.spec.query import literal
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression")
SAID = "; no, I mean "
GOES_ON = 20  # tokens
MOVED = 1e-9  # change of a 64-bit logit from which it has moved


@dataclass(frozen=True)
class Replaced(Settings):
    """Which token is replaced, and by which; one for each task."""

    columns = (2,)

    replaced: Annotated[int, Knob("Replace token", choices={})] = 0
    instead: Annotated[str, Knob("By", high=3, link="by")] = ""


@dataclass(frozen=True)
class Corrected(Settings):
    columns = (2,)

    said: Annotated[str, Knob("Said next", high=60, link="said")] = SAID
    corrects: Annotated[bool, Knob("Let it correct itself", link="correct")] = False


def draw(panel: InstrumentPanel, text: str, symbols: Sequence[str]) -> None:
    """`symbols`: those that the net can read."""
    cfg = panel.cfg
    tokens = list(text) if TASKS[cfg.task].kind == "text" else text.split()
    middle = len(tokens) // 2
    usual = Replaced(middle, next(symbol for symbol in reversed(symbols) if symbol != tokens[middle]))
    names = {at: f"{at + 1}: {shown(token)}" for at, token in enumerate(tokens)}
    st.subheader("Replace a token", anchor=False)
    edit = form.draw(Replaced, KEY, usual, of=cfg.task, legal={"replaced": names})
    token = edit.instead if edit.instead in symbols else edit.instead.strip()
    if token not in symbols:
        what = "character" if TASKS[cfg.task].kind == "text" else "number"
        st.error(TEXTS("no such token", what=what, known=literal(" ".join(map(shown, symbols)))))
        return
    if token == tokens[edit.replaced]:
        st.info(TEXTS("the same token"))
        return
    found = panel.ask(answers.REPLACEMENT, text=text, at=edit.replaced, token=token)
    if found is None:
        return
    value, at = found.value, int(found.args["at"])
    draw_charts(
        KEY, change_chart("Change by replaced token", value.tokens, value.causal.difference, value.none.difference)
    )
    draw_finding(replaced_sentence(value.causal, value.none, at), "measured")
    if TASKS[cfg.task].kind == "text":
        _corrected(panel, "".join(value.tokens), at)


def _corrected(panel: InstrumentPanel, text: str, at: int) -> None:
    """The net goes on after the slip and what is said next."""
    st.subheader("Let it correct itself", anchor=False)
    wish = form.draw(Corrected, KEY)
    if not wish.corrects:
        return
    if panel.playhead.playing:
        st.caption(TEXTS("pause"))
        return
    prompt = whole(panel.cfg, text, [wish.said])
    owner = panel.owner("correct")
    reply = answer(answers.CONTINUATION, panel.cfg, owner=owner, step=panel.step, text=prompt, count=GOES_ON)
    panel.waiting |= reply.is_waiting
    if reply.value is None:
        reply.show("Writing")
        return
    value = reply.value
    for line in reading_notes(value.unknown, value.cut, value.limit, slides=True):
        st.info(line)
    st.code(whole(panel.cfg, prompt, value.said), language=None, wrap_lines=True)
    wrote = counted(len(value.said), "token")
    slip = {"slip": shown(text[at]), "place": at + 1, "wrote": wrote, "step": panel.step}
    st.markdown(f"**{TEXTS('the slip stays', **slip)}** {badge('measured')}")


def replaced_sentence(causal: Change, bare: Change, at: int) -> str:
    """Which logits move when the token at a place, from 0, is replaced, with the causal mask and without (`bare`)."""
    if not np.isfinite([causal.difference.max(), bare.difference.max()]).all():
        return TEXTS("revision not finite")
    moved, free = causal.difference > MOVED, bare.difference > MOVED
    before, after = moved[:at].sum(), moved[at:].sum()
    count = {"place": at + 1, "earlier": at, "later": len(moved) - at}
    return TEXTS("replaced", before=before, after=after, free=free[:at].sum(), **count)
