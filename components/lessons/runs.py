"""A lesson's runs: one player for all nets, charts on shared axes, and whether the guess was right."""

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
from components.player.view import views_at
from components.shell import projector
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.page_links import link_to_compare
from components.shell.session import Key
from components.shell.text import badge, with_explained_words
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
CHART_HEIGHT = 250  # pixels
PATHS_HEIGHT = 200  # pixels, of the sample paths beside the loss
LOSS_SPAN = 5  # columns; the sample paths beside the loss take the others
TRAIN_LABELS = {1: "", 2: " both", 3: " all three", 4: " all four"}  # after Train, by number of nets

LESSON_RESET = Key("lesson_{}_reset", "")  # a random token per reset


def draw_player(lesson: Lesson, start: str = "") -> bool:
    """Draws player and charts; reruns the page when the playhead first reaches the end of all runs.

    Plays by itself once for each value of `start`. Returns whether the playhead waits for rows.
    """
    nets = list(lesson.nets.values())
    step = player(
        f"lesson_{lesson.key}",
        nets,
        _panels(lesson),
        scope=TRAIN_LABELS[len(nets)],
        names=[*lesson.nets],
        keys=projector.PLAYER_KEYS_HINT if projector.is_on() else "",
        reset=LESSON_RESET.of(lesson.key).get(),
        start=start,
        facts=["1 seed, same batches"],
    ).step
    if not any_hidden(("export", "answers")):  # Compare shows the verdicts
        link_to_compare(nets)
    lesson_progress = progress.progress_of(lesson.key)
    logs = [trainer().log(cfg) for cfg in nets]
    if not lesson_progress.watched and is_at_end(step, logs):
        lesson_progress.watched = True
        st.rerun()
    return is_waiting_for_rows(step, logs)


def is_at_end(step: int, logs: list[RequestedLog]) -> bool:
    """Whether a playhead has reached the end of all logs."""
    return all(log.done for log in logs) and step >= max(log.last_step for log in logs)


def is_waiting_for_rows(step: int, logs: list[RequestedLog]) -> bool:
    """Whether a playhead rests at a step that a log does not have yet."""
    return any(step >= log.length and not (log.done or log.error) for log in logs if step)


def reset(lesson: Lesson) -> None:
    """Returns the player to the untrained nets."""
    LESSON_RESET.of(lesson.key).put(secrets.token_hex(8))


def lesson_chart(lesson: Lesson, kind: str) -> Figure:
    """A chart of all nets of a lesson; `kind` is a key of TITLES."""
    nets, names = list(lesson.nets.values()), list(nets_by_label(lesson))
    if kind == "loss":
        return figures.losses(names, steps=max(cfg.steps for cfg in nets), task=nets[0].task)
    sites = max((plan(cfg).sites for cfg in nets), key=len)
    if kind == "sample_cosine":
        return figures.cosines(sites, names, start=True)
    return figures.profiles(TITLES[kind], kind, sites, names, start=True)


def nets_by_label(lesson: Lesson) -> dict[str, RunConfig]:
    """A lesson's nets by the label that the page shows for them: a letter and the name."""
    return {f"{letter} {name}": cfg for letter, (name, cfg) in zip("ABCD", lesson.nets.items(), strict=False)}


def draw_sample_paths(lesson: Lesson) -> None:
    """Draws the paths of ten samples through the nets at full width, apart from the player's other panels."""
    panel = _sample_paths(lesson, COLUMNS, CHART_HEIGHT)
    panels_below(f"lesson_{lesson.key}", "samples", [panel], runs=len(lesson.nets))


def _sample_paths(lesson: Lesson, span: int, height: int) -> SamplePaths:
    return SamplePaths(
        TEXTS("samples"),
        span=span,
        runs=tuple(range(len(lesson.nets))),
        labels=list(nets_by_label(lesson)),
        height=height,
    )


def _panels(lesson: Lesson) -> list[Panel]:
    """Sample paths beside the loss, the other charts, and each net's verdict unless hidden.

    A projector has the charts alone, side by side, below `draw_sample_paths`.
    """
    is_projected = projector.is_on()
    charts_per_row = len(lesson.charts) if is_projected else 2
    charts = {
        kind: Chart(
            TITLES[kind],
            span=COLUMNS // charts_per_row,
            figure=scaled_figure(lesson_chart(lesson, kind), projector.CHART_SCALE if is_projected else 1.0),
            height=projector.FULL_CHART_HEIGHT if is_projected else CHART_HEIGHT,
        )
        for kind in lesson.charts
    }
    upper: list[Panel] = []
    if not is_projected:
        upper.append(_sample_paths(lesson, COLUMNS - LOSS_SPAN, PATHS_HEIGHT))
        upper.append(replace(charts.pop("loss"), span=LOSS_SPAN))
    shows_verdicts = not any_hidden(("verdict", "answers"))  # a verdict says which nets learn and why
    labels = list(nets_by_label(lesson)) if shows_verdicts else []
    verdicts = [Headline(f"Verdict of {label[2:]}", run, label=label) for run, label in enumerate(labels)]
    return [*upper, *charts.values(), *verdicts]


def is_unmeasured(lesson: Lesson) -> bool:
    """Whether the untrained nets answer the question but are not measured yet."""
    return bool(lesson.early_text) and any(view is None for view, _ in views_at(list(lesson.nets.values())))


def draw_finding(lesson: Lesson, finding: Finding | None, *, in_class: bool = False) -> None:
    """Draws the finding, and whether a guess was right; nothing before a guess, outside of a class."""
    is_shown = progress.ANSWER_SHOWN.of(lesson.key).get()
    if not (progress.progress_of(lesson.key).guess or is_shown or in_class):
        return
    is_over = _is_over(lesson)
    if is_hidden("answers"):
        if is_over:
            st.info(TEXTS("answer hidden"))
    elif finding:
        _draw_answer(lesson, TEXTS("what happened") if is_over else TEXTS("before training"), finding)
    if not (is_over or in_class or is_hidden("answers")):  # nets of a class play by themselves
        st.caption(TEXTS("train to see") if lesson.early_text else TEXTS("train to check"))


def visible_finding(lesson: Lesson) -> Finding | None:
    """The finding: of the trained nets once this visitor has watched them, until then of the untrained ones.

    None if there is none yet, or if a link hides it.
    """
    return None if is_hidden("answers") else answers.finding(lesson, trained=progress.progress_of(lesson.key).watched)


def _is_over(lesson: Lesson) -> bool:
    logs = [trainer().log(cfg) for cfg in lesson.nets.values()]
    return progress.progress_of(lesson.key).watched and all(log.done for log in logs)


def _draw_answer(lesson: Lesson, heading: str, finding: Finding) -> None:
    """Draws the answer beside the guess, and stores whether the guess was right."""
    lesson_progress = progress.progress_of(lesson.key)
    guess, answer = lesson_progress.guess, finding.answer
    if not guess:
        lesson_progress.right = None
        sentence = TEXTS("answer", answer=answer)
    elif guess == finding.answer:
        lesson_progress.right = True
        sentence = TEXTS("right", answer=answer)
    else:
        lesson_progress.right = False
        sentence = TEXTS("wrong", guess=guess, answer=answer)
    st.subheader(heading, anchor=False)
    st.markdown(sentence)
    st.markdown(f"**{with_explained_words(finding.sentence)}** {badge('measured')}")
