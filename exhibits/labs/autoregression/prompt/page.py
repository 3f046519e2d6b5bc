"""A prompt that the net continues, one token or many at a time, with the candidates for each."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from components.charts.tokens import candidates_chart
from components.controls import form
from components.instruments.panel import InstrumentPanel, Measured
from components.labs.parts import draw_charts
from components.labs.prompts import (
    KEY,
    MAX_PROMPT_CHARACTERS,
    NO_END,
    Generation,
    Prompt,
    ReadText,
    end_symbols,
    is_endless,
    join_text,
    reading_notes,
)
from components.labs.prompts import TEXTS as SHARED
from components.player.answer import answer
from components.shell.session import Key
from components.shell.text import badge, named_table
from models import answers
from models.answers import Continuation
from models.content import Texts
from models.insight.lens import visible_token, with_temperature
from models.insight.words import count_in_words
from models.spec import RunConfig
from models.spec.knob import Knob

TEXTS = Texts("labs/autoregression/prompt")
MAX_STORED_TEXTS = 16  # in a session
STOP_HEADINGS = {  # by the reason that the trainer gives
    "length": "stopped at the length",
    "full": "stopped when complete",
    "unasked": "stopped without a loss",
    "not finite": "stopped by numbers",
}


@dataclass(frozen=True)
class GeneratedToken:
    """A generated token: its class, the probabilities (C,) that it came from, and the temperature."""

    token: str
    index: int
    p: np.ndarray
    temperature: float

    @property
    def chosen_p(self) -> float:
        return float(self.p[self.index])

    @property
    def tempered(self) -> np.ndarray:
        """The probabilities at the temperature (C,)."""
        return with_temperature(self.p, self.temperature)


@dataclass
class WrittenText:
    """The tokens that the net of a step generated after a prompt, and the arguments of a request under way."""

    cfg: RunConfig
    prompt: str
    step: int
    tokens: list[GeneratedToken] = field(default_factory=list)
    stop_reason: str = ""
    request: dict[str, Any] | None = None


WRITTEN_TEXTS: Key[list[WrittenText]] = Key("autoregression_written", [])  # the one shown is last


def draw(panel: InstrumentPanel) -> ReadText | None:
    """Draws prompt, continuation and candidates. Returns the text that the net reads."""
    cfg = panel.cfg
    left, right = st.columns(2)
    with left:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            prompt = _draw_prompt(cfg)
            with st.popover("Settings", icon=":material/tune:"):
                settings, length = _draw_settings(cfg)
        written = _current_text(panel, prompt)
        _draw_generation(panel, written)
        text = join_text(cfg, prompt, [token.token for token in written.tokens])
        answer = panel.ask(answers.CONTINUATION, captioned=False, text=text, count=1, **settings)
        requested = (cfg, {"text": text, "count": 1, **settings})
        if answer is not None and (answer.cfg, answer.args) != requested:
            answer = None
        _draw_buttons(panel, written, answer, {"text": text, "count": length, **settings})
        if answer is None:
            if panel.playhead.playing:
                _draw_text(written)
            return None
        upcoming = answer.value
        for line in reading_notes(upcoming.unknown, upcoming.cut, upcoming.limit, is_endless(cfg)):
            st.info(line)
        _draw_text(written, upcoming)
    with right:
        _draw_candidates(written, upcoming, settings["temperature"], answer.step)
    return ReadText(join_text(cfg, "", upcoming.context), len(upcoming.context))


def _draw_prompt(cfg: RunConfig) -> str:
    symbols = "characters, ↵ for a new line" if is_endless(cfg) else "symbols as numbers, separated by spaces"
    knob = Knob(f"Prompt: {symbols}", high=MAX_PROMPT_CHARACTERS)
    typed = form.draw(Prompt, KEY, variant=cfg.task, only=["prompt"], legal={"prompt": knob}, is_kept=True).prompt
    return typed.replace("↵", "\n")


def _draw_settings(cfg: RunConfig) -> tuple[dict[str, Any], int]:
    """Temperature, seed of the draws and end symbol ("" for none) as arguments of a question, and the length."""
    drawn = form.draw(Generation, KEY, is_kept=True)
    ends = {end: visible_token(end) for end in end_symbols(cfg.task)}
    end = form.draw(Prompt, KEY, variant=cfg.task, only=["end"], legal={"end": ends}, is_kept=True).end
    end = "" if end == NO_END else end
    return {"temperature": round(drawn.temperature, 3), "seed": drawn.seed, "end": end}, drawn.length


def _draw_generation(panel: InstrumentPanel, written: WrittenText) -> None:
    """Appends the tokens that Generate asked for when they arrive; until then, draws the progress."""
    if written.request is None:
        return
    args = written.request
    reply = answer(answers.CONTINUATION, panel.cfg, owner=panel.owner("generate"), step=written.step, **args)
    reply.show("Generating")
    panel.waiting |= reply.is_waiting
    if not reply.is_waiting:
        written.request = None
    if reply.value is not None:
        _append(written, reply.value, args)


def _draw_buttons(
    panel: InstrumentPanel, written: WrittenText, answer: Measured[Continuation] | None, args: dict[str, Any]
) -> None:
    """Draws buttons that append one token or many, or remove all.

    `answer`: the next token. `args`: arguments of the question that Generate asks. While the run plays, nothing can be
    appended.
    """
    is_current = answer is not None and answer.step == written.step and bool(answer.value.written)
    can_append = is_current and not panel.playhead.playing and written.request is None

    def append_next() -> None:
        assert answer is not None
        _append(written, answer.value, args | {"count": 1})

    def generate() -> None:
        written.request = args

    def clear() -> None:
        written.tokens = []
        written.stop_reason = ""
        written.request = None

    with st.container(horizontal=True):
        st.button(
            "Next token",
            f"{KEY}_next",
            icon=":material/keyboard_tab:",
            on_click=append_next,
            disabled=not can_append,
            type="primary",
        )
        icon = ":material/fast_forward:"
        st.button("Generate", f"{KEY}_generate", icon=icon, on_click=generate, disabled=not can_append)
        icon = ":material/undo:"
        st.button("Back to the prompt", f"{KEY}_again", icon=icon, on_click=clear, disabled=not written.tokens)
    if panel.playhead.playing:
        st.caption(SHARED("pause"))


def _draw_text(written: WrittenText, upcoming: Continuation | None = None) -> None:
    """Draws the text, and why it ended; `upcoming` is its next token, once that is measured."""
    tokens = [token.token for token in written.tokens]
    st.code(join_text(written.cfg, written.prompt, tokens), language=None, wrap_lines=True)
    wrote = TEXTS("wrote", step=written.step, count=count_in_words(len(tokens), "token"))
    ending = written.stop_reason
    if not ending and upcoming and not upcoming.written:
        ending = stop_sentence(upcoming.stopped, 0, 1, "", upcoming.limit)
    beginning = wrote if tokens else "This is the prompt."
    st.markdown(f"**{beginning} {ending or 'Press Next token or Generate.'}**")


def _draw_candidates(written: WrittenText, upcoming: Continuation, temperature: float, step: int) -> None:
    """Draws the candidates for a token of the text, or for the next one, which was measured at `step`."""
    names = [f"{i}: {visible_token(token.token)}" for i, token in enumerate(written.tokens, start=1)]
    following = _generated_tokens(upcoming, temperature)
    tokens = [*written.tokens, *following]
    if not tokens:
        return
    names += ["the next one"] * len(following)
    choice = st.selectbox(
        "Candidates for token",
        range(len(tokens)),
        index=len(tokens) - 1,
        format_func=names.__getitem__,
        key=f"{KEY}_looked_at_{len(tokens)}",
    )
    token = tokens[int(choice)]
    is_written = choice < len(written.tokens)
    draw_charts(KEY, candidates_chart("Candidates", upcoming.classes, token.p, token.tempered, token.index))
    probabilities = {"p": token.chosen_p, "temperature": token.temperature, "tempered": token.tempered[token.index]}
    verb, of_step = ("is", written.step) if is_written else ("would be", step)
    st.markdown(
        TEXTS(
            "chosen",
            token=visible_token(token.token),
            verb=verb,
            badge=badge("measured"),
            step=of_step,
            **probabilities,
        )
    )
    if written.tokens:
        with st.popover("All generated tokens", key=f"{KEY}_all", icon=":material/table:"):
            columns = {
                "token": [visible_token(token.token) for token in written.tokens],
                "probability": [token.chosen_p for token in written.tokens],
                "at the temperature": [token.tempered[token.index] for token in written.tokens],
                "temperature": [token.temperature for token in written.tokens],
                "rank": [(token.p > token.chosen_p).sum() + 1 for token in written.tokens],
            }
            named_table("Generated tokens", columns, height=260)


def stop_sentence(stopped: str, count: int, requested: int, end: str, limit: int) -> str:
    """Why generation stopped after `count` tokens; `stopped`: the reason that the trainer gives."""
    if stopped != "end":
        return TEXTS(STOP_HEADINGS[stopped], count=count_in_words(count, "token"), limit=limit)
    heading = "stopped at the end symbol" if count < requested else "stopped at both"
    return TEXTS(heading, number=count, end=visible_token(end), asked=requested)


def _current_text(panel: InstrumentPanel, prompt: str) -> WrittenText:
    """The text that the net of the step shown wrote after a prompt; while it plays, the one already shown."""
    texts = WRITTEN_TEXTS.mutable()
    step = texts[-1].step if texts and panel.playhead.playing else panel.step
    source = panel.cfg, prompt, step
    matches = (text for text in texts if (text.cfg, text.prompt, text.step) == source)
    current = next(matches, None) or WrittenText(*source)
    others = [text for text in texts if text is not current]
    WRITTEN_TEXTS.put([*others, current][-MAX_STORED_TEXTS:])
    return current


def _append(written: WrittenText, value: Continuation, args: dict[str, Any]) -> None:
    written.tokens += _generated_tokens(value, args["temperature"])
    written.stop_reason = stop_sentence(value.stopped, len(value.written), args["count"], args["end"], value.limit)


def _generated_tokens(value: Continuation, temperature: float) -> list[GeneratedToken]:
    pairs = zip(value.written, value.probabilities, strict=True)
    return [GeneratedToken(token, value.classes.index(token), p, temperature) for token, p in pairs]
