"""A challenge: its task, an attempt (set here, pasted or from the playground), and the verdict on its numbers."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import streamlit as st

from addnorm.player.declare import COLUMNS, Chart
from components.charts import figures
from components.controls import settled
from components.controls.field import field
from components.lessons import progress, runs
from components.lessons.progress import TEXTS
from components.player.page import player
from components.player.view import as_sentence
from components.shell import waiting
from components.shell.session import Key
from components.shell.ways_on import to_playground
from models.lessons.challenges import check, out_of_bounds
from models.lessons.lessons import Lesson
from models.service.client import RequestedLog, trainer
from models.spec import RunConfig
from models.spec.budget import over_budget

LONGEST = 4000  # characters of a pasted link

ATTEMPT = Key("{}_configuration", RunConfig())  # by the name of a lesson's attempt
ATTEMPT_PROBLEM = Key("{}_problem", "")
ATTEMPT_WATCHED: Key[RunConfig | None] = Key("{}_watched", None)


def draw(lesson: Lesson) -> None:
    """The challenge and the attempt at it."""
    one, name = lesson.challenge, f"attempt_{lesson.key}"
    if not ATTEMPT.of(name).there:
        ATTEMPT.of(name).put(one.base)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.subheader(TEXTS("challenge"), anchor=False)
        st.markdown(f"**{one.text}**")
        _fields(lesson)
        with st.expander(TEXTS("bring")):
            _brought(lesson)
    cfg = ATTEMPT.of(name).get()
    with right:
        if problem := ATTEMPT_PROBLEM.of(name).pop():
            st.error(problem)
        astray = out_of_bounds(one, cfg)
        for sentence in astray:
            st.warning(sentence)
        if refusal := over_budget(cfg):
            st.error(refusal)
        elif not astray:
            waiting.poll_while(name, lambda: _watch(lesson, cfg))


def from_text(text: str) -> tuple[RunConfig, list[str]]:
    """The configuration in a pasted address or its query, with notes on what was corrected."""
    query = urlsplit(text.strip()).query or text.strip().removeprefix("?")
    return RunConfig.from_query(dict(parse_qsl(query, keep_blank_values=True)[:60]))


def _fields(lesson: Lesson) -> None:
    """One control for every field that may be changed, and a link to the playground."""
    name, one = f"attempt_{lesson.key}", lesson.challenge
    cfg = ATTEMPT.of(name).get()
    for column, knob in zip(st.columns(max(2, len(one.fields))), one.fields, strict=False):
        with column:
            ends = [end for limited, *limits in one.limits if limited == knob for end in limits if end]
            field(knob, getattr(cfg, knob), key=f"{name}_{knob}", change=_changed, before=ends)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            TEXTS("reset the attempt"), key=f"{name}_back", icon=":material/undo:", on_click=_set, args=(name, one.base)
        )
        to_playground(cfg, TEXTS("playground"), lesson=lesson.key)


def _changed(key: str, knob: str, value: Any) -> None:
    """After a control has moved: updates the attempt, unless the result would be illegal."""
    name = key.removesuffix(f"_{knob}")
    try:
        _set(name, replace(ATTEMPT.of(name).get(), **{knob: value}))
    except ValueError as error:
        ATTEMPT_PROBLEM.of(name).put(as_sentence(str(error)))


def _brought(lesson: Lesson) -> None:
    name = f"attempt_{lesson.key}"
    answer = settled.last()
    label, tip = TEXTS("from the playground"), TEXTS("from the playground: help")
    st.button(label, key=f"{name}_take", help=tip, on_click=_set, args=(name, answer))
    text = st.text_input(
        TEXTS("link"),
        key=f"{name}_text",
        max_chars=LONGEST,
        placeholder="https://.../playground?depth=16&init=he",
    )
    if text.strip():
        cfg, notes = from_text(text)
        if notes:
            st.info("From the link: " + "; ".join(notes) + ".")
        if "=" not in text:
            st.error(TEXTS("no configuration"))
        else:
            st.button(TEXTS("from the link"), key=f"{name}_take_link", on_click=_set, args=(name, cfg))


def _set(name: str, cfg: RunConfig) -> None:
    ATTEMPT.of(name).put(cfg)


def _watch(lesson: Lesson, cfg: RunConfig) -> bool:
    """The verdict once watched to the end, the attempt's player and loss. Returns whether rows are awaited."""
    name, log = f"attempt_{lesson.key}", trainer().log(cfg)
    loss = Chart("Loss of the attempt", span=COLUMNS, figure=figures.loss(cfg), height=260)
    verdict = st.container()  # above the player: it comes while one looks there
    at = player(name, [cfg], [loss], scope=" the attempt")
    if runs.watched(at.step, [log]):
        ATTEMPT_WATCHED.of(name).put(cfg)
    with verdict:
        _verdict(lesson, cfg, log if ATTEMPT_WATCHED.of(name).get() == cfg and log.done else None)
    return runs.awaited(at.step, [log])


def _verdict(lesson: Lesson, cfg: RunConfig, log: RequestedLog | None) -> None:
    """The verdict on a finished attempt; a new pass redraws the page, which shows the progress."""
    if log is None:
        st.caption(TEXTS("not judged yet"))
        return
    checked = check(lesson.challenge, cfg, log.trace())
    for condition in checked.reached:
        st.markdown(f":material/check: {condition}")
    for condition in checked.missing:
        st.warning(condition)
    if checked.hint:
        st.markdown(checked.hint)
    if checked.passed:
        one, link = progress.done(lesson.key), cfg.to_query()
        new = one.passed != link
        one.passed = link
        st.success(TEXTS("passed"), icon=":material/emoji_events:")
        if new:
            st.rerun()
