"""A running comparison: one player for all columns, charts on shared axes, and each column's stack and verdict."""

from collections.abc import Collection
from typing import Any

import streamlit as st

from addnorm.player.declare import COLUMNS as SPANNED
from addnorm.player.declare import Chart, Heading, Headline, Link, Panel, SamplePaths, StackPanel
from components.charts import figures
from components.charts.parts import scaled_figure
from components.compare import share
from components.compare.columns import COLUMNS, LETTERS, NAME, SEEDS
from components.player.page import player, playhead
from components.player.panels import TEXT_NOTE, is_language_model, stack_blocks, text_panel
from components.shell import compare_link, link, projector, session
from components.shell.hide import hidden
from components.shell.naming import names_of, settings
from components.shell.text import explained
from models.insight.compared import ahead, learners, sizes
from models.service.client import key_of, trainer
from models.spec import RunConfig, plan
from models.spec.budget import over_budget
from models.spec.pairings import clashes, differing
from models.trace import Trace

TEN = "Ten unseen samples on their way through the blocks"
HALF = SPANNED // 2
HEIGHT, PATHS = 280, 190  # of a chart, and of a net's ten samples, in pixels
SHORT = 20  # characters of a name over them


def watch(*, against: bool = False) -> None:
    """The player over all columns, the shared charts (`against`: of the differences from A), the columns.

    A projector shows the ten samples and the charts, in large type.
    """
    configurations = COLUMNS.get()
    seeds = int(session.widget_value(SEEDS))
    letters = LETTERS[: len(configurations)]
    refused = [(letter, over_budget(cfg, seeds)) for letter, cfg in zip(letters, configurations, strict=True)]
    for letter, sentence in refused:
        if sentence:
            st.error(f"Column {letter}: {sentence}")
    if any(sentence for _, sentence in refused):
        return
    clash = clashes(configurations)
    for sentence in clash.values():
        st.info(sentence)
    names = dict(zip(letters, configurations, strict=False))
    logs = {letter: trainer().log(cfg, seeds) for letter, cfg in names.items()}
    traces = {letter: log.traces() if log.trained else [] for letter, log in logs.items()}
    share.check(traces)
    step = playhead(NAME, configurations, seeds).step
    # A column that was added may still be on its way there.
    there = {letter: traces[letter] for letter, log in logs.items() if log.trained and (log.length > step or log.done)}
    ended = all(log.done and step >= min(names[letter].steps, log.length - 1) for letter, log in logs.items())
    _said(step, there, configurations[0].task, without=clash.keys(), ended=ended and seeds > 1)
    panels, large = _texts(configurations) if seeds == 1 else [], projector.is_on()  # several seeds at once write none
    panels += _charts(configurations, seeds, against=against, without=clash.keys())
    for run, cfg in enumerate([] if large else configurations):
        panels += _column(cfg, run, SPANNED // len(configurations))

    def opened(run: int) -> None:
        st.switch_page(link.PLAYGROUND, query_params=configurations[run].to_query())

    player(
        NAME,
        configurations,
        panels,
        seeds=seeds,
        reports="rest",
        scope=" all",
        names=list(letters),
        start=compare_link.begun(),
        restore=True,
        facts=[share.tag(seeds)],
        keys=projector.HINT if large else "",
        on_open=opened,
    )
    if not large:
        share.share(names, traces, seeds, panels)


def _said(step: int, traces: dict[str, list[Trace]], task: str, *, without: Collection[str], ended: bool) -> None:
    """What the columns show where the playhead rests: who is ahead and by what, and how their sizes compare.

    At the end of several seeds, first how many of them learned.
    """
    if hidden("verdict") or len(traces) < 2:
        st.empty()  # what stood in this place was said of other columns
        return
    sentences = [f"**{learners(traces, task)}**"] if ended and "loss" not in without else []
    sentences += [f"**{ahead(traces, step, task)}**"] if step and "loss" not in without else []
    sentences += [sizes(traces, step)] if "depth" not in without else []
    st.markdown(explained(" ".join(sentences)))


def _texts(configurations: list[RunConfig]) -> list[Panel]:
    """What the columns write that are language models, side by side; the first says what the shades mean."""
    span, own = (
        SPANNED // len(configurations),
        [run for run, cfg in enumerate(configurations) if is_language_model(cfg)],
    )
    return [
        text_panel(
            f"What {LETTERS[run]} writes", run, span, label=LETTERS[run], note=TEXT_NOTE if run == own[0] else ""
        )
        for run in own
    ]


def _charts(configurations: list[RunConfig], seeds: int, *, against: bool, without: Collection[str]) -> list[Panel]:
    """The ten samples and the shared charts; `without` names the axes that the columns do not have in common."""
    labels = [f"{letter} {name}".rstrip() for letter, name in zip(LETTERS, _told(configurations), strict=False)]
    sites = max((plan(cfg).sites for cfg in configurations), key=len)
    how: dict[str, Any] = {"seeds": seeds, "against": against}
    first = configurations[0]
    loss: dict[str, Any] = {
        "steps": max(cfg.steps for cfg in configurations),
        "task": first.task,
        **how,
    }
    made = {}
    if "loss" not in without:
        made["Loss"] = figures.losses(labels, **loss)
    if "depth" not in without:
        if not against:
            made["Sample cosine by depth"] = figures.cosines(sites, labels)
        for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms")):
            made[title] = figures.profiles(title, track, sites, labels, **how)
    if "loss" not in without:
        made["Held-out loss"] = figures.losses(labels, held_out=True, **loss)
    runs = tuple(range(len(configurations)))
    few = len(runs) == 2  # whose pictures stand beside the loss
    span, shows_outcome = HALF if few else SPANNED, not hidden("verdict")
    over = labels if max(map(len, labels)) <= SHORT else LETTERS[: len(runs)]  # in one line, so that they stand level
    paths = SamplePaths(TEN, span=span, runs=runs, labels=tuple(over), shows_outcome=shows_outcome, height=PATHS)
    if projector.is_on():
        made = {title: scaled_figure(one, projector.FACTOR) for title, one in made.items()}
    charts = [Chart(title, span=HALF, figure=one, height=HEIGHT, fit=int(against)) for title, one in made.items()]
    return [paths, *charts]


def _told(configurations: list[RunConfig]) -> list[str]:
    """What differs, of each column; the names of the networks where that would be more than a legend holds."""
    names = [name for name in differing(configurations) if not hidden(name)]
    few = 0 < len(names) <= 2
    return [settings(cfg, names) for cfg in configurations] if few else names_of(configurations)


def _column(cfg: RunConfig, run: int, span: int) -> list[Panel]:
    """A column: its stack, its verdict unless hidden, and a link to the playground."""
    letter = LETTERS[run]
    sentence = (
        Heading(letter, run, span, 2)
        if hidden("verdict")
        else Headline(f"Verdict of {letter}", run, span, 2, label=letter)
    )
    return [
        StackPanel(
            f"Signal and gradient of {letter}", run, span, 1, blocks=stack_blocks(cfg), label=letter, scale="shared"
        ),
        sentence,
        Link("Open in the playground", run, span, 3, href=f"playground?{key_of(cfg)}"),
    ]
