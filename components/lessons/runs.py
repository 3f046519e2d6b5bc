"""A lesson's nets: one player for all of them, shared axes, and whether the guess was right."""

import secrets

import streamlit as st

from components.charts import figures
from components.charts.parts import Figure, enlarged
from components.lessons import progress
from components.shell import projector
from components.shell.hide import any_hidden, hidden
from components.shell.naming import chance
from components.shell.session import Key
from components.shell.text import badge, explained
from components.shell.ways_on import to_compare
from components.stage.panels import COLUMNS, Chart, Headline, Panel
from components.stage.stage import stage
from components.stage.view import look
from models.lessons.lesson import Finding, Lesson
from models.service.client import RunHistory, trainer
from models.spec import plan

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
    at = stage(
        f"lesson_{lesson.key}",
        nets,
        _panels(lesson),
        shared=COUNTS[len(nets)],
        names=list(lesson.nets),
        keys=projector.HINT if projector.on() else "",
        reset=LESSON_RESET.of(lesson.key).get(),
        start=start,
        facts=["1 seed, same batches"],
    )
    if not any_hidden(("export", "answers")):  # Compare shows the verdicts
        to_compare(nets)
    one, tapes = progress.done(lesson.key), [trainer().tape(cfg) for cfg in nets]
    if not one.watched and watched(at.step, tapes):
        one.watched = True
        st.rerun()
    return awaited(at.step, tapes)


def watched(step: int, tapes: list[RunHistory]) -> bool:
    """Whether a playhead at a step has reached the end of all tapes."""
    return all(tape.done for tape in tapes) and step >= max(tape.rest for tape in tapes)


def awaited(step: int, tapes: list[RunHistory]) -> bool:
    """Whether a playhead rests at a step whose rows are still to come."""
    return any(step >= tape.length and not (tape.done or tape.error) for tape in tapes if step)


def reset(lesson: Lesson) -> None:
    """Returns the player to the untrained nets."""
    LESSON_RESET.of(lesson.key).put(secrets.token_hex(8))


def lesson_chart(lesson: Lesson, kind: str) -> Figure:
    """One of a lesson's charts: a key of TITLES."""
    nets = list(lesson.nets.values())
    names = [f"{letter} {name}" for letter, name in zip("ABCD", lesson.nets, strict=False)]
    if kind == "loss":
        return figures.losses(names, steps=max(cfg.steps for cfg in nets), chance=chance(nets[0]))
    sites = max((plan(cfg).sites for cfg in nets), key=len)
    if kind == "sample_cosine":
        return figures.cosines(sites, names, start=True)
    return figures.profiles(TITLES[kind], kind, sites, names, start=True)


def _panels(lesson: Lesson) -> list[Panel]:
    """The charts side by side, and each net's verdict unless hidden."""
    factor, height = (projector.FACTOR, projector.HEIGHT) if projector.on() else (1.0, 250)
    wide = COLUMNS // (len(lesson.charts) if projector.on() else 2)
    panels: list[Panel] = [
        Chart(TITLES[kind], span=span, figure=enlarged(lesson_chart(lesson, kind), factor), height=height)
        for kind, span in zip(lesson.charts, (wide if projector.on() else COLUMNS, wide, wide), strict=False)
    ]
    if not any_hidden(("verdict", "answers")):  # a verdict says which nets learn and why
        named = zip("ABCD", lesson.nets, strict=False)
        panels += [
            Headline(f"Verdict of {name}", run, label=f"{letter} {name}") for run, (letter, name) in enumerate(named)
        ]
    return panels


def unmeasured(lesson: Lesson) -> bool:
    """Whether the guess could be answered by the nets before training, which are not measured yet."""
    return lesson.before is not None and any(look(cfg)[0] is None for cfg in lesson.nets.values())


def happened(lesson: Lesson, *, everybody: bool = False) -> None:
    """The finding, and whether the guess was right: once all nets have been watched to the end, or before training if
    that is what the question is about. `everybody`: also for who has not guessed.
    """
    one, tapes = progress.done(lesson.key), [trainer().tape(cfg) for cfg in lesson.nets.values()]
    if not one.guess and not everybody:
        return
    if not one.watched or not all(tape.done for tape in tapes):
        _so_far(lesson, everybody=everybody)
    elif hidden("answers"):
        st.info("The runs are over. This link hides the answer: do the charts support your guess?")
    else:
        _judge(lesson, "What happened", lesson.found([trace for tape in tapes for trace in tape.traces()]))


def _so_far(lesson: Lesson, *, everybody: bool) -> None:
    if hidden("answers"):
        return
    if lesson.before is None:
        st.caption("Once the nets are trained to the end, their numbers answer your guess.")
        return
    views = [view for cfg in lesson.nets.values() if (view := look(cfg)[0])]
    if len(views) == len(lesson.nets):
        _judge(lesson, "Before training", lesson.before([view.trace for view in views]))
        if not everybody:  # whose nets play by themselves
            st.caption("Train the nets to the end to see what becomes of them, and why.")


def _judge(lesson: Lesson, heading: str, finding: Finding) -> None:
    one = progress.done(lesson.key)
    one.right = one.guess == finding.answer if one.guess else None
    right = f":material/check_circle: Your guess was right: *{finding.answer}*."
    wrong = f":material/cancel: Not quite: it was *{finding.answer}*, and you said *{one.guess}*."
    st.subheader(heading, anchor=False)
    st.markdown(right if one.right else wrong if one.guess else f"It was *{finding.answer}*.")
    st.markdown(f"**{explained(finding.sentence)}** {badge('measured')}")
