"""A lesson's nets: one player for all of them, shared axes, and whether the guess was right."""

import secrets
from dataclasses import replace

import streamlit as st

from addnorm.player.declare import COLUMNS, Chart, Headline, Panel, SamplePaths
from components.charts import figures
from components.charts.parts import Figure, scaled_figure
from components.classroom import answers
from components.lessons import progress
from components.lessons.progress import TEXTS
from components.player.page import panels_below, player
from components.player.view import view_at
from components.shell import projector
from components.shell.hide import any_hidden, hidden
from components.shell.session import Key
from components.shell.text import badge, explained
from components.shell.ways_on import to_compare
from models.experiment import Finding
from models.lessons.lessons import Lesson
from models.service.client import RequestedLog, trainer
from models.spec import RunConfig, plan

TITLES = {
    "act_rms": "Signal by depth",
    "grad_rms": "Gradient by depth",
    "sample_cosine": "Sample cosine by depth",
    "loss": "Loss",
}
COUNTS = {1: "", 2: " both", 3: " all three", 4: " all four"}

LESSON_RESET = Key("lesson_{}_reset", "")


def watch(lesson: Lesson, start: str = "") -> bool:
    """The player and the charts; redraws the page once all nets were watched to the end. Returns whether rows are
    awaited. `start`: plays by itself, once for each.
    """
    nets = list(lesson.nets.values())
    at = player(
        f"lesson_{lesson.key}",
        nets,
        _panels(lesson),
        scope=COUNTS[len(nets)],
        names=[lesson.word(name) for name in lesson.nets],
        keys=projector.HINT if projector.is_on() else "",
        reset=LESSON_RESET.of(lesson.key).get(),
        start=start,
        facts=["1 seed, same batches"],
    )
    if not any_hidden(("export", "answers")):  # Compare shows the verdicts
        to_compare(nets)
    one, logs = progress.done(lesson.key), [trainer().log(cfg) for cfg in nets]
    if not one.watched and watched(at.step, logs):
        one.watched = True
        st.rerun()
    return awaited(at.step, logs)


def watched(step: int, logs: list[RequestedLog]) -> bool:
    """Whether a playhead at a step has reached the end of all logs."""
    return all(log.done for log in logs) and step >= max(log.rest for log in logs)


def awaited(step: int, logs: list[RequestedLog]) -> bool:
    """Whether a playhead rests at a step whose rows are still to come."""
    return any(step >= log.length and not (log.done or log.error) for log in logs if step)


def reset(lesson: Lesson) -> None:
    """Returns the player to the untrained nets."""
    LESSON_RESET.of(lesson.key).put(secrets.token_hex(8))


def lesson_chart(lesson: Lesson, kind: str) -> Figure:
    """One of a lesson's charts: a key of TITLES."""
    nets, names = list(lesson.nets.values()), list(lettered(lesson))
    if kind == "loss":
        return figures.losses(names, steps=max(cfg.steps for cfg in nets), task=nets[0].task)
    sites = max((plan(cfg).sites for cfg in nets), key=len)
    if kind == "sample_cosine":
        return figures.cosines(sites, names, start=True)
    return figures.profiles(TITLES[kind], kind, sites, names, start=True)


def lettered(lesson: Lesson) -> dict[str, RunConfig]:
    """A lesson's nets, in one order and by one name wherever the page shows them."""
    return {
        f"{letter} {lesson.word(name)}": cfg for letter, (name, cfg) in zip("ABCD", lesson.nets.items(), strict=False)
    }


def samples(lesson: Lesson) -> None:
    """The way of ten samples through the nets, apart from the charts of `watch`."""
    panels_below(f"lesson_{lesson.key}", "samples", [_sample_paths(lesson, COLUMNS, 250)], runs=len(lesson.nets))


def _sample_paths(lesson: Lesson, span: int, height: int) -> SamplePaths:
    return SamplePaths(
        TEXTS("samples"),
        span=span,
        runs=tuple(range(len(lesson.nets))),
        labels=list(lettered(lesson)),
        height=height,
    )


def _panels(lesson: Lesson) -> list[Panel]:
    """The way of ten samples with the loss beside it, the other charts, and each net's verdict unless hidden. On a
    projector the charts alone, side by side: `samples` stand above them.
    """
    large = projector.is_on()
    charts = {
        kind: Chart(
            TITLES[kind],
            span=COLUMNS // (len(lesson.charts) if large else 2),
            figure=scaled_figure(lesson_chart(lesson, kind), projector.FACTOR if large else 1.0),
            height=projector.HEIGHT if large else 250,
        )
        for kind in lesson.charts
    }
    upper = [] if large else [_sample_paths(lesson, COLUMNS - 5, 200), replace(charts.pop("loss"), span=5)]
    with_verdict = not any_hidden(("verdict", "answers"))  # a verdict says which nets learn and why
    named = enumerate(lettered(lesson)) if with_verdict else ()
    return [*upper, *charts.values(), *(Headline(f"Verdict of {name[2:]}", run, label=name) for run, name in named)]


def unmeasured(lesson: Lesson) -> bool:
    """Whether the guess could be answered by the nets before training, which are not measured yet."""
    return bool(lesson.early) and any(view_at(cfg)[0] is None for cfg in lesson.nets.values())


def happened(lesson: Lesson, finding: Finding | None, *, everybody: bool = False) -> None:
    """What was `found`, and whether the guess was right. `everybody`: also for who has not guessed."""
    if not progress.done(lesson.key).guess and not everybody:
        return
    over = _over(lesson)
    if hidden("answers"):
        if over:
            st.info(TEXTS("answer hidden"))
    elif finding:
        _judge(lesson, TEXTS("what happened") if over else TEXTS("before training"), finding)
    if not (over or everybody or hidden("answers")):  # nets of a class play by themselves
        st.caption(TEXTS("train to see") if lesson.early else TEXTS("train to check"))


def finding(lesson: Lesson) -> Finding | None:
    """What the nets have shown to whoever watches them; None while that is nothing, or hidden."""
    return None if hidden("answers") else answers.finding(lesson, trained=progress.done(lesson.key).watched)


def _over(lesson: Lesson) -> bool:
    logs = [trainer().log(cfg) for cfg in lesson.nets.values()]
    return progress.done(lesson.key).watched and all(log.done for log in logs)


def _judge(lesson: Lesson, heading: str, finding: Finding) -> None:
    one = progress.done(lesson.key)
    one.right = one.guess == finding.answer if one.guess else None
    answer = lesson.word(finding.answer)
    wrong = TEXTS("wrong", guess=lesson.word(one.guess), answer=answer)
    st.subheader(heading, anchor=False)
    st.markdown(TEXTS("right", answer=answer) if one.right else wrong if one.guess else TEXTS("answer", answer=answer))
    st.markdown(f"**{explained(finding.sentence)}** {badge('measured')}")
