"""A prompt, and the net that continues it: one token at a
press or many, with the candidates that each was chosen from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import streamlit as st

from components.instruments.lens import TEXTS
from components.instruments.panel import WAIT_SECONDS, Measured, Panel
from components.labs.autoregression.charts import candidates_chart
from components.labs.autoregression.examples import NO_END, Example
from components.labs.autoregression.words import reading_notes, stop_sentence
from components.shell import session
from components.shell.address import kept
from components.shell.text import badge, drawn, listed
from components.stage.view import sentence
from models import answers
from models.answers import Continuation
from models.insight.lens import shown, tempered
from models.service.client import trainer
from models.service.spoken import PROMPT, SETTINGS, spoken
from models.spec import TASKS, RunConfig

NAME = "autoregression"
LONGEST_PROMPT = 500
ENDS = (".", "\n", " ", ",", "!", "?")  # of a text; of a sequence any symbol
TEMPERATURES, SEEDS, LENGTHS = (0.0, 5.0), (0, 10**6), (1, 200)


@dataclass(frozen=True)
class Said:
    """One token that was said: which, out of which probabilities
    (C,), at which temperature, by the net of which step.
    """

    token: str
    at: int
    p: np.ndarray
    temperature: float
    step: int


@dataclass
class Written:
    """What was said after a prompt by a net; `why` it stopped last; `wanted` is what it is asked for now."""

    cfg: RunConfig
    prompt: str
    said: list[Said] = field(default_factory=list)
    classes: Sequence[str] = ()
    why: str = ""
    wanted: tuple[int, dict[str, Any]] | None = None  # of the step, with the arguments of the question


def control(name: str, default: Any, task: str = "", **legal: Any) -> dict[str, Any]:
    """As `address.kept`, for a control of this page. `task`: whose it is, where every task has its own."""
    key, short = (joint.join(filter(None, parts)) for joint, parts in (("_", (NAME, name, task)), ("-", (name, task))))
    return kept(key, default, name=short, **legal)


def adopt(task: str, example: Example) -> None:
    """Takes the prompt, and how it is continued, from the address: before the net is there to draw their controls."""
    own = example.task == task
    control("prompt", example.prompt if own else TEXTS[task], task, bounds=(0, LONGEST_PROMPT))
    control("temperature", example.temperature, bounds=TEMPERATURES)
    control("seed", 0, bounds=SEEDS)
    control("length", example.length, bounds=LENGTHS)
    control("end", example.end if own else NO_END, task, among=_ends(task))


def draw(panel: Panel) -> tuple[str, int] | None:
    """The prompt and everything said after it; the text that the
    net reads now and its tokens, None while that is unknown.
    """
    cfg = panel.cfg
    st.subheader("The net continues your prompt", anchor=False)
    prompt = _prompt(cfg)
    temperature, seed, length, end = _settings(cfg)
    written = session.WRITTEN.get()
    if written is None or (written.cfg, written.prompt) != (cfg, prompt):
        written = Written(cfg, prompt)
        session.WRITTEN.put(written)
    settings: dict[str, Any] = {"temperature": temperature, "seed": seed, "end": end}
    _generated(panel, written)
    text = whole(cfg, prompt, [one.token for one in written.said])
    found = panel.ask(answers.CONTINUATION, text=text, count=1, **settings)
    fresh = found is not None and found.cfg == cfg and found.args == {"text": text, "count": 1, **settings}
    _buttons(panel, written, found if fresh else None, {"text": text, "count": length, **settings})
    if found is None or not fresh:
        return None
    next_one = found.value
    written.classes = next_one.classes
    if not panel.step and not written.said and (told := _recorded(written, settings)):
        st.markdown(
            f"**Recorded: what this net says once it has been trained for {cfg.steps} steps.** Before that it knows no "
            "letter from another; train it, and it goes on from here itself."
        )
        _said(
            told,
            replace(next_one, said=(), probabilities=next_one.probabilities[:0]),
            temperature,
            cfg.steps,
            "recorded",
        )
        return whole(cfg, "", next_one.read), len(next_one.read)
    for line in reading_notes(next_one.unknown, next_one.cut, next_one.limit, _slides(cfg)):
        st.info(line)
    _said(written, next_one, temperature, found.step)
    return whole(cfg, "", next_one.read), len(next_one.read)


def _recorded(written: Written, settings: dict[str, Any]) -> Written | None:
    """What the net of a prompt said when it was recorded, under
    the same settings but for the end; None where it was not.
    """
    found = spoken()
    same = found is not None and (found.cfg, PROMPT) == (written.cfg, written.prompt)
    if found is None or not same or any(settings[name] != SETTINGS[name] for name in ("temperature", "seed")):
        return None
    told = Written(written.cfg, written.prompt, classes=found.value.classes)
    _append(told, found.value, {**settings, "count": SETTINGS["count"]}, found.cfg.steps)
    return told


def whole(cfg: RunConfig, prompt: str, tokens: Sequence[str]) -> str:
    """A prompt and what was said after it, as one text."""
    return prompt + "".join(tokens) if _slides(cfg) else " ".join([*prompt.split(), *tokens])


def _slides(cfg: RunConfig) -> bool:
    """Whether a text of this task has no end: the net then reads a window of it."""
    return TASKS[cfg.task].kind == "text"


def _prompt(cfg: RunConfig) -> str:
    key = f"{NAME}_prompt_{cfg.task}"
    ways = "characters, ↵ for a new line" if _slides(cfg) else "symbols as numbers with spaces between"
    typed = st.text_input(f"Prompt: {ways}", key=key, max_chars=LONGEST_PROMPT, persist_state="session")
    return str(typed).replace("↵", "\n")


def _settings(cfg: RunConfig) -> tuple[float, int, int, str]:
    """Temperature, seed of the draws, length and end symbol ("" is none)."""
    one, two, three, four = st.columns(4)
    fixed: dict[str, Any] = {"persist_state": "session"}
    tip = "0: the most probable token. Above: a draw from p^(1/temperature), over its sum."
    temperature = one.number_input("Temperature", *TEMPERATURES, step=0.1, key=f"{NAME}_temperature", help=tip, **fixed)
    tip = (
        "Token t is drawn with random number t of this seed: the same seed says the same again. Idle at temperature 0."
    )
    seed = two.number_input("Seed of the draws", *SEEDS, step=1, key=f"{NAME}_seed", help=tip, **fixed)
    length = three.number_input(
        "Length", *LENGTHS, step=1, key=f"{NAME}_length", help="Tokens of one press of Generate.", **fixed
    )
    key, tip = f"{NAME}_end_{cfg.task}", "Generating stops after this token, if the length is not reached before."
    end = four.selectbox("End symbol", _ends(cfg.task), key=key, format_func=shown, help=tip, **fixed)
    return round(float(temperature), 3), int(seed), int(length), "" if end == NO_END else str(end)


def _ends(task: str) -> tuple[str, ...]:
    """What generating may stop after."""
    return NO_END, *(ENDS if TASKS[task].kind == "text" else map(str, range(TASKS[task].vocabulary)))


def _generated(panel: Panel, written: Written) -> None:
    """Takes over what was asked for by Generate, when it is there."""
    if written.wanted is None:
        return
    step, args = written.wanted
    answer = trainer().ask(
        answers.CONTINUATION, panel.cfg, wait=WAIT_SECONDS, owner=panel.owner("generate"), step=step, **args
    )
    if answer is None:
        panel.waiting = True
        st.progress(min(1.0, trainer().share(answers.CONTINUATION, panel.cfg, step=step, **args)), text="Generating")
        return
    written.wanted = None
    if answer.value is None:
        st.error(sentence(answer.error))
    else:
        _append(written, answer.value, args, step)


def _append(written: Written, value: Continuation, args: dict[str, Any], step: int) -> None:
    for token, p in zip(value.said, value.probabilities, strict=True):
        written.said.append(Said(token, value.classes.index(token), p, args["temperature"], step))
    written.why = stop_sentence(value.stopped, value.said, args["count"], args["end"], value.limit)


def _buttons(panel: Panel, written: Written, found: Measured[Continuation] | None, args: dict[str, Any]) -> None:
    """One token, many, or all of them taken back. While the net trains it is not asked to speak."""
    there = found is not None and found.step == panel.step and bool(found.value.said)
    can = there and not panel.at.playing and written.wanted is None

    def one_more() -> None:
        assert found is not None
        _append(written, found.value, args | {"count": 1}, found.step)

    def many() -> None:
        written.wanted = (panel.step, args)

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
        st.caption("Pause, and the net of the step shown continues the text.")


def _said(written: Written, next_one: Continuation, temperature: float, step: int, source: str = "measured") -> None:
    """The text, why it ended, and the candidates of one of its tokens or of the next. `source`: a badge."""
    tokens = [one.token for one in written.said]
    st.code(whole(written.cfg, written.prompt, tokens), language=None, wrap_lines=True)
    began = f"{len(tokens)} of its tokens are the net's. " if tokens else "All of it is the prompt. "
    nothing = stop_sentence(next_one.stopped, [], 1, "", next_one.limit) if not next_one.said else ""
    st.markdown(f"**{began}{written.why or nothing or 'Nothing was asked for yet.'}**")
    names = [f"{at}: {shown(one.token)}" for at, one in enumerate(written.said, start=1)]
    upcoming = [
        Said(token, next_one.classes.index(token), p, temperature, step)
        for token, p in zip(next_one.said, next_one.probabilities, strict=True)
    ]
    every = [*written.said, *upcoming]
    if not every:
        return
    names += ["the next one"] * len(upcoming)
    key = f"{NAME}_looked_at_{len(every)}"
    at = st.selectbox(
        "Candidates of token", range(len(every)), index=len(every) - 1, format_func=names.__getitem__, key=key
    )
    one = every[int(at)]
    hot = tempered(one.p, one.temperature)
    verb = "is" if at < len(written.said) else "would be"
    st.markdown(
        f'"{shown(one.token)}" {verb} said: {one.p[one.at]:.1%} as the net says, {hot[one.at]:.1%} at temperature '
        f"{one.temperature:g}. {badge(source)}, at step {one.step}."
    )
    drawn(candidates_chart("Candidates", next_one.classes, one.p, hot, one.at), "Candidates", f"{NAME}_candidates")
    if written.said:
        with st.popover("All tokens said", key=f"{NAME}_all", icon=":material/table:"):
            listed("Tokens said", _rows(written.said), height=260)


def _rows(said: list[Said]) -> dict[str, list[Any]]:
    return {
        "token": [shown(one.token) for one in said],
        "probability": [float(one.p[one.at]) for one in said],
        "at the temperature": [float(tempered(one.p, one.temperature)[one.at]) for one in said],
        "temperature": [one.temperature for one in said],
        "rank": [int((one.p > one.p[one.at]).sum()) + 1 for one in said],
        "step of the net": [one.step for one in said],
    }
