"""Export of a comparison: its configurations, its numbers, a file that plays, and a link that checks itself."""

from functools import partial
from html import escape

import streamlit as st

from addnorm.player.declare import Panel
from components.player import engine
from components.player.file import player_file
from components.player.share import download_button, player_download, show_comparison, show_link, torch_version
from components.shell import compare_link
from components.shell.hidden_parts import is_hidden
from components.shell.naming import names_of
from models.content import Texts
from models.export import about_html, compare, comparison_csv, comparison_json, digest_of, title_of
from models.service.client import trainer
from models.spec import RunConfig
from models.trace import Trace

TEXTS = Texts("compare")
KEY = "compare_share"
SEPARATOR = ","  # between the digests of the columns


def draw_export(
    columns: dict[str, RunConfig], traces: dict[str, list[Trace]], seeds: int, panels: list[Panel], *, here: bool
) -> None:
    """Draws a folded panel, which computes nothing while closed.

    `traces` holds a trace for each seed of a column, none before its first step. `here`: the browser trains the runs.
    """
    if is_hidden("export"):
        return
    with st.expander("Export and share", icon=":material/download:", key=KEY, on_change="rerun") as panel:
        if not panel.open:
            return
        configurations = list(columns.values())
        query = compare_link.to_query(configurations, seeds)
        has_numbers = all(traces.values())
        with st.container(horizontal=True):
            download_button(
                "Configurations (JSON)", "comparison.json", "application/json", lambda: comparison_json(columns)
            )
            if has_numbers:
                download_button("Numbers (CSV)", "comparison.csv", "text/csv", lambda: comparison_csv(traces))
                make = partial(_playing_file, " beside ".join(names_of(configurations)), columns, seeds, panels)
                player_download("comparison.html", make, configurations, seeds)
                first_seeds = [trace.first(columns[letter].steps) for letter, (trace, *_) in traces.items()]
                query["digest"] = SEPARATOR.join(digest_of(trace, torch_version()) for trace in first_seeds)
        if here:
            st.info(engine.TEXTS("not exported"))
        show_link(query, f" {TEXTS('digest')}" if has_numbers else "" if here else f". {TEXTS('no numbers yet')}")


def seeds_label(seeds: int) -> str:
    return "1 seed" if seeds == 1 else TEXTS("seeds trained together", seeds=seeds)


def _playing_file(title: str, columns: dict[str, RunConfig], seeds: int, panels: list[Panel]) -> str:
    """The comparison so far as an HTML page. Needs no session."""
    service = trainer()
    about = []
    for letter, cfg in columns.items():
        log = service.log(cfg, seeds)
        if log.trained and (trace := log.trace()):
            heading = f"<h2>Column {letter}: {escape(title_of(cfg))}</h2>"
            about.append(heading + about_html(cfg, trace, service.status().versions))
    return player_file(
        title,
        list(columns.values()),
        panels,
        seeds=seeds,
        scope=" all",
        names=list(columns),
        facts=[seeds_label(seeds)],
        below="".join(about),
    )


def check_digests(traces: dict[str, list[Trace]]) -> None:
    """Draws whether each column reproduces the digest of its numbers in the link; nothing without digests."""
    digests = st.query_params.get("digest", "").split(SEPARATOR)
    for (letter, seeds), digest in zip(traces.items(), digests, strict=False):
        if digest and seeds:
            show_comparison(compare(digest, seeds[0], torch_version()), f"Column {letter}: ")
