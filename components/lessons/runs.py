"""A lesson's nets at work: one player over all of them, shared axes, and what the finished numbers say of the guess."""

import secrets

import streamlit as st

from components.charts.parts import Figure, enlarged
from components.lessons import progress
from components.shell import compare_link, link, projector
from components.shell.hide import hidden
from components.shell.naming import chance
from components.shell.text import badge
from components.stage import figures
from components.stage.panels import COLUMNS, Chart, Headline, Panel
from components.stage.stage import stage
from models.lessons.lesson import Lesson
from models.service.client import Tape, trainer
from models.spec import plan

TITLES = {
    "act_rms": "Activation by depth",
    "grad_rms": "Gradient by depth",
    "sample_cosine": "Sample cosine by depth",
    "loss": "Loss",
}
COUNTS = {1: "", 2: " both", 3: " all three", 4: " all four"}


def watch(lesson: Lesson) -> bool:
    """The player and the charts, and once all nets have been watched to the end what happened; whether rows are awaited."""
    nets = list(lesson.nets.values())
    at = stage(
        f"lesson_{lesson.key}",
        nets,
        _panels(lesson),
        shared=COUNTS[len(nets)],
        names=list(lesson.nets),
        keys=projector.HINT if projector.on() else "",
        reset=st.session_state.get(_reset(lesson), ""),
        facts=["1 seed, same batches"],
    )
    if not hidden("export"):
        query = compare_link.to_query(nets, seeds=1)
        st.page_link(link.COMPARE, label="Open these nets in Compare", icon=":material/compare_arrows:", query_params=query)
    one, tapes = progress.done(lesson.key), [trainer().tape(cfg) for cfg in nets]
    one.watched |= watched(at.step, tapes)
    if one.watched and all(tape.done for tape in tapes):
        _happened(lesson, tapes)
    return awaited(at.step, tapes)


def watched(step: int, tapes: list[Tape]) -> bool:
    """Whether a playhead that rests at a step has come to the end of all tapes."""
    return all(tape.done for tape in tapes) and step >= max(tape.length for tape in tapes) - 1


def awaited(step: int, tapes: list[Tape]) -> bool:
    """Whether a playhead rests where its rows are still to come."""
    return any(step >= tape.length and not (tape.done or tape.error) for tape in tapes if step)


def reset(lesson: Lesson) -> None:
    """Back to the nets before training."""
    st.session_state[_reset(lesson)] = secrets.token_hex(8)


def lesson_chart(lesson: Lesson, kind: str) -> Figure:
    """One of a lesson's charts: a key of TITLES."""
    nets = list(lesson.nets.values())
    names = [f"{letter} {name}" for letter, name in zip("ABCD", lesson.nets, strict=False)]
    if kind == "loss":
        return figures.losses(names, steps=max(cfg.steps for cfg in nets), chance=chance(nets[0]))
    sites = max((plan(cfg).sites for cfg in nets), key=len)
    return figures.cosines(sites, names) if kind == "sample_cosine" else figures.profiles(TITLES[kind], kind, sites, names)


def _reset(lesson: Lesson) -> str:
    return f"lesson_{lesson.key}_reset"


def _panels(lesson: Lesson) -> list[Panel]:
    """The charts side by side, and what the app says of each net unless that is hidden."""
    factor, height = (projector.FACTOR, projector.HEIGHT) if projector.on() else (1.0, 290)
    span = COLUMNS // len(lesson.charts)
    panels: list[Panel] = [
        Chart(TITLES[kind], span=span, figure=enlarged(lesson_chart(lesson, kind), factor), height=height)
        for kind in lesson.charts
    ]
    if not hidden("verdict"):
        named = zip("ABCD", lesson.nets, strict=False)
        panels += [Headline(f"Verdict of {name}", run, label=f"{letter} {name}") for run, (letter, name) in enumerate(named)]
    return panels


def _happened(lesson: Lesson, tapes: list[Tape]) -> None:
    """The finding, and whether the guess was right; the page is drawn again when that is new."""
    if hidden("answers"):
        st.info("The runs are over. This link keeps the answer back: what do the charts say of your guess?")
        return
    one, finding = progress.done(lesson.key), lesson.found([trace for tape in tapes for trace in tape.traces()])
    new = one.right is None
    one.right = one.guess == finding.answer
    right = f":material/check_circle: Your guess was right: *{finding.answer}*."
    wrong = f":material/cancel: Not quite: it was *{finding.answer}*, and you said *{one.guess}*."
    st.subheader("What happened", anchor=False)
    st.markdown(f"**{finding.sentence}** {badge('measured')}")
    st.markdown(right if one.right else wrong)
    if new:
        st.rerun()
