"""Post-mortem: where and when a run left the range of numbers, the likeliest cause, and one change to compare with."""

from dataclasses import replace

import numpy as np
import streamlit as st

from components import compare_link, compare_watch, link
from components.charts import Figure, Series, depth_profile
from components.hide import any_hidden, hidden
from components.instruments.panel import Instrument, Panel
from models.insight.postmortem import postmortem
from models.spec import RunConfig
from models.trace import Trace


def draw(panel: Panel) -> None:
    trace, divergence = panel.view.trace, panel.view.trace.divergence
    if divergence is None or panel.view.row < divergence.step:
        st.info("This run has not diverged so far: there is nothing to explain.")
        return
    found = postmortem(panel.cfg, trace)
    panel.say(f"{divergence.sentence()} Likeliest cause: {found.kind}.")
    st.markdown(found.sentence)
    left, right = st.columns(2)
    for place, title, key in ((left, "Activation", "act_rms"), (right, "Gradient", "grad_rms")):
        with place:
            panel.chart(last_and_first(trace, title, key), f"{title} before and after")
    panel.table(
        "Last good and first bad step",
        site=trace.sites,
        last_good_activation=_steps(found.good_activation),
        first_bad_activation=_steps(found.bad_activation),
        last_good_gradient=_steps(found.good_gradient),
        first_bad_gradient=_steps(found.bad_gradient),
    )
    # Their way leads to Compare, and there they set a field: not where either is hidden.
    offered = [] if hidden("export") else [remedy for remedy in found.remedies if not any_hidden(remedy.fields)]
    if not offered:
        return
    st.markdown("Compare with a run that differs in exactly one thing:")
    with st.container(horizontal=True):
        for at, remedy in enumerate(offered):
            if st.button(remedy.label, icon=":material/compare_arrows:", key=panel.key(f"remedy_{at}")):
                _compare(panel.cfg, replace(panel.cfg, **remedy.fields))


def last_and_first(trace: Trace, title: str, key: str) -> Figure:
    """The profile of the last row that is finite and that of the first that is not, which ends the tape."""
    values = getattr(trace, key)
    series = [Series(f"step {trace.step[-1]}, first bad", values[-1])]
    if len(trace) > 1:
        series.insert(0, Series(f"step {trace.step[-2]}, last good", values[-2], "other"))
    return depth_profile(title=f"{title} before and after", unit="RMS", sites=trace.sites, series=series)


def _steps(rows: np.ndarray) -> list[str]:
    return ["none" if row < 0 else str(row) for row in rows.tolist()]


def _compare(cfg: RunConfig, other: RunConfig) -> None:
    """Opens the comparison of the two and starts it."""
    st.session_state[compare_watch.START] = True
    st.switch_page(link.COMPARE, query_params=compare_link.to_query([cfg, other], seeds=1))


POST_MORTEM = Instrument(
    draw,
    "measured",
    "From the tape: the last row in which every number is finite, and the first in which one is not. The cause is the first "
    "that fits of a list of rules over the tape: overflow before any update; stream or gradient growing a decade or more over "
    "depth before training; first updates above 3% of the weights (0.1% is usual); a stream that grew a decade in training.",
)
