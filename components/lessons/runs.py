"""A lesson's nets at work: one player over all of them, shared axes, and what the finished numbers say of the guess."""

import numpy as np
import streamlit as st

from components import compare_link, link, player, projector
from components.charts import Figure, Series, cosine_chart
from components.compare_charts import compared_losses, compared_profiles
from components.figures import enlarged
from components.hide import hidden
from components.labs.shown import badge
from components.lessons import progress
from components.picture import VERDICT_ICONS, chance
from components.playhead import Playhead
from components.view import PROFILE_SECONDS
from components.viewers import owner
from components.watch import all_diverged, crowded, going, tape_of, tick
from models.insight.bands import band
from models.insight.verdict import verdict
from models.lessons.lesson import Lesson
from models.service.client import Tape, trace_from, trainer
from models.trace import Trace

TITLES = {"act_rms": "Activation by depth", "grad_rms": "Gradient by depth", "sample_cosine": "Sample cosine by depth"}
ROLES = ("now", "other", "formula", "initial")


def watch(lesson: Lesson) -> tuple[bool, bool]:
    """The player, the charts of the step shown, and once all have been watched what happened; (waiting, playing)."""
    head = playhead(lesson)
    who = owner("lesson", *lesson.nets.values())
    tapes = [tape_of(cfg, head, who) for cfg in lesson.nets.values()]
    tick(head, tapes, player.now())
    count = {1: "", 2: " both", 3: " all three"}.get(len(tapes), " all four")
    player.controls(f"lesson_{lesson.key}", head, shared=count)
    with projector.line(f"lesson_{lesson.key}", head):
        _status(lesson, tapes, head)
    for name, tape in zip(lesson.nets, tapes, strict=True):
        if tape.error:
            st.error(f"{name}: {tape.error}")
    traces = [_trace(tape) for tape in tapes]
    there = [trace for trace in traces if trace is not None]
    if len(there) == len(tapes):
        _charts(lesson, there, head)
        if all(tape.done and head.furthest >= tape.length - 1 for tape in tapes):
            _happened(lesson, there)
    waiting = len(there) < len(tapes) or any(tape.length <= head.shown for tape in going(tapes) if head.shown)
    return waiting and not any(tape.error for tape in tapes), head.playing


def playhead(lesson: Lesson) -> Playhead:
    """This visitor's place in a lesson."""
    return player.playhead(f"lesson_{lesson.key}", *lesson.nets.values())


def reset(lesson: Lesson) -> None:
    """Back to the nets before training."""
    playhead(lesson).reset()


def lesson_chart(lesson: Lesson, kind: str, traces: list[Trace], head: Playhead) -> Figure:
    """One of a lesson's charts at the step shown: a key of TITLES, or "loss"."""
    names = [f"{letter} {name}" for letter, name in zip("ABCD", lesson.nets, strict=False)]
    if kind == "loss":
        return compared_losses(
            steps=max(cfg.steps for cfg in lesson.nets.values()),
            labels=names,
            bands=[band([trace.loss[: head.seen]], log=False) for trace in traces],
            divergences=[trace.divergence for trace in traces],
            chance=chance(next(iter(lesson.nets.values()))),
            shown_step=head.shown,
        )
    sites = max((trace.sites for trace in traces), key=len)
    if kind == "sample_cosine":
        series = [Series(name, _cosine(one, head), role) for name, one, role in zip(names, traces, ROLES, strict=False)]
        return cosine_chart(sites=sites, series=series)
    rows = [getattr(trace, kind)[min(head.shown, len(trace) - 1)] for trace in traces]
    return compared_profiles(title=TITLES[kind], sites=sites, labels=names, bands=[band([row]) for row in rows])


def _charts(lesson: Lesson, traces: list[Trace], head: Playhead) -> None:
    factor, height = (projector.FACTOR, projector.HEIGHT) if projector.on() else (1.0, 290)
    for column, kind in zip(st.columns(len(lesson.charts)), lesson.charts, strict=True):
        with column:
            figure = enlarged(lesson_chart(lesson, kind, traces, head), factor)
            projector.chart(figure, TITLES.get(kind, "Loss"), f"lesson_{lesson.key}_{kind}", height=height)
    for letter, (name, cfg), trace in zip("ABCD", lesson.nets.items(), traces, strict=False):
        said = verdict(cfg, trace, min(head.shown, len(trace) - 1))
        if not hidden("verdict"):
            st.markdown(f"{VERDICT_ICONS[said.kind]} **{letter} {name}** {said.sentence}")
    if hidden("export"):
        return
    query = compare_link.to_query(list(lesson.nets.values()), seeds=1)
    st.page_link(link.COMPARE, label="Open these nets in Compare", icon=":material/compare_arrows:", query_params=query)


def _happened(lesson: Lesson, traces: list[Trace]) -> None:
    """The finding, and whether the guess was right; the page is drawn again when that is new."""
    if hidden("answers"):
        st.info("The runs are over. This link keeps the answer back: what do the charts say of your guess?")
        return
    one, finding = progress.done(lesson.key), lesson.found(traces)
    new = one.right is None
    one.right = one.guess == finding.answer
    verdict_ = ":material/check_circle: Your guess was right" if one.right else ":material/cancel: Your guess was not so"
    st.subheader("What happened", anchor=False)
    st.markdown(f"**{finding.sentence}** {badge('measured')}")
    st.markdown(f"{verdict_}: you said *{one.guess}*, and the numbers say *{finding.answer}*.")
    if new:
        st.rerun()


def _trace(tape: Tape) -> Trace | None:
    """What is known of a run: its tape, or before that its profile at initialisation; None while that is computed."""
    if tape.length:
        return tape.trace()
    answer = trainer().ask("profile", tape.cfg, wait=PROFILE_SECONDS)
    return trace_from(answer.value) if answer is not None and answer.value is not None else None


def _cosine(trace: Trace, head: Playhead) -> np.ndarray:
    frame = trace.frame_at(min(head.shown, len(trace) - 1))
    return frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)


def _status(lesson: Lesson, tapes: list[Tape], head: Playhead) -> None:
    status = trainer().status()
    if status.state != "ready":
        st.caption(status.sentence)
        return
    rate = sum(tape.rate for tape in tapes if not tape.done)
    speed = f" · {rate:.3g} steps/s" if rate else ""
    facts = [f"step {head.shown} of {head.steps}{speed}", "1 seed, same batches"]
    facts += [*all_diverged(head, dict(zip(lesson.nets, tapes, strict=True))), *crowded(*tapes), badge("measured")]
    st.caption(" · ".join(facts))
