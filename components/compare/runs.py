"""A running comparison: one player for all columns, charts on shared axes, and each column's stack and verdict."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import streamlit as st

from addnorm.player.declare import COLUMNS as SPANNED
from addnorm.player.declare import Chart, Heading, Headline, Link, Panel, SamplePaths, StackPanel
from components.charts import figures
from components.charts.parts import scaled_figure
from components.compare import share
from components.compare.columns import COLUMNS, LETTERS, NAME, SEEDS
from components.controls import drive
from components.player import engine
from components.player.page import player, playhead
from components.player.panels import TEXT_NOTE, is_language_model, stack_blocks, text_panel
from components.shell import compare_link, link, projector, session
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.naming import ARRANGEMENT_FIELDS, names_of, settings_text
from components.shell.text import with_explained_words
from models.insight.comparison import learners_sentence, ranking_sentence, signal_sentence
from models.service.client import RequestedLog, key_of, trainer
from models.spec import RunConfig, arrangement_of, plan
from models.spec.budget import budget_refusal
from models.spec.pairings import differing_fields, incomparable_charts
from models.trace import Trace

PATHS_TITLE = "Ten unseen samples, block by block"
HALF = SPANNED // 2
CHART_HEIGHT = 280  # pixels
PATHS_HEIGHT = 190  # pixels


def draw(*, against: bool = False) -> None:
    """Draws the player over all columns, the shared charts and the columns, unless a column is over budget.

    `against` draws the charts as differences from A. A projector shows sample paths and charts alone, in large type.
    """
    seeds = int(session.widget_value(SEEDS))
    columns = dict(zip(LETTERS, COLUMNS.get(), strict=False))
    refusals = {letter: budget_refusal(cfg, seeds) for letter, cfg in columns.items()}
    for letter, refusal in refusals.items():
        if refusal:
            st.error(f"Column {letter}: {refusal}")
    if any(refusals.values()):
        return
    refusals_by_axis = incomparable_charts(COLUMNS.get())
    for sentence in refusals_by_axis.values():
        st.info(sentence)
    logs = {letter: trainer().log(cfg, seeds) for letter, cfg in columns.items()}
    offer = engine.offer(COLUMNS.get(), seeds=seeds, always=drive.trains_in_browsers())
    here = playhead(NAME, COLUMNS.get(), seeds, offer).here
    traces = {letter: log.traces() if log.trained and not here else [] for letter, log in logs.items()}
    share.check_digests(traces)
    _draw_findings(logs, traces, seeds, excluded_axes=refusals_by_axis.keys())
    panels = panels_of(COLUMNS.get(), seeds, against=against, excluded_axes=refusals_by_axis.keys())
    _draw_player(list(columns), panels, seeds, offer)
    if not projector.is_on():
        share.draw_export(columns, traces, seeds, panels, here=here)


def _draw_player(letters: list[str], panels: list[Panel], seeds: int, offer: dict[str, Any]) -> None:
    configurations = COLUMNS.get()

    def open_playground(run: int) -> None:
        st.switch_page(link.PLAYGROUND, query_params=configurations[run].to_query())

    player(
        NAME,
        configurations,
        panels,
        seeds=seeds,
        reports="rest",
        scope=" all",
        names=letters,
        start=drive.play_request() or compare_link.play_request(),
        restore=True,
        here=offer,
        facts=[share.seeds_label(seeds)],
        keys=drive.keys_hint(),
        on_open=open_playground,
    )


def _draw_findings(
    logs: dict[str, RequestedLog], traces: dict[str, list[Trace]], seeds: int, *, excluded_axes: Collection[str]
) -> None:
    """Draws which column is ahead at the playhead, and how the sizes compare; `excluded_axes` as in `_charts`.

    At the end of several seeds it first says how many of them learned. A column that was just added may lack the
    playhead's step; it is left out.
    """
    step = playhead(NAME, COLUMNS.get(), seeds).step
    has_step = {letter: traces[letter] and (log.length > step or log.done) for letter, log in logs.items()}
    reached = {letter: column_traces for letter, column_traces in traces.items() if has_step[letter]}
    if is_hidden("verdict") or len(reached) < 2:
        st.empty()  # clears a sentence about other columns
        return
    is_over = all(log.done and step >= min(log.cfg.steps, log.length - 1) for log in logs.values())
    task = COLUMNS.get()[0].task
    sentences = []
    if "loss" not in excluded_axes and is_over and seeds > 1:
        sentences.append(f"**{learners_sentence(reached, task)}**")
    if "loss" not in excluded_axes and step:
        sentences.append(f"**{ranking_sentence(reached, step, task)}**")
    if "depth" not in excluded_axes:
        sentences.append(signal_sentence(reached, step))
    st.markdown(with_explained_words(" ".join(sentences)))


def panels_of(
    configurations: list[RunConfig], seeds: int = 1, *, against: bool = False, excluded_axes: Collection[str] = ()
) -> list[Panel]:
    """Texts, shared charts and columns; `against` and `excluded_axes` as in `_charts`."""
    panels = _text_panels(configurations) if seeds == 1 else []  # nets of several seeds write no text
    panels += _charts(configurations, seeds, against=against, excluded_axes=excluded_axes)
    if not projector.is_on():
        for run, cfg in enumerate(configurations):
            panels += _column(cfg, run, _span(run, len(configurations)))
    return panels


def _text_panels(configurations: list[RunConfig]) -> list[Panel]:
    """The texts of all language models, side by side; the first explains the shades."""
    writers = [run for run, cfg in enumerate(configurations) if is_language_model(cfg)]
    return [
        text_panel(
            f"What {LETTERS[run]} writes",
            run,
            _span(run, len(configurations)),
            label=LETTERS[run],
            note=TEXT_NOTE if run == writers[0] else "",
        )
        for run in writers
    ]


def _span(run: int, count: int) -> int:
    """The share of the grid of one of `count` columns, which fill a row together."""
    return SPANNED * (run + 1) // count - SPANNED * run // count


def _charts(
    configurations: list[RunConfig], seeds: int, *, against: bool, excluded_axes: Collection[str]
) -> list[Panel]:
    """The sample paths and the shared charts.

    `excluded_axes`: the axes ("loss", "depth") on which the columns cannot be compared.
    """
    labels = labels_of(configurations)
    sites = max((plan(cfg).sites for cfg in configurations), key=len)
    style: dict[str, Any] = {"seeds": seeds, "against": against}
    loss_style = style | {"steps": max(cfg.steps for cfg in configurations), "task": configurations[0].task}
    by_title = {}
    if "loss" not in excluded_axes:
        by_title["Loss"] = figures.losses(labels, **loss_style)
    if "depth" not in excluded_axes:
        if not against:
            by_title["Sample cosine by depth"] = figures.cosines(sites, labels)
        for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms")):
            by_title[title] = figures.profiles(title, track, sites, labels, **style)
    if "loss" not in excluded_axes:
        by_title["Held-out loss"] = figures.losses(labels, held_out=True, **loss_style)
    if projector.is_on():
        by_title = {title: scaled_figure(figure, projector.CHART_SCALE) for title, figure in by_title.items()}
    style = {"span": HALF, "height": CHART_HEIGHT, "fit": int(against)}
    panels: list[Panel] = [_sample_paths(labels)]
    panels += [Chart(title, figure=figure, **style) for title, figure in by_title.items()]
    if sum(panel.span for panel in panels) % SPANNED:
        panels[-1] = replace(panels[-1], span=SPANNED)  # the columns begin a row of their own
    return panels


def _sample_paths(labels: list[str]) -> SamplePaths:
    """The sample paths of all columns, beside the loss if there are two."""
    count = len(labels)
    return SamplePaths(
        PATHS_TITLE,
        span=HALF if count == 2 else SPANNED,
        runs=tuple(range(count)),
        labels=tuple(labels),
        shows_outcome=not is_hidden("verdict"),
        height=PATHS_HEIGHT,
    )


def labels_of(configurations: list[RunConfig]) -> list[str]:
    """The columns in the legends of their charts: their letters, and what distinguishes them."""
    return [f"{letter} {name}".rstrip() for letter, name in zip(LETTERS, _legend(configurations), strict=False)]


def _legend(configurations: list[RunConfig]) -> list[str]:
    """A label for each column: its arrangement, its one or two fields that differ, or the name of its network."""
    names = [name for name in differing_fields(configurations) if not is_hidden(name)]
    arrangements = [arrangement_of(cfg) or "" for cfg in configurations]
    is_named = all(arrangements) and len(set(arrangements)) == len(arrangements)
    if len(names) > 1 and is_named and set(names) <= set(ARRANGEMENT_FIELDS) and not any_hidden(ARRANGEMENT_FIELDS):
        return arrangements
    return [settings_text(cfg, names) for cfg in configurations] if 0 < len(names) <= 2 else names_of(configurations)


def _column(cfg: RunConfig, run: int, span: int) -> list[Panel]:
    """A column: its stack, its verdict unless hidden, and a link to the playground."""
    letter, blocks = LETTERS[run], stack_blocks(cfg)
    stack = StackPanel(f"Signal and gradient of {letter}", run, span, 1, blocks=blocks, label=letter, scale="shared")
    verdict: Panel = Headline(f"Verdict of {letter}", run, span, 2, label=letter)
    if is_hidden("verdict"):
        verdict = Heading(letter, run, span, 2)
    return [stack, verdict, Link("Open in the playground", run, span, 3, href=f"playground?{key_of(cfg)}")]
