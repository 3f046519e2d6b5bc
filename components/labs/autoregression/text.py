"""A prompt that the net continues, one token or many at a time, with the candidates for each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.charts.tokens import candidates_chart
from components.controls import form
from components.instruments.lens import TEXTS
from components.instruments.panel import InstrumentPanel, Measured
from components.labs.autoregression.examples import NO_END, PromptExample
from components.labs.autoregression.words import reading_notes, stop_sentence
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table
from components.stage.answer import answer
from models import answers
from models.answers import Continuation
from models.insight.lens import shown, tempered
from models.insight.words import counted
from models.spec import TASKS, RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

NAME = "autoregression"
LONGEST_PROMPT = 500
MOST_TEXTS = 16  # that a visitor finds again
ENDS = (".", "\n", " ", ",", "!", "?")  # of a text; in a sequence, any symbol


@dataclass(frozen=True)
class Prompt(Settings):
    """What the net continues, and where it stops; one for each task."""

    prompt: Annotated[str, Knob("Prompt", high=LONGEST_PROMPT)] = ""
    end: Annotated[str, Knob("End symbol", choices={})] = NO_END


@dataclass(frozen=True)
class Generation(Settings):
    """How the net continues a prompt."""

    temperature: Annotated[float, Knob(
        "Temperature", 0.0,
        5.0, 0.1
    )] = 0.0  # fmt: skip
    seed: Annotated[int, Knob("Seed of the draws", high=10**6)] = 0
    length: Annotated[int, Knob("Length", 1, 200)] = 20


@dataclass(frozen=True)
class Places(Settings):
    """Which tokens of the text are looked at."""

    position: Annotated[int, Knob("Position in the text", choices={}, link="place")] = 0
    row: Annotated[int, Knob("Token", choices={})] = 0


@dataclass(frozen=True)
class GeneratedToken:
    """One generated token: its class, the probabilities (C,), and the temperature."""

    token: str
    at: int
    p: np.ndarray
    temperature: float


@dataclass
class Written:
    """What the net of a step generated after a prompt, `why` it stopped, and what is asked for now (`wanted`)."""

    cfg: RunConfig
    prompt: str
    step: int
    said: list[GeneratedToken] = field(default_factory=list)
    why: str = ""
    wanted: dict[str, Any] | None = None  # the arguments of the question


WRITTEN: Key[list[Written]] = Key("autoregression_written", [])  # the one shown is last


def place(found: Measured[Any], text: str, name: str) -> int:
    """Draws a choice among the positions of a text, a field of Places; the last, until another is chosen."""
    tokens = found.value.tokens
    names = {at: f"{at + 1}: {shown(token)}" for at, token in enumerate(tokens)}
    last, other = len(tokens) - 1, found.args != {"text": text}  # still of another text, with other positions
    drawn = form.draw(Places, NAME, Places(last, last), only=[name], legal={name: names}, kept=other)
    return int(getattr(drawn, name))


def adopt(task: str, example: PromptExample) -> None:
    """Takes prompt and settings from the address, before their controls are drawn."""
    own = example.task == task
    prompt = Prompt(example.prompt, example.end) if own else Prompt(TEXTS[task])
    form.keep(Prompt, NAME, prompt, of=task, legal={"end": _ends(task)})
    form.keep(Generation, NAME, Generation(example.temperature, length=example.length))


def draw(panel: InstrumentPanel) -> tuple[str, int] | None:
    """The prompt and its continuation. Returns the text that the net reads and its token count; None if unknown."""
    left, right = st.columns(2)
    with left:
        return _continued(panel, right)


def _continued(panel: InstrumentPanel, beside: DeltaGenerator) -> tuple[str, int] | None:
    """As `draw`, with the candidates `beside` it."""
    cfg = panel.cfg
    with st.container(horizontal=True, vertical_alignment="bottom"):
        prompt = _prompt(cfg)
        with st.popover("Settings", icon=":material/tune:"):
            temperature, seed, length, end = _settings(cfg)
    written = _shown(panel, prompt)
    settings: dict[str, Any] = {"temperature": temperature, "seed": seed, "end": end}
    _generated(panel, written)
    text = whole(cfg, prompt, [one.token for one in written.said])
    found = panel.ask(answers.CONTINUATION, tells=False, text=text, count=1, **settings)
    fresh = found is not None and (found.cfg, found.args) == (cfg, {"text": text, "count": 1, **settings})
    _buttons(panel, written, found if fresh else None, {"text": text, "count": length, **settings})
    if found is None or not fresh:
        if panel.at.playing:
            _text(written)
        return None
    next_one = found.value
    for line in reading_notes(next_one.unknown, next_one.cut, next_one.limit, _slides(cfg)):
        st.info(line)
    _text(written, next_one)
    with beside:
        _candidates(written, next_one, temperature, found.step)
    return whole(cfg, "", next_one.read), len(next_one.read)


def _shown(panel: InstrumentPanel, prompt: str) -> Written:
    """What the net of the step shown has written after a prompt; while it plays, what stands there already."""
    kept = WRITTEN.mutable()
    step = kept[-1].step if kept and panel.at.playing else panel.step
    wanted = panel.cfg, prompt, step
    own = next((one for one in kept if (one.cfg, one.prompt, one.step) == wanted), None) or Written(*wanted)
    WRITTEN.put([*(one for one in kept if one is not own), own][-MOST_TEXTS:])
    return own


def whole(cfg: RunConfig, prompt: str, tokens: Sequence[str]) -> str:
    """A prompt and the tokens after it as one text."""
    return prompt + "".join(tokens) if _slides(cfg) else " ".join([*prompt.split(), *tokens])


def _slides(cfg: RunConfig) -> bool:
    """Whether texts of this task are endless, so that the net reads a window."""
    return TASKS[cfg.task].kind == "text"


def _prompt(cfg: RunConfig) -> str:
    ways = "characters, ↵ for a new line" if _slides(cfg) else "symbols as numbers, separated by spaces"
    knob = Knob(f"Prompt: {ways}", high=LONGEST_PROMPT)
    typed = form.draw(Prompt, NAME, of=cfg.task, only=["prompt"], legal={"prompt": knob}, kept=True).prompt
    return typed.replace("↵", "\n")


def _settings(cfg: RunConfig) -> tuple[float, int, int, str]:
    """Temperature, seed of the draws, length and end symbol ("" is none)."""
    drawn = form.draw(Generation, NAME, kept=True)
    ends = {end: shown(end) for end in _ends(cfg.task)}
    end = form.draw(Prompt, NAME, of=cfg.task, only=["end"], legal={"end": ends}, kept=True).end
    return round(drawn.temperature, 3), drawn.seed, drawn.length, "" if end == NO_END else end


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
    panel.waiting |= reply.waiting
    if not reply.waiting:
        written.wanted = None
    if reply.value is not None:
        _append(written, reply.value, args)


def _append(written: Written, value: Continuation, args: dict[str, Any]) -> None:
    for token, p in zip(value.said, value.probabilities, strict=True):
        written.said.append(GeneratedToken(token, value.classes.index(token), p, args["temperature"]))
    written.why = stop_sentence(value.stopped, value.said, args["count"], args["end"], value.limit)


def _buttons(
    panel: InstrumentPanel, written: Written, found: Measured[Continuation] | None, args: dict[str, Any]
) -> None:
    """Buttons for one token, many, or none. Disabled while the net trains."""
    there = found is not None and found.step == written.step and bool(found.value.said)
    can = there and not panel.at.playing and written.wanted is None

    def one_more() -> None:
        assert found is not None
        _append(written, found.value, args | {"count": 1})

    def many() -> None:
        written.wanted = args

    def again() -> None:
        written.said, written.why, written.wanted = [], "", None

    with st.container(horizontal=True):
        label, icon = "Next token", ":material/keyboard_tab:"
        st.button(label, key=f"{NAME}_next", icon=icon, type="primary", on_click=one_more, disabled=not can)
        st.button("Generate", key=f"{NAME}_generate", icon=":material/fast_forward:", on_click=many, disabled=not can)
        st.button(
            "Back to the prompt", key=f"{NAME}_again", icon=":material/undo:", on_click=again, disabled=not written.said
        )
    if panel.at.playing:
        st.caption("Pause to let the net at this step continue the prompt.")


def _text(written: Written, next_one: Continuation | None = None) -> None:
    """The text, and why it ended. `next_one`: what comes next, once that is measured."""
    tokens = [one.token for one in written.said]
    st.code(whole(written.cfg, written.prompt, tokens), language=None, wrap_lines=True)
    count = counted(len(tokens), "token")
    began = f"At step {written.step} the net wrote {count} after the prompt. " if tokens else "This is the prompt. "
    nothing = stop_sentence(next_one.stopped, [], 1, "", next_one.limit) if next_one and not next_one.said else ""
    st.markdown(f"**{began}{written.why or nothing or 'Press Next token or Generate.'}**")


def _candidates(written: Written, next_one: Continuation, temperature: float, step: int) -> None:
    """The candidates for one of the text's tokens or the next, which was measured at `step`."""
    names = [f"{at}: {shown(one.token)}" for at, one in enumerate(written.said, start=1)]
    upcoming = [
        GeneratedToken(token, next_one.classes.index(token), p, temperature)
        for token, p in zip(next_one.said, next_one.probabilities, strict=True)
    ]
    every = [*written.said, *upcoming]
    if not every:
        return
    names += ["the next one"] * len(upcoming)
    key = f"{NAME}_looked_at_{len(every)}"
    at = st.selectbox(
        "Candidates for token", range(len(every)), index=len(every) - 1, format_func=names.__getitem__, key=key
    )
    one = every[int(at)]
    hot = tempered(one.p, one.temperature)
    static_chart(
        candidates_chart("Candidates", next_one.classes, one.p, hot, one.at), "Candidates", f"{NAME}_candidates"
    )
    verb, of = ("is", written.step) if at < len(written.said) else ("would be", step)
    st.markdown(
        f'"{shown(one.token)}" {verb} chosen: the net gives it {one.p[one.at]:.1%}; at temperature '
        f"{one.temperature:g} that becomes {hot[one.at]:.1%}. {badge('measured')} at step {of}."
    )
    if written.said:
        with st.popover("All generated tokens", key=f"{NAME}_all", icon=":material/table:"):
            named_table("Generated tokens", _rows(written.said), height=260)


def _rows(said: list[GeneratedToken]) -> dict[str, list[Any]]:
    return {
        "token": [shown(one.token) for one in said],
        "probability": [float(one.p[one.at]) for one in said],
        "at the temperature": [float(tempered(one.p, one.temperature)[one.at]) for one in said],
        "temperature": [one.temperature for one in said],
        "rank": [int((one.p > one.p[one.at]).sum()) + 1 for one in said],
    }
