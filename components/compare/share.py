"""A comparison taken home: its configurations, its numbers, a file that plays, and a link that checks itself."""

from functools import partial
from html import escape

import streamlit as st

from addnorm.player.declare import Panel
from components.player.file import player_file
from components.player.share import download_button, player_download, show_comparison, show_link, torch_version
from components.shell import compare_link
from components.shell.hide import hidden
from components.shell.naming import names_of
from models.content import Texts
from models.export import about_html, compare, comparison_csv, comparison_json, digest_of, title_of
from models.service.client import trainer
from models.spec import RunConfig
from models.trace import Trace

TEXTS = Texts("compare")
KEY = "compare_share"
APART = ","  # between the digests of the columns


def share(columns: dict[str, RunConfig], traces: dict[str, list[Trace]], seeds: int, panels: list[Panel]) -> None:
    """A folded panel; closed, it computes nothing. `traces`: by column, none before the first step."""
    if hidden("export"):
        return
    with st.expander("Export and share", icon=":material/download:", key=KEY, on_change="rerun") as panel:
        if not panel.open:
            return
        there = all(traces.values())
        query = compare_link.to_query(list(columns.values()), seeds)
        with st.container(horizontal=True):
            download_button(
                "Configurations (JSON)", "comparison.json", "application/json", lambda: comparison_json(columns)
            )
            if there:
                nets = list(columns.values())
                download_button("Numbers (CSV)", "comparison.csv", "text/csv", lambda: comparison_csv(traces))
                play = partial(_played, " beside ".join(names_of(nets)), columns, seeds, panels)
                player_download("comparison.html", play, nets, seeds)
                query["digest"] = APART.join(
                    digest_of(one[0].first(columns[name].steps), torch_version()) for name, one in traces.items()
                )
        show_link(query, f" {TEXTS('digest')}" if there else f". {TEXTS('no numbers yet')}")


def tag(seeds: int) -> str:
    """How many seeds a column has, and what is drawn of them."""
    return "1 seed" if seeds == 1 else TEXTS("seeds trained together", seeds=seeds)


def _played(title: str, columns: dict[str, RunConfig], seeds: int, panels: list[Panel]) -> str:
    """The comparison so far as a page of its own. Needs no session."""
    service = trainer()
    about = [
        f"<h2>Column {letter}: {escape(title_of(cfg))}</h2>{about_html(cfg, trace, service.status().versions)}"
        for letter, cfg in columns.items()
        if (log := service.log(cfg, seeds)).trained and (trace := log.trace())
    ]
    return player_file(
        title,
        list(columns.values()),
        panels,
        seeds=seeds,
        scope=" all",
        names=list(columns),
        facts=[tag(seeds)],
        below="".join(about),
    )


def check(traces: dict[str, list[Trace]]) -> None:
    """Where the link carries digests of somebody's numbers: whether the same came out here, column by column."""
    digests = st.query_params.get("digest", "").split(APART)
    for (name, one), digest in zip(traces.items(), digests, strict=False):
        if digest and one:
            show_comparison(compare(digest, one[0], torch_version()), f"Column {name}: ")
