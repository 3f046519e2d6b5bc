"""A comparison at work: one player over all columns, shared axes, a verdict per column."""

from dataclasses import dataclass

import streamlit as st

from components import link, picture, player
from components.compare_charts import compared_losses, compared_profiles
from components.compare_columns import COLUMNS, LETTERS, NAME, SEEDS
from components.hide import hidden
from components.live_chart import live_chart
from components.playhead import Playhead
from components.view import PROFILE_SECONDS
from components.viewers import owner
from components.watch import all_diverged, crowded, going, tape_of, tick
from models.insight.bands import Band, band
from models.insight.verdict import verdict
from models.service.client import Tape, trace_from, trainer
from models.spec import RunConfig
from models.spec.budget import over_budget
from models.spec.pairings import clashes
from models.trace import Trace

START = "compare_start"  # whether another page asks for the comparison to play at once


@dataclass(frozen=True)
class Column:
    """A letter, its configuration, and one trace per seed as far as the player has gone."""

    letter: str
    cfg: RunConfig
    traces: list[Trace]

    @property
    def label(self) -> str:
        """The column in a legend."""
        return f"{self.letter} {picture.name_of(self.cfg)}".rstrip()


def watch() -> None:
    """The player over all columns and the shared charts."""
    configurations: list[RunConfig] = st.session_state[COLUMNS]
    seeds = int(st.session_state[SEEDS])
    refused = [(letter, over_budget(cfg, seeds)) for letter, cfg in zip(LETTERS, configurations, strict=False)]
    for letter, sentence in refused:
        if sentence:
            st.error(f"Column {letter}: {sentence}")
    if any(sentence for _, sentence in refused):
        return
    head = player.playhead(f"{NAME} {seeds}", *configurations)
    if st.session_state.pop(START, False):
        player.play(head)

    def body() -> tuple[bool, bool]:
        who = owner(NAME, *configurations, seeds=seeds)
        tapes = [tape_of(cfg, head, who, seeds) for cfg in configurations]
        tick(head, tapes, player.now())
        player.controls(NAME, head, shared=" all")
        columns = [Column(LETTERS[at], cfg, _traces(tapes[at])) for at, cfg in enumerate(configurations)]
        _status(tapes, head)
        for column, tape in zip(columns, tapes, strict=True):
            if tape.error:
                st.error(f"Column {column.letter}: {tape.error}")
        if all(column.traces for column in columns):
            _charts(columns, head)
        waiting = any(not column.traces for column in columns)
        return waiting or any(tape.length <= head.shown for tape in going(tapes) if head.shown), head.playing

    player.polled(NAME, body, asks=True)


def _traces(tape: Tape) -> list[Trace]:
    """A column's traces, one per seed; before training its profiles; none where they are still being computed."""
    if tape.length:
        return tape.traces()
    answer = trainer().ask("profile", tape.cfg, wait=PROFILE_SECONDS)
    if answer is None or answer.value is None:
        return []
    first = trace_from(answer.value)  # it alone has the sample cosine, which the verdict reads
    if tape.seeds == 1:
        return [first]
    answer = trainer().ask("profiles", tape.cfg, wait=PROFILE_SECONDS, seeds=tape.seeds)
    if answer is None or answer.value is None:
        return []
    return [first, *(trace_from(value) for value in answer.value["traces"][1:])]


def _charts(columns: list[Column], head: Playhead) -> None:
    """Three charts on shared axes and a verdict per column; the difference from column A where it is asked for."""
    clash = clashes([column.cfg for column in columns])
    tip = "Every column divided by column A; losses subtracted."
    against = st.toggle("Difference from A", key="compare_difference", help=tip)
    left, middle, right = st.columns(3)
    if "depth" in clash:
        left.info(clash["depth"])
    else:
        for place, title, key in ((left, "Activation by depth", "act_rms"), (middle, "Gradient by depth", "grad_rms")):
            with place:
                _profiles(columns, head, title, key, against)
    with right:
        if "loss" in clash:
            st.info(clash["loss"])
        else:
            _losses(columns, head, against)
    for place, column in zip(st.columns(len(columns)), columns, strict=True):
        with place:
            _column(column, head)


def _profiles(columns: list[Column], head: Playhead, title: str, key: str, against: bool) -> None:
    figure = compared_profiles(
        title=title,
        sites=max((column.traces[0].sites for column in columns), key=len),
        labels=[column.label for column in columns],
        bands=[_profile_band(column, head, key) for column in columns],
        against_first=against,
        held=st.session_state.setdefault("compare_ranges", {}),
    )
    live_chart(figure, key=f"compare_{key}", alt=f"{title}, chart", height=300)


def _losses(columns: list[Column], head: Playhead, against: bool) -> None:
    figure = compared_losses(
        steps=max(column.cfg.steps for column in columns),
        labels=[column.label for column in columns],
        bands=[_loss_band(column, head) for column in columns],
        divergences=[column.traces[0].divergence for column in columns],
        chance=picture.chance(columns[0].cfg),
        shown_step=head.shown,
        against_first=against,
    )
    live_chart(figure, key="compare_loss", alt="Loss, chart", height=300)


def _column(column: Column, head: Playhead) -> None:
    """What the app says of a column, unless that is hidden, and the way to the playground."""
    trace = column.traces[0]
    row = min(head.shown, len(trace) - 1)
    if hidden("verdict"):
        st.markdown(f"**{column.letter}**")
    else:
        st.markdown(f"**{column.letter}** " + verdict(column.cfg, trace, row).sentence)
        if trace.divergence is not None and row >= trace.divergence.step:
            st.markdown(f":red[{trace.divergence.sentence()}]")
    st.page_link(link.PLAYGROUND, label="Open in the playground", query_params=column.cfg.to_query())


def _profile_band(column: Column, head: Playhead, key: str) -> Band:
    rows = [getattr(trace, key)[min(head.shown, len(trace) - 1)] for trace in column.traces]
    return band(rows)


def _loss_band(column: Column, head: Playhead) -> Band:
    length = min(head.seen, *(len(trace) for trace in column.traces))
    return band([trace.loss[:length] for trace in column.traces], log=False)


def _status(tapes: list[Tape], head: Playhead) -> None:
    status = trainer().status()
    if status.state != "ready":
        st.caption(status.sentence)
        return
    rate, seeds = sum(tape.rate for tape in tapes if not tape.done), tapes[0].seeds
    speed = f" · {rate:.3g} steps/s together" if rate else ""
    tag = "1 seed" if seeds == 1 else f"{seeds} seeds, trained together: geometric median and range"
    ends = all_diverged(head, dict(zip(LETTERS, tapes, strict=False)))
    st.caption(" · ".join([f"step {head.shown} of {head.steps}{speed}", tag, *ends, *crowded(*tapes), ":blue-badge[measured]"]))
