"""Export and share: configuration, script, numbers, a file that plays, a link that checks itself; and import."""

import streamlit as st

from addnorm.player.declare import Panel
from components.player import share
from components.player.engine import TEXTS
from components.player.file import player_file
from components.player.view import View
from components.playground import picture
from components.shell import link
from components.shell.hidden_parts import any_hidden
from components.shell.link import LINK_NOTES
from components.shell.session import Key
from models.export import (
    about_html,
    compare,
    configuration_from,
    configuration_json,
    digest_of,
    standalone_script,
    title_of,
    trace_csv,
)
from models.service.client import trainer
from models.spec import RunConfig, knobs
from models.spec.schema import browser_refusal
from models.trace import Trace

KEY = "take_home"

PASTED = Key("pasted_configuration", "")
PASTED_REFUSED = Key("pasted_refused", "")


def draw_export(cfg: RunConfig, view: View | None) -> None:
    """Draws a folded panel, which computes nothing while closed."""
    with st.expander("Export and share", icon=":material/download:", key=KEY, on_change="rerun") as panel:
        if panel.open:
            trained_view = view if view is not None and view.cfg == cfg and view.is_trained else None
            if view is not None and view.here:
                st.info(TEXTS("not exported"))
            _draw_downloads(cfg, trained_view)
            _draw_link(cfg, trained_view)
            _draw_import()


def check_digest(view: View) -> None:
    """Draws whether this run reproduces the digest of numbers in the link, if there is one."""
    digest = st.query_params.get("digest")
    if digest and view.here:
        st.info(TEXTS("digest"))
    elif digest and view.is_trained:
        share.show_comparison(compare(digest, view.trace, share.torch_version()))


def _draw_downloads(cfg: RunConfig, view: View | None) -> None:
    """Draws download buttons; a press makes the file from the rows so far."""
    panels = picture.file_panels(cfg)
    with st.container(horizontal=True):
        share.download_button(
            "Configuration (JSON)", "configuration.json", "application/json", lambda: configuration_json(cfg)
        )
        share.download_button("Script (PyTorch)", "run.py", "text/x-python", lambda: standalone_script(cfg))
        if view is not None:
            share.download_button("Numbers (CSV)", "numbers.csv", "text/csv", lambda: trace_csv(_current_trace(view)))
            share.player_download("run.html", lambda: _playing_file(view, panels), [cfg])
        refusal = browser_refusal(cfg)
        if not refusal:
            share.download_button(
                "HTML file that trains", "train.html", "text/html", lambda: _training_file(cfg, panels)
            )
    trains = refusal or "The file that trains needs no server: whoever opens it trains this network in their browser."
    st.caption(
        "The script needs nothing but torch and prints the same loss and per-layer numbers as this page. "
        + ("" if view is not None else "Numbers and the playable file come with the first training step. ")
        + trains
    )


def _current_trace(view: View) -> Trace:
    trace = view.log.trace() if view.log is not None else None
    return trace if trace is not None else view.trace


def _playing_file(view: View, panels: tuple[list[Panel], ...]) -> str:
    """The run so far as an HTML page. Needs no session."""
    about = about_html(view.cfg, _current_trace(view), trainer().status().versions)
    return _page(view.cfg, panels, about)


def _training_file(cfg: RunConfig, panels: tuple[list[Panel], ...]) -> str:
    """An HTML page that trains the run in whatever browser opens it. Needs no session."""
    return _page(cfg, panels, about_html(cfg, None, {}), trains=True)


def _page(cfg: RunConfig, panels: tuple[list[Panel], ...], about: str, *, trains: bool = False) -> str:
    over, player, under = panels
    facts = [f"seed {cfg.seed}, 1 seed"]
    return player_file(title_of(cfg), [cfg], player, over=over, under=under, facts=facts, below=about, trains=trains)


def _draw_link(cfg: RunConfig, view: View | None) -> None:
    """Draws a link to this run; once trained, its digest lets the recipient's page check the result."""
    query, remark = cfg.to_query(), ""
    if view is not None:
        query["digest"] = digest_of(view.trace.first(cfg.steps), share.torch_version())
        remark = ", with a digest of the numbers: it repeats the run and says whether the result is the same"
    share.show_link(query, remark)


def _draw_import() -> None:
    if any_hidden(knobs()):
        return  # an import would set hidden fields
    st.text_area("Paste a configuration (JSON) or a link", key=PASTED.name, max_chars=100_000, height=100)
    st.button("Use it", on_click=_adopt_pasted, key="use_pasted")
    if PASTED_REFUSED.get():
        st.error(PASTED_REFUSED.get())


def _adopt_pasted() -> None:
    """Adopts the pasted configuration, or stores why it cannot be used."""
    try:
        cfg, notes = configuration_from(PASTED.get())
    except ValueError as error:
        PASTED_REFUSED.put(str(error))
        return
    link.put({name: getattr(cfg, name) for name in knobs()})
    PASTED_REFUSED.put("")
    LINK_NOTES.put(notes)
