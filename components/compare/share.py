"""A comparison taken home: its configurations, its numbers, a file that plays, and a link that checks itself."""

from collections.abc import Callable
from functools import partial
from html import escape
from urllib.parse import urlencode

import streamlit as st

from components.shell import compare_link
from components.shell.hide import hidden
from components.shell.naming import names_of
from components.stage.file import TOO_LARGE, as_file, fits
from components.stage.panels import Panel
from models.export import about_html, compare, comparison_csv, comparison_json, digest_of, title_of
from models.service.client import trainer
from models.spec import RunConfig
from models.trace import Trace

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
            _file("Configurations (JSON)", "comparison.json", "application/json", lambda: comparison_json(columns))
            if there:
                title = " beside ".join(names_of(list(columns.values())))
                _file("Numbers (CSV)", "comparison.csv", "text/csv", lambda: comparison_csv(traces))
                if fits(list(columns.values()), seeds):
                    play = partial(_played, title, columns, seeds, panels)
                    _file("File that plays (HTML)", "comparison.html", "text/html", play)
                else:
                    st.caption(TOO_LARGE)
                query["digest"] = APART.join(
                    digest_of(one[0].first(columns[name].steps), _torch()) for name, one in traces.items()
                )
        also = " with a digest of the numbers: it runs again and says whether the same came out"
        st.markdown(f"**Link**{also}" if there else "**Link**. Numbers come with the first training step.")
        st.code(f"{(st.context.url or '').partition('?')[0]}?{urlencode(query)}", language=None, wrap_lines=True)


def tag(seeds: int) -> str:
    """How many seeds a column has, and what is drawn of them."""
    return "1 seed" if seeds == 1 else f"{seeds} seeds, trained together: geometric median and range"


def _played(title: str, columns: dict[str, RunConfig], seeds: int, panels: list[Panel]) -> str:
    """The comparison so far as a page of its own. Needs no session."""
    service = trainer()
    about = [
        f"<h2>Column {letter}: {escape(title_of(cfg))}</h2>{about_html(cfg, trace, service.status().versions)}"
        for letter, cfg in columns.items()
        if (trace := service.tape(cfg, seeds).trace()) is not None and len(trace)
    ]
    return as_file(
        title,
        list(columns.values()),
        panels,
        seeds=seeds,
        shared=" all",
        names=list(columns),
        facts=[tag(seeds)],
        below="".join(about),
    )


def _file(label: str, name: str, mime: str, make: Callable[[], str]) -> None:
    """A button that makes a file when it is asked for."""
    st.download_button(label, make, name, mime, on_click="ignore", key=f"compare_take_{name}")


def check(traces: dict[str, list[Trace]]) -> None:
    """Where the link carries digests of somebody's numbers: whether the same came out here, column by column."""
    digests = st.query_params.get("digest", "").split(APART)
    for (name, one), digest in zip(traces.items(), digests, strict=False):
        if digest and one:
            found = compare(digest, one[0], _torch())
            show = {True: st.success, False: st.warning, None: st.info}[found.same]
            show(f"Column {name}: {found.sentence}")


def _torch() -> str | None:
    """The version of torch in the trainer; None while it is not known."""
    return trainer().status().versions.get("torch")
