"""Post-mortem: what the log says of why a run failed, where numbers were last finite, and changes that help."""

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
from models.insight.baseline import LEARNED_BELOW
from models.insight.postmortem import GROWN, LONGER_TRIAL_STEPS, LONGEST_TRIAL_STEPS, TRIAL_STEPS, postmortem
from models.insight.verdict import EXPLODING, LARGE_UPDATE
from models.spec import RunConfig
from models.trace import Trace

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
    trace = panel.view.trace
    panel.write(postmortem(panel.cfg, trace).sentence or WORDS("verdict above"))
    if trace.divergence is not None:
        panel.row(last_finite_chart(trace, "Signal", "act_rms"), last_finite_chart(trace, "Gradient", "grad_rms"))
        (good_signal, bad_signal), (good_gradient, bad_gradient) = map(good_and_bad, (trace.act_rms, trace.grad_rms))
        panel.table(
            "Last good and first bad step",
            site=trace.sites,
            last_good_signal=good_signal,
            first_bad_signal=bad_signal,
            last_good_gradient=good_gradient,
            first_bad_gradient=bad_gradient,
        )
    if not is_hidden("export"):  # it also hides the way to Compare
        _draw_remedies(panel)


def _draw_remedies(panel: InstrumentPanel) -> None:
    """Draws a button for each change that helps, with the result of its trial; that of the first is above the cards."""
    search = remedies.remedy_search(panel.view)
    panel.waiting |= search.waiting
    if search.offers:
        st.markdown(f"{search.cause} {WORDS('compare')}".strip())
    for index, (remedy, result) in enumerate(search.offers):
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button(remedy.label, icon=":material/compare_arrows:", key=panel.key(f"remedy_{index}")):
                _compare(panel.cfg, replace(panel.cfg, **remedy.fields))
            st.caption(f"{result[0].upper()}{result[1:]}." if index else WORDS("offered above"))
    if search.failed:
        st.caption(f"Tried without success: {'; '.join(search.failed)}.")


def good_and_bad(sizes: np.ndarray) -> tuple[list[str], list[str]]:
    """The last good and the first bad step of each site of a log (T, S) that ends with its first bad row."""
    steps = [str(step) if step >= 0 else "none" for step in (len(sizes) - 2, len(sizes) - 1)]
    finite = np.isfinite(sizes[-1])
    return [steps[int(good)] for good in finite], ["none" if good else steps[1] for good in finite]


def last_finite_chart(trace: Trace, title: str, key: str) -> Figure:
    """Profiles of the last finite row and of the row that is not finite, which ends the log."""
    values = getattr(trace, key)
    series = [Series(f"step {trace.step[-1]}, first bad", values[-1])]
    if len(trace) > 1:
        series.insert(0, Series(f"step {trace.step[-2]}, last good", values[-2], "other"))
    hue = {"act_rms": SIGNAL, "grad_rms": GRADIENT}[key]
    return depth_profile(title=f"{title} before and after", unit="RMS", hue=hue, sites=trace.sites, series=series)


def _compare(cfg: RunConfig, other: RunConfig) -> None:
    """Opens the comparison of two runs and plays it."""
    compare_link.request_play()
    st.switch_page(link.COMPARE, query_params=compare_link.to_query([cfg, other], seeds=1))
