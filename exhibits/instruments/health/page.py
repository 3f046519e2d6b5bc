"""Health: the size of the updates, the noise of the gradient, learned gates and gains, and Adam's state."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, NORM, RED, SIGNAL, WEIGHTS
from components.charts.depth import Series, depth_profile, linear_profile, named_series
from components.charts.parts import Figure, numbers
from components.instruments.panel import InstrumentPanel, Measured, block_names, remaining_blocks
from exhibits.instruments.health.answer import HEALTH, Health
from exhibits.instruments.health.numbers import USUAL_UPDATE, last_update, noise_sentence, update_sentence
from models.content import Texts
from models.insight.verdict import LARGE_UPDATE
from models.insight.words import count_in_words
from models.spec import plan

WORDS = Texts("instruments/health", large=LARGE_UPDATE)

ROLES = ("now", "formula", "other")


def draw(panel: InstrumentPanel) -> None:
    measured = panel.ask(HEALTH)
    trace, row = panel.view.trace, panel.view.row
    update = last_update(trace, row)
    charts = []
    if update is not None:
        blocks = remaining_blocks(panel.cfg)
        _, update_ratios = update
        ratios = update_ratios[np.array(blocks, int) - 1]
        charts.append(update_chart("Update to weight by block", block_names(blocks), ratios))
    if measured is not None:
        blocks = remaining_blocks(measured.cfg)
        ratios = measured.value.noise.snr[np.array(blocks, int) - 1]
        charts.append(signal_chart("Gradient signal to noise by block", block_names(blocks), ratios))
    if charts:
        panel.row(*charts)
    panel.write(update_sentence(trace, row) + ("" if measured is None else " " + _noise_sentence(measured)))
    if measured is None:
        return
    _draw_micro_batches(measured)
    learned = [*_gate_charts(measured), *_scalar_charts(measured), *_gain_charts(measured), *_adam_charts(measured)]
    if learned:
        panel.row(*learned)
    gains = measured.value.gains
    if len(gains.gains):
        mean, least, greatest = gains.gains.T
        panel.table("Gain of every norm", norm=gains.gain_names, mean=mean, least=least, greatest=greatest)


def update_chart(title: str, blocks: tuple[str, ...], ratios: np.ndarray) -> Figure:
    """|change| / |weights| of one update by block, (depth,), with the usual size as a guide and large ones in red."""
    series = [Series("last update", ratios)] if len(ratios) else []
    guides = [USUAL_UPDATE]
    figure = depth_profile(title=title, unit="|ΔW| / |W|", hue=WEIGHTS, sites=blocks, series=series, guides=guides)
    large = np.flatnonzero(np.isfinite(ratios) & (ratios > LARGE_UPDATE))
    if len(large):
        mark = {
            "type": "scatter",
            "name": f"above {LARGE_UPDATE:.0%}",
            "mode": "markers",
            "x": large.tolist(),
            "y": numbers(ratios[large]),
            "text": [blocks[index] for index in large],
            "marker": {"color": RED, "symbol": "diamond", "size": 9},
            "hovertemplate": "%{text}: %{y:.4g}<extra>large</extra>",
        }
        figure["data"].append(mark)
    return figure


def signal_chart(title: str, blocks: tuple[str, ...], ratios: np.ndarray) -> Figure:
    """|E g|^2 / tr Cov(g) by block, (depth,), with a mark where the signal is not above the noise."""
    return depth_profile(
        title=title,
        unit="|E g|² / tr Cov(g)",
        hue=GRADIENT,
        sites=blocks,
        series=[Series("signal to noise", ratios)],
        guides=[1.0],
        zero="not above the noise",
    )


def spread_chart(title: str, unit: str, names: list[str], spread: np.ndarray, guide: float, *, hue: str) -> Figure:
    """Mean, least and greatest over N names, (N, 3), with a guide at their initial value."""
    series = named_series(dict(zip(("mean", "least", "greatest"), spread.T, strict=True)), ROLES)
    return linear_profile(
        title=title, unit=unit, hue=hue, sites=names, series=series if len(spread) else [], guides=[guide]
    )


def _noise_sentence(measured: Measured[Health]) -> str:
    noise = measured.value.noise
    return noise_sentence(measured.cfg.batch, noise.parts, noise.gradient_square, noise.noise_trace)


def _draw_micro_batches(measured: Measured[Health]) -> None:
    noise = measured.value.noise
    parts, size = noise.parts, noise.part_size
    if not parts:
        least = WORDS("two micro-batches") if noise.batch_norm else "two samples"
        st.caption(WORDS("too small", batch=measured.cfg.batch, least=least))
        return
    sentence = WORDS(
        "micro-batches",
        parts=parts,
        samples=count_in_words(size, "sample"),
        total=parts * size,
        batch=measured.cfg.batch,
    )
    st.caption(f"{sentence} {WORDS('batch norm') if noise.batch_norm else ''}".strip())


def _gate_charts(measured: Measured[Health]) -> list[Figure]:
    """The learned gates by branch, if there are any."""
    gates, names = measured.value.gains.gates, list(plan(measured.cfg).branches)
    has_gate = ~np.isnan(gates).all(axis=1)
    if not has_gate.any():
        return []
    gated = [name for name, is_gated in zip(names, has_gate, strict=True) if is_gated]
    start = next(sublayer.scale for sublayer in plan(measured.cfg).sublayers if sublayer.gate)
    return [spread_chart("Learned gate by branch", "gate", gated, gates[has_gate], start, hue=WEIGHTS)]


def _gain_charts(measured: Measured[Health]) -> list[Figure]:
    """Gains of the norms by block and slopes of dynamic tanh or erf, if there are any."""
    gains, blocks = measured.value.gains, block_names(remaining_blocks(measured.cfg))
    charts = []
    if len(gains.gains):
        spread = by_block(blocks, gains.gain_names, gains.gains)
        charts.append(spread_chart("Norm gains by block", "gain γ", list(blocks), spread, 1.0, hue=NORM))
    if len(gains.slopes):
        title = "Slope inside the norms"
        series = [Series("slope α", gains.slopes)]
        charts.append(
            linear_profile(title=title, unit="α", hue=NORM, sites=gains.slope_names, series=series, guides=[0.5])
        )
    return charts


def _scalar_charts(measured: Measured[Health]) -> list[Figure]:
    """The learned scalars by block, if there are any."""
    scalars = measured.value.gains.scalars
    if not len(scalars):
        return []
    series = [Series("λ, of the stream", scalars[:, 0]), Series("μ, of its start", scalars[:, 1], "other")]
    blocks = block_names(range(1, measured.cfg.depth + 1))
    title, guides = "Learned scalars by block", [0.0, 1.0]
    return [linear_profile(title=title, unit="λ", hue=SIGNAL, sites=blocks, series=series, guides=guides)]


def by_block(blocks: tuple[str, ...], names: Sequence[str], gains: np.ndarray) -> np.ndarray:
    """Mean, least and greatest gain by block, (depth, 3), from those of N norms, (N, 3); NaN without norms."""
    spread = np.full((len(blocks), 3), np.nan)
    for row, block in enumerate(blocks):
        block_gains = gains[[name.startswith(f"{block}.") for name in names]]
        if len(block_gains):
            spread[row] = block_gains[:, 0].mean(), block_gains[:, 1].min(), block_gains[:, 2].max()
    return spread


def _adam_charts(measured: Measured[Health]) -> list[Figure]:
    """Adam's moments by block, for Adam and AdamW after their first update."""
    state = measured.value.adam
    if state is None:
        return []
    blocks = remaining_blocks(measured.cfg)
    rows = np.array(blocks, int) - 1
    series = [
        Series("RMS(m) / RMS(√v)", state.ratio[rows], hue=GRADIENT),
        Series("|update| within 10% of lr", state.near[rows], "other"),
    ]
    return [
        linear_profile(
            title="Adam's state by block",
            unit="ratio, share",
            hue=WEIGHTS,
            sites=block_names(blocks),
            series=series,
            guides=[0.0, 1.0],
        )
    ]
