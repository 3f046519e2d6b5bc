"""Check this number: the gradients of a block against finite differences of the loss."""

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure, site_word
from components.instruments.panel import Instrument, InstrumentPanel, Measured, branch_weights
from models import answers
from models.answers import GradientCheck
from models.content import Texts
from models.insight.check import check_sentence, relative_error, rounding, single_sentence
from models.insight.words import number
from models.spec import plan
from models.spec.plan import block_name, normed_over_batch
from models.trace import Trace

WORDS = Texts("instruments/check")

QUICK = 1e8  # multiplications of a forward pass up to which fifty of them need no button


def draw(panel: InstrumentPanel) -> None:
    cfg = panel.cfg
    block = panel.choose("Block to check", range(1, cfg.depth + 1), index=cfg.depth - 1)
    if branch_weights(cfg) * cfg.batch * cfg.tokens <= QUICK:
        measured = panel.ask(answers.CHECK, block=block)
    else:
        measured = panel.ask_by_button(answers.CHECK, "Check this block at the step shown", block=block)
    if measured is None:
        return
    value = measured.value
    chosen = np.arange(len(value.what)), value.chosen
    difference, step, kinks = value.difference[chosen], value.step[chosen], value.kinks[chosen]
    analytic, floor = value.analytic, rounding(value.loss, step)
    finite = np.isfinite(analytic).all() and np.isfinite(difference).all()
    if finite:
        left, right = st.columns(2)
        with left:
            panel.chart(error_chart(value))
        with right:
            log = pd.DataFrame(log_rows(measured, panel.view.trace))
            st.dataframe(log, hide_index=True, alt="Log beside float64, table")
    panel.say(check_sentence(what=value.what, analytic=analytic, difference=difference, kinks=kinks, floor=floor))
    if not finite:
        return  # the sentence has said so: charts and tables of NaN add nothing
    if normed_over_batch(measured.cfg):
        st.caption(WORDS("batch norm"))
    table = {
        "gradient of": value.what,
        "along": value.along,
        "by autograd": _written(analytic),
        "by difference": _written(difference),
        "relative error": [number(error, 2) for error in relative_error(analytic, difference)],
        "step": [number(one, 2) for one in step],
        "kinks within": kinks,
        "rounding may leave": [number(left, 1) for left in floor],
    }
    with st.expander("Every slope by autograd and by difference", key=panel.key("slopes")):
        st.dataframe(pd.DataFrame(table), hide_index=True, alt="Slopes by autograd and by difference, table")


def error_chart(value: GradientCheck) -> Figure:
    """The relative error of each check (C, H) over the lengths of the difference's step."""
    roles = ("now", "other", "formula", "initial")
    errors = relative_error(value.analytic[:, None], value.difference)
    names = [f"{what}, {along}" for what, along in zip(value.what, value.along, strict=True)]
    series = [Series(name, row, role) for name, row, role in zip(names, errors, roles, strict=False)]
    steps = [f"1e-{2 + at}" for at in range(errors.shape[1])]
    return depth_profile(
        title="Relative error by step of the difference",
        unit="ratio",
        hue=GRADIENT,
        sites=steps,
        series=series,
        x="step over what is moved",
    )


def log_rows(measured: Measured[GradientCheck], trace: Trace) -> dict[str, list[str]]:
    """RMS of the gradients of the block's weights and of the stream at its last site, in float64 and in the log."""
    block, rows = measured.args["block"], []
    site = max(at for at, one in enumerate(plan(measured.cfg).sublayers, 1) if one.block == block)
    on_log = {"weights": (trace.weight_grad_rms, block - 1), "stream": (trace.grad_rms, site)}
    for name, exact in measured.value.rms.items():
        series, at = on_log[name]
        label = site_word(block_name(block) if name == "weights" else plan(measured.cfg).sites[site])
        if measured.step < len(series) and at < series.shape[1]:
            single = float(series[measured.step, at])
            rows.append((f"{name} of {label}", f"{exact:.8g}", f"{single:.8g}", single_sentence(single, exact)))
        else:
            rows.append((f"{name} of {label}", f"{exact:.8g}", "no row of the log", ""))
    columns = zip(*rows, strict=True)
    return dict(zip(("RMS of", "float64", "log", "difference"), map(list, columns), strict=True))


def _written(values: np.ndarray) -> list[str]:
    return [f"{value:.10g}" for value in values]


CHECK = Instrument(draw, WORDS, "measured")
