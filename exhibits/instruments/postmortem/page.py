"""Post-mortem: where and when a run stopped being finite, the likeliest cause, and changes that help."""

from dataclasses import replace

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure
from components.instruments import remedies
from components.instruments.panel import InstrumentPanel
from components.shell import compare_link, link
from components.shell.hidden_parts import is_hidden
from models.content import Texts
from models.export.findings import progress_sentence
from models.insight.baseline import LEARNED_BELOW
from models.insight.postmortem import GROWN, gradient_loss_sentence, postmortem
from models.insight.remedy import LONGER_TRIAL_STEPS, LONGEST_TRIAL_STEPS, TRIAL_STEPS
from models.insight.verdict import EXPLODING, LARGE_UPDATE, verdict
from models.spec import RunConfig
from models.trace import Divergence, Trace

WORDS = Texts(
    "instruments/postmortem",
    exploding=EXPLODING,
    large=LARGE_UPDATE,
    grown=GROWN,
    steps=TRIAL_STEPS,
    longer=LONGER_TRIAL_STEPS,
    longest=LONGEST_TRIAL_STEPS,
    learnt=LEARNED_BELOW,
)


def draw(panel: InstrumentPanel) -> None:
    view, trace = panel.view, panel.view.trace
    if trace.divergence is None:
        panel.write(progress_sentence(view.cfg, trace))
        st.markdown(f"{verdict(view.cfg, trace, view.row).sentence} {gradient_loss_sentence(trace)}")
    else:
        _draw_divergence(panel, trace, trace.divergence)
    if not is_hidden("export"):  # it also hides the way to Compare
        _draw_remedies(panel)


def _draw_divergence(panel: InstrumentPanel, trace: Trace, divergence: Divergence) -> None:
    """Draws where and when the run stopped being finite, and the likeliest cause."""
    cause = postmortem(panel.cfg, trace)
    panel.row(last_finite_chart(trace, "Signal", "act_rms"), last_finite_chart(trace, "Gradient", "grad_rms"))
    panel.write(divergence.sentence())
    st.markdown(cause.sentence)
    panel.table(
        "Last good and first bad step",
        site=trace.sites,
        last_good_signal=_step_labels(cause.good_activation),
        first_bad_signal=_step_labels(cause.bad_activation),
        last_good_gradient=_step_labels(cause.good_gradient),
        first_bad_gradient=_step_labels(cause.bad_gradient),
    )


def _draw_remedies(panel: InstrumentPanel) -> None:
    """Draws a button for each change that helps, with the result of its trial."""
    search = remedies.remedy_search(panel.view)
    panel.waiting |= search.waiting
    if not search.offers:
        st.caption(search.sentence)
    else:
        st.markdown(f"{search.cause} {WORDS('compare')}".strip())
    for index, (remedy, result) in enumerate(search.offers):
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button(remedy.label, icon=":material/compare_arrows:", key=panel.key(f"remedy_{index}")):
                _compare(panel.cfg, replace(panel.cfg, **remedy.fields))
            st.caption(f"{result[0].upper()}{result[1:]}.")
    if search.failed:
        st.caption(f"Tried without success: {'; '.join(search.failed)}.")


def last_finite_chart(trace: Trace, title: str, key: str) -> Figure:
    """Profiles of the last finite row and of the row that is not finite, which ends the log."""
    values = getattr(trace, key)
    series = [Series(f"step {trace.step[-1]}, first bad", values[-1])]
    if len(trace) > 1:
        series.insert(0, Series(f"step {trace.step[-2]}, last good", values[-2], "other"))
    hue = {"act_rms": SIGNAL, "grad_rms": GRADIENT}[key]
    return depth_profile(title=f"{title} before and after", unit="RMS", hue=hue, sites=trace.sites, series=series)


def _step_labels(rows: np.ndarray) -> list[str]:
    return ["none" if row < 0 else str(row) for row in rows.tolist()]


def _compare(cfg: RunConfig, other: RunConfig) -> None:
    """Opens the comparison of two runs and plays it."""
    compare_link.request_play()
    st.switch_page(link.COMPARE, query_params=compare_link.to_query([cfg, other], seeds=1))
