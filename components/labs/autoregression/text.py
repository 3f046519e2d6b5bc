"""A prompt that the net continues, one token or many at a time, with the candidates for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.tokens import candidates_chart
from components.controls import form
from components.instruments.lens import PROMPTS
from components.instruments.panel import InstrumentPanel, Measured
from components.labs.parts import draw_charts
from components.player.answer import answer
from components.shell.session import Key
from components.shell.text import badge, named_table
from models import answers
from models.answers import Continuation
from models.content import Texts
from models.insight.lens import shown, tempered
from models.insight.words import counted
from models.spec import TASKS, RunConfig
from models.spec.knob import Knob
from models.spec.query import literal
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression")
KEY = "autoregression"
MAX_PROMPT = 500
MAX_TEXTS = 16  # that a visitor finds again
ENDS = (".", "\n", " ", ",", "!", "?")  # of a text; in a sequence, any symbol
MAX_NAMES, MAX_NAME = 20, 20  # unknown symbols listed, and characters of each
NO_END = "none"
STOPPED = {  # by the trainer's word for why it stopped
    "length": "stopped at the length",
    "full": "stopped when complete",
    "unasked": "stopped without a loss",
    "not finite": "stopped by numbers",
}


@dataclass(frozen=True)
class PromptExample:
    task: str
    prompt: str
    temperature: float = 0.0
    length: int = 20
    end: str = NO_END


EXAMPLES = {
    "A prompt, the next token, append, repeat": PromptExample("book", "Call me Ish"),
    "Refinement, which value belongs to this key?": PromptExample("recall", PROMPTS["recall"], length=1),
    "Stop at a full stop or at the length": PromptExample("book", "The whale ", temperature=0.8, length=120, end="."),
    "A repeated sequence": PromptExample("copy", PROMPTS["copy"], length=16),
    "A sequence in order": PromptExample("sort", PROMPTS["sort"], length=16),
}


@dataclass(frozen=True)
class Prompt(Settings):
    """What the net continues, and where it stops; one for each task."""

    prompt: Annotated[str, Knob("Prompt", high=MAX_PROMPT)] = ""
    end: Annotated[str, Knob("End symbol", choices={})] = NO_END


@dataclass(frozen=True)
class Generation(Settings):
    temperature: Annotated[float, Knob("Temperature", 0.0, 5.0, 0.1)] = 0.0
    seed: Annotated[int, Knob("Seed of the draws", high=10**6)] = 0
    length: Annotated[int, Knob("Length", 1, 200)] = 20


@dataclass(frozen=True)
class Places(Settings):
    position: Annotated[int, Knob("Position in the text", choices={}, link="place")] = 0
    row: Annotated[int, Knob("Token", choices={})] = 0


@dataclass(frozen=True)
class GeneratedToken:
    """One generated token: its class, the probabilities (C,), and the temperature."""

    token: str
    at: int
    p: np.ndarray
    temperature: float

    @property
    def tempered(self) -> np.ndarray:
        return tempered(self.p, self.temperature)


@dataclass
class Written:
    """What the net of a step generated after a prompt, `why` it stopped, and what is asked for now (`wanted`)."""

    cfg: RunConfig
    prompt: str
    step: int
    tokens: list[GeneratedToken] = field(default_factory=list)
    why: str = ""
    wanted: dict[str, Any] | None = None  # the arguments of the question


WRITTEN: Key[list[Written]] = Key("autoregression_written", [])  # the one shown is last


def place(found: Measured[Any], text: str, name: str) -> int:
    """Draws a choice among the positions of a text, a field of Places; the last, until another is chosen."""
    tokens = found.value.tokens
    names = {at: f"{at + 1}: {shown(token)}" for at, token in enumerate(tokens)}
    last, other = len(tokens) - 1, found.args != {"text": text}  # still of another text, with other positions
    drawn = form.draw(Places, KEY, Places(last, last), only=[name], legal={name: names}, kept=other)
    return int(getattr(drawn, name))


def adopt(task: str, example: PromptExample) -> None:
    """Takes prompt and settings from the address, before their controls are drawn."""
    own = example.task == task
    prompt = Prompt(example.prompt, example.end) if own else Prompt(PROMPTS[task])
    form.keep(Prompt, KEY, prompt, of=task, legal={"end": _ends(task)})
    form.keep(Generation, KEY, Generation(example.temperature, length=example.length))


def draw(panel: InstrumentPanel) -> tuple[str, int] | None:
    """The prompt, its continuation and candidates. Returns what the net reads and its token count."""
    cfg, (left, right) = panel.cfg, st.columns(2)
    with left:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            prompt = _prompt(cfg)
            with st.popover("Settings", icon=":material/tune:"):
                settings, length = _settings(cfg)
        written = _shown(panel, prompt)
        _generated(panel, written)
        text = whole(cfg, prompt, [token.token for token in written.tokens])
        answer = panel.ask(answers.CONTINUATION, captioned=False, text=text, count=1, **settings)
        if answer is not None and (answer.cfg, answer.args) != (cfg, {"text": text, "count": 1, **settings}):
            answer = None
        _buttons(panel, written, answer, {"text": text, "count": length, **settings})
        if answer is None:
            if panel.playhead.playing:
                _text(written)
            return None
        upcoming = answer.value
        for line in reading_notes(upcoming.unknown, upcoming.cut, upcoming.limit, _slides(cfg)):
            st.info(line)
        _text(written, upcoming)
    with right:
        _candidates(written, upcoming, settings["temperature"], answer.step)
    return whole(cfg, "", upcoming.read), len(upcoming.read)


def _shown(panel: InstrumentPanel, prompt: str) -> Written:
    """What the net of the step shown has written after a prompt; while it plays, what stands there already."""
    texts = WRITTEN.mutable()
    step = texts[-1].step if texts and panel.playhead.playing else panel.step
    wanted = panel.cfg, prompt, step
    own = next((text for text in texts if (text.cfg, text.prompt, text.step) == wanted), None) or Written(*wanted)
    WRITTEN.put([*(text for text in texts if text is not own), own][-MAX_TEXTS:])
    return own


def whole(cfg: RunConfig, prompt: str, tokens: Sequence[str]) -> str:
    """A prompt and the tokens after it as one text."""
    return prompt + "".join(tokens) if _slides(cfg) else " ".join([*prompt.split(), *tokens])


def _slides(cfg: RunConfig) -> bool:
    """Whether texts of this task are endless, so that the net reads a window."""
    return TASKS[cfg.task].kind == "text"


def _prompt(cfg: RunConfig) -> str:
    ways = "characters, ↵ for a new line" if _slides(cfg) else "symbols as numbers, separated by spaces"
    knob = Knob(f"Prompt: {ways}", high=MAX_PROMPT)
    typed = form.draw(Prompt, KEY, of=cfg.task, only=["prompt"], legal={"prompt": knob}, kept=True).prompt
    return typed.replace("↵", "\n")


def _settings(cfg: RunConfig) -> tuple[dict[str, Any], int]:
    """Temperature, seed of the draws and end symbol ("" is none), as a question has them, and the length."""
    drawn = form.draw(Generation, KEY, kept=True)
    ends = {end: shown(end) for end in _ends(cfg.task)}
    end = form.draw(Prompt, KEY, of=cfg.task, only=["end"], legal={"end": ends}, kept=True).end
    end = "" if end == NO_END else end
    return {"temperature": round(drawn.temperature, 3), "seed": drawn.seed, "end": end}, drawn.length


def _ends(task: str) -> tuple[str, ...]:
    """The tokens that generation may stop after."""
    return NO_END, *(ENDS if TASKS[task].kind == "text" else map(str, range(TASKS[task].vocabulary)))


def _generated(panel: InstrumentPanel, written: Written) -> None:
    """Appends what Generate asked for, once it has arrived."""
    if written.wanted is None:
        return
    args = written.wanted
    reply = answer(answers.CONTINUATION, panel.cfg, owner=panel.owner("generate"), step=written.step, **args)
    reply.show("Generating")
    panel.waiting |= reply.is_waiting
    if not reply.is_waiting:
        written.wanted = None
    if reply.value is not None:
        _append(written, reply.value, args)


def _append(written: Written, value: Continuation, args: dict[str, Any]) -> None:
    written.tokens += _generated_tokens(value, args["temperature"])
    written.why = stop_sentence(value.stopped, len(value.said), args["count"], args["end"], value.limit)


def _generated_tokens(value: Continuation, temperature: float) -> list[GeneratedToken]:
    pairs = zip(value.said, value.probabilities, strict=True)
    return [GeneratedToken(token, value.classes.index(token), p, temperature) for token, p in pairs]


def _buttons(
    panel: InstrumentPanel, written: Written, answer: Measured[Continuation] | None, args: dict[str, Any]
) -> None:
    """Buttons for one token, many, or none. Disabled while the net trains."""
    there = answer is not None and answer.step == written.step and bool(answer.value.said)
    can = there and not panel.playhead.playing and written.wanted is None

    def append() -> None:
        assert answer is not None
        _append(written, answer.value, args | {"count": 1})

    def generate() -> None:
        written.wanted = args

    def clear() -> None:
        written.tokens, written.why, written.wanted = [], "", None

    def button(label: str, name: str, icon: str, does: Callable[[], None], disabled: bool, **how: Any) -> None:
        st.button(label, key=f"{KEY}_{name}", icon=f":material/{icon}:", on_click=does, disabled=disabled, **how)

    with st.container(horizontal=True):
        button("Next token", "next", "keyboard_tab", append, not can, type="primary")
        button("Generate", "generate", "fast_forward", generate, not can)
        button("Back to the prompt", "again", "undo", clear, not written.tokens)
    if panel.playhead.playing:
        st.caption(TEXTS("pause"))


def _text(written: Written, upcoming: Continuation | None = None) -> None:
    """The text, and why it ended. `upcoming`: what comes next, once that is measured."""
    tokens = [token.token for token in written.tokens]
    st.code(whole(written.cfg, written.prompt, tokens), language=None, wrap_lines=True)
    wrote = TEXTS("wrote", step=written.step, count=counted(len(tokens), "token"))
    none = stop_sentence(upcoming.stopped, 0, 1, "", upcoming.limit) if upcoming and not upcoming.said else ""
    after = written.why or none or "Press Next token or Generate."
    st.markdown(f"**{wrote if tokens else 'This is the prompt.'} {after}**")


def _candidates(written: Written, upcoming: Continuation, temperature: float, step: int) -> None:
    """The candidates for one of the text's tokens or the next, which was measured at `step`."""
    names = [f"{at}: {shown(token.token)}" for at, token in enumerate(written.tokens, start=1)]
    following = _generated_tokens(upcoming, temperature)
    tokens = [*written.tokens, *following]
    if not tokens:
        return
    names += ["the next one"] * len(following)
    label, last = "Candidates for token", len(tokens) - 1
    key = f"{KEY}_looked_at_{len(tokens)}"
    at = st.selectbox(label, range(len(tokens)), index=last, format_func=names.__getitem__, key=key)
    token, is_written = tokens[int(at)], at < len(written.tokens)
    draw_charts(KEY, candidates_chart("Candidates", upcoming.classes, token.p, token.tempered, token.at))
    p = {"p": token.p[token.at], "temperature": token.temperature, "tempered": token.tempered[token.at]}
    verb, of_step = ("is", written.step) if is_written else ("would be", step)
    st.markdown(TEXTS("chosen", token=shown(token.token), verb=verb, badge=badge("measured"), step=of_step, **p))
    if written.tokens:
        with st.popover("All generated tokens", key=f"{KEY}_all", icon=":material/table:"):
            rows = [
                (
                    shown(row.token),
                    row.p[row.at],
                    row.tempered[row.at],
                    row.temperature,
                    (row.p > row.p[row.at]).sum() + 1,
                )
                for row in written.tokens
            ]
            columns = ("token", "probability", "at the temperature", "temperature", "rank")
            named_table("Generated tokens", pd.DataFrame(rows, columns=columns), height=260)


def stop_sentence(stopped: str, count: int, asked: int, end: str, limit: int) -> str:
    """Why generation stopped after so many tokens (`stopped`: a word from the trainer)."""
    if stopped != "end":
        return TEXTS(STOPPED[stopped], count=counted(count, "token"), limit=limit)
    heading = "stopped at the end symbol" if count < asked else "stopped at both"
    return TEXTS(heading, number=count, end=shown(end), asked=asked)


def reading_notes(unknown: Sequence[str], cut: int, limit: int, slides: bool) -> list[str]:
    """What was left out of a prompt that the net cannot read completely."""
    notes = []
    if unknown:
        names = ", ".join(f'"{literal(name[:MAX_NAME])}"' for name in list(dict.fromkeys(unknown))[:MAX_NAMES])
        what = "character" if slides else "symbol"
        notes.append(TEXTS("unknown symbols", what=what, names=names, count=len(unknown)))
    if cut:
        notes.append(TEXTS("window" if slides else "too long", limit=limit, cut=cut))
    return notes
