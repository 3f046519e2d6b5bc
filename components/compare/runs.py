"""A running comparison: one player for all columns, charts on shared axes, and each column's stack and verdict."""

from collections.abc import Collection

import streamlit as st

from components.charts import figures
from components.compare import share
from components.compare.columns import COLUMNS, LETTERS, NAME, SEEDS
from components.shell import compare_link, link, session
from components.shell.hide import hidden
from components.shell.naming import chance, names_of, settings
from components.shell.text import explained
from components.stage.panels import COLUMNS as SPANNED
from components.stage.panels import Chart, Heading, Headline, Link, LivingStack, Panel, blocks_of
from components.stage.stage import place, stage
from models.insight.compared import ahead, sizes
from models.service.client import key_of, trainer
from models.spec import RunConfig, plan
from models.spec.budget import over_budget
from models.spec.pairings import clashes, differing
from models.trace import Trace

HEIGHT = 280  # of a chart, in pixels


def watch(*, against: bool) -> None:
    """The player over all columns, the shared charts (`against`: of the differences from A), the columns."""
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
    traces = {letter: trainer().tape(cfg, seeds).traces() for letter, cfg in names.items()}
    share.check(traces)
    _said(configurations, traces, seeds, without=clash.keys())
    panels = _charts(configurations, seeds, against=against, without=clash.keys())
    for run, cfg in enumerate(configurations):
        panels += _column(cfg, run, SPANNED // len(configurations))

    def opened(run: int) -> None:
        st.switch_page(link.PLAYGROUND, query_params=configurations[run].to_query())

    stage(
        NAME,
        configurations,
        panels,
        seeds=seeds,
        tells="rest",
        shared=" all",
        names=list(letters),
        start=compare_link.begun(),
        facts=[share.tag(seeds)],
        on_open=opened,
    )
    share.share(names, traces, seeds, panels)


def _said(
    configurations: list[RunConfig], traces: dict[str, list[Trace]], seeds: int, *, without: Collection[str]
) -> None:
    """What the columns show where the playhead rests: who is ahead and by what, and how their sizes compare."""
    if hidden("verdict") or not all(traces.values()):
        return
    step = place(NAME, configurations, seeds).step
    said = [ahead(traces, step, chance(configurations[0]))] if step and "loss" not in without else []
    said += [sizes(traces, step)] if "depth" not in without else []
    st.markdown(explained("**" + said[0] + "** " + " ".join(said[1:]) if step and said else " ".join(said)))


def _charts(configurations: list[RunConfig], seeds: int, *, against: bool, without: Collection[str]) -> list[Panel]:
    """The shared charts; `without` names the axes that the columns do not have in common."""
    labels = [f"{letter} {name}".rstrip() for letter, name in zip(LETTERS, _told(configurations), strict=False)]
    sites = max((plan(cfg).sites for cfg in configurations), key=len)
    made = {}
    if "depth" not in without:
        for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms")):
            made[title] = figures.profiles(title, track, sites, labels, seeds=seeds, against=against)
    if "loss" not in without:
        steps, guessing = max(cfg.steps for cfg in configurations), chance(configurations[0])
        for title, held_out in (("Loss", False), ("Held-out loss", True)):
            made[title] = figures.losses(
                labels, steps=steps, chance=guessing, seeds=seeds, against=against, held_out=held_out
            )
    span = SPANNED // (2 if len(made) == 4 else max(1, len(made)))  # two by two
    return [Chart(title, span=span, figure=one, height=HEIGHT, fit=int(against)) for title, one in made.items()]


def _told(configurations: list[RunConfig]) -> list[str]:
    """What differs, of each column; the names of the networks where that would be more than a legend holds."""
    names = [name for name in differing(configurations) if not hidden(name)]
    few = 0 < len(names) <= 2
    return [settings(cfg, names) for cfg in configurations] if few else names_of(configurations)


def _column(cfg: RunConfig, run: int, span: int) -> list[Panel]:
    """A column: its stack, its verdict unless hidden, and a link to the playground."""
    letter = LETTERS[run]
    said = (
        Heading(letter, run, span, 2)
        if hidden("verdict")
        else Headline(f"Verdict of {letter}", run, span, 2, label=letter)
    )
    return [
        LivingStack(
            f"Signal and gradient of {letter}", run, span, 1, blocks=blocks_of(cfg), label=letter, scale="shared"
        ),
        said,
        Link("Open in the playground", run, span, 3, href=f"playground?{key_of(cfg)}"),
    ]
