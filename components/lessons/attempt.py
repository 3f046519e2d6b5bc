"""A challenge: its task, the attempt (set here, pasted or from the playground), and the verdict on it."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import streamlit as st

from addnorm.player.declare import COLUMNS, Chart
from components.charts import figures
from components.classroom import homework
from components.controls import shown_config
from components.controls.field import draw_field
from components.lessons import progress, runs
from components.lessons.progress import TEXTS
from components.player.page import player
from components.player.view import as_sentence
from components.shell import waiting
from components.shell.page_links import link_to_playground
from components.shell.session import Key
from models.lessons.challenges import check, rule_violations
from models.lessons.lessons import Lesson
from models.service.client import RequestedLog, trainer
from models.spec import RunConfig
from models.spec.budget import budget_refusal

MAX_LINK_CHARS = 4000
MAX_LINK_KEYS = 60  # further keys of a pasted link are ignored

# `{}` stands for the attempt: "attempt_" and the lesson's key.
ATTEMPT = Key("{}_configuration", RunConfig())
ATTEMPT_PROBLEM = Key("{}_problem", "")
ATTEMPT_FINISHED: Key[RunConfig | None] = Key("{}_watched", None)


def draw(lesson: Lesson) -> None:
    """Draws the challenge and the attempt at it."""
    challenge, name = lesson.challenge, f"attempt_{lesson.key}"
    if not ATTEMPT.of(name).is_set:
        ATTEMPT.of(name).put(challenge.base)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.subheader(TEXTS("challenge"), anchor=False)
        st.markdown(f"**{challenge.text}**")
        _draw_fields(lesson)
        with st.expander(TEXTS("bring")):
            _draw_import(lesson)
    cfg = ATTEMPT.of(name).get()
    with right:
        if problem := ATTEMPT_PROBLEM.of(name).pop():
            st.error(problem)
        warnings = rule_violations(challenge, cfg)
        for warning in warnings:
            st.warning(warning)
        if refusal := budget_refusal(cfg):
            st.error(refusal)
        elif not warnings:
            waiting.poll_while(name, lambda: _draw_run(lesson, cfg))


def parse_link(text: str) -> tuple[RunConfig, list[str]]:
    """The configuration in a pasted address or query, and notes on corrected values."""
    query = urlsplit(text.strip()).query or text.strip().removeprefix("?")
    return RunConfig.from_query(dict(parse_qsl(query, keep_blank_values=True)[:MAX_LINK_KEYS]))


def _draw_fields(lesson: Lesson) -> None:
    """Draws a control for each field that the challenge lets vary, and a link to the playground."""
    name, challenge = f"attempt_{lesson.key}", lesson.challenge
    cfg = ATTEMPT.of(name).get()
    for column, field in zip(st.columns(max(2, len(challenge.fields))), challenge.fields, strict=False):
        bounds = []
        for limited_field, *limits in challenge.limits:
            if limited_field == field:
                bounds += [bound for bound in limits if bound]
        with column:
            draw_field(field, getattr(cfg, field), key=f"{name}_{field}", change=_change_field, extra_choices=bounds)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            TEXTS("reset the attempt"),
            key=f"{name}_back",
            icon=":material/undo:",
            on_click=ATTEMPT.of(name).put,
            args=(challenge.base,),
        )
        link_to_playground(cfg, TEXTS("playground"), lesson=lesson.key)


def _change_field(key: str, field: str, value: Any) -> None:
    """Updates the attempt from the control with this key, or stores why the new value is illegal."""
    name = key.removesuffix(f"_{field}")
    try:
        ATTEMPT.of(name).put(replace(ATTEMPT.of(name).get(), **{field: value}))
    except ValueError as error:
        ATTEMPT_PROBLEM.of(name).put(as_sentence(str(error)))


def _draw_import(lesson: Lesson) -> None:
    """Draws how to take over an attempt: from the playground, or from a pasted link."""
    name = f"attempt_{lesson.key}"
    adopt = ATTEMPT.of(name).put
    label, tip = TEXTS("from the playground"), TEXTS("from the playground: help")
    st.button(label, key=f"{name}_take", help=tip, on_click=adopt, args=(shown_config.last_good(),))
    text = st.text_input(
        TEXTS("link"),
        key=f"{name}_text",
        max_chars=MAX_LINK_CHARS,
        placeholder="https://.../playground?depth=16&init=he",
    )
    if text.strip():
        cfg, notes = parse_link(text)
        if notes:
            st.info("From the link: " + "; ".join(notes) + ".")
        if "=" not in text:
            st.error(TEXTS("no configuration"))
        else:
            st.button(TEXTS("from the link"), key=f"{name}_take_link", on_click=adopt, args=(cfg,))


def _draw_run(lesson: Lesson, cfg: RunConfig) -> bool:
    """Draws the attempt's player and, once its playhead has reached the end, the verdict.

    Returns whether the playhead waits for rows.
    """
    name, log = f"attempt_{lesson.key}", trainer().log(cfg)
    loss = Chart("Loss of the attempt", span=COLUMNS, figure=figures.loss(cfg), height=260)
    verdict = st.container()  # above the player, so that it appears in view
    step = player(name, [cfg], [loss], scope=" the attempt").step
    if runs.is_at_end(step, [log]) and ATTEMPT_FINISHED.of(name).get() != cfg:
        ATTEMPT_FINISHED.of(name).put(cfg)
        result = "passed" if check(lesson.challenge, cfg, log.trace()).passed else "not passed"
        homework.note(f"Challenge of {lesson.title}, {result}: {urlencode(cfg.to_query()) or 'the default network'}")
    is_finished = ATTEMPT_FINISHED.of(name).get() == cfg and log.done
    with verdict:
        _draw_verdict(lesson, cfg, log if is_finished else None)
    return runs.is_waiting_for_rows(step, [log])


def _draw_verdict(lesson: Lesson, cfg: RunConfig, log: RequestedLog | None) -> None:
    """Draws the verdict on the log of a finished attempt. A first pass reruns the page, to update the progress."""
    if log is None:
        st.caption(TEXTS("not judged yet"))
        return
    verdict = check(lesson.challenge, cfg, log.trace())
    for condition in verdict.reached:
        st.markdown(f":material/check: {condition}")
    for condition in verdict.missing:
        st.warning(condition)
    if verdict.hint:
        st.markdown(verdict.hint)
    if verdict.passed:
        lesson_progress, query = progress.progress_of(lesson.key), cfg.to_query()
        is_new = lesson_progress.passed != query
        lesson_progress.passed = query
        st.success(TEXTS("passed"), icon=":material/emoji_events:")
        if is_new:
            st.rerun()
