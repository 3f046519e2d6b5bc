"""Check this number: the gradients of a block against finite differences of the loss."""

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure, site_word
from components.instruments.panel import InstrumentPanel, Measured, branch_weights
from exhibits.instruments.check.answer import CHECK, GradientCheck
from exhibits.instruments.check.numbers import check_sentence, float32_sentence, relative_error, rounding_error
from models.content import Texts
from models.insight.words import number
from models.spec import plan
from models.spec.plan import block_name, uses_batch_statistics
from models.trace import Trace

WORDS = Texts("instruments/check")

# Per forward pass; the check needs about fifty passes. Above it, the check waits for a button.
MAX_QUICK_MULTIPLICATIONS = 1e8


def draw(panel: InstrumentPanel) -> None:
    cfg = panel.cfg
    block = panel.choose("Block to check", range(1, cfg.depth + 1), index=cfg.depth - 1)
    if branch_weights(cfg) * cfg.batch * cfg.tokens <= MAX_QUICK_MULTIPLICATIONS:
        measured = panel.ask(CHECK, block=block)
    else:
        measured = panel.ask_by_button(CHECK, "Check this block at the step shown", block=block)
    if measured is None:
        return
    value = measured.value
    rows = np.arange(len(value.target))
    difference = value.difference[rows, value.chosen]
    step = value.step[rows, value.chosen]
    kinks = value.kinks[rows, value.chosen]
    analytic = value.analytic
    rounding = rounding_error(value.loss, step)
    is_finite = np.isfinite(analytic).all() and np.isfinite(difference).all()
    if is_finite:
        left, right = st.columns(2)
        with left:
            panel.chart(error_chart(value))
        with right:
            log = pd.DataFrame(log_rows(measured, panel.view.trace))
            st.dataframe(log, hide_index=True, alt="Log beside float64, table")
    panel.write(
        check_sentence(target=value.target, analytic=analytic, difference=difference, kinks=kinks, rounding=rounding)
    )
    if not is_finite:
        return  # the sentence says so, and charts and tables of NaN would add nothing
    if uses_batch_statistics(measured.cfg):
        st.caption(WORDS("batch norm"))
    table = {
        "gradient of": value.target,
        "along": value.direction,
        "by autograd": _digits(analytic),
        "by difference": _digits(difference),
        "relative error": [number(error, 2) for error in relative_error(analytic, difference)],
        "step": [number(length, 2) for length in step],
        "kinks within": kinks,
        "rounding may leave": [number(error, 1) for error in rounding],
    }
    with st.expander("Every slope by autograd and by difference", key=panel.key("slopes")):
        st.dataframe(pd.DataFrame(table), hide_index=True, alt="Slopes by autograd and by difference, table")


def error_chart(value: GradientCheck) -> Figure:
    """Relative error of each of C slopes over the H lengths of the difference's step, (C, H)."""
    roles = ("now", "other", "formula", "initial")
    errors = relative_error(value.analytic[:, None], value.difference)
    names = [f"{target}, {direction}" for target, direction in zip(value.target, value.direction, strict=True)]
    series = [Series(name, row, role) for name, row, role in zip(names, errors, roles, strict=False)]
    steps = [f"1e-{2 + index}" for index in range(errors.shape[1])]
    return depth_profile(
        title="Relative error by step of the difference",
        unit="ratio",
        hue=GRADIENT,
        sites=steps,
        series=series,
        x="step over what is moved",
    )


def log_rows(measured: Measured[GradientCheck], trace: Trace) -> dict[str, list[str]]:
    """Gradient RMS of a block's weights and of the stream at its last site, in float64 and in the log, as columns."""
    block = measured.args["block"]
    sublayers = enumerate(plan(measured.cfg).sublayers, start=1)
    site = max(index for index, sublayer in sublayers if sublayer.block == block)
    logged = {"weights": (trace.weight_grad_rms, block - 1), "stream": (trace.grad_rms, site)}
    table: dict[str, list[str]] = {"RMS of": [], "float64": [], "log": [], "difference": []}
    for name, exact in measured.value.rms.items():
        series, column = logged[name]
        label = site_word(block_name(block) if name == "weights" else plan(measured.cfg).sites[site])
        table["RMS of"].append(f"{name} of {label}")
        table["float64"].append(f"{exact:.8g}")
        if measured.step < len(series) and column < series.shape[1]:
            single = float(series[measured.step, column])
            table["log"].append(f"{single:.8g}")
            table["difference"].append(float32_sentence(single, exact))
        else:
            table["log"].append("no row of the log")
            table["difference"].append("")
    return table


def _digits(values: np.ndarray) -> list[str]:
    return [f"{value:.10g}" for value in values]
