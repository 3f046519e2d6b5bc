"""Distributions: histograms of the stream, their tails, dead and saturated units, and a layer's histogram over time."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import SIGNAL
from components.charts.depth import SHARE_BOUNDS, Series, depth_profile, linear_profile
from components.charts.parts import fixed_map, places, site_word
from components.instruments.panel import InstrumentPanel, Measured
from components.shell import session
from exhibits.instruments.distributions.answer import DISTRIBUTIONS, LAYER_FILM, Distributions
from exhibits.instruments.distributions.numbers import GAUSSIAN_KURTOSIS, tails_sentence, units_sentence
from models.content import Texts
from models.insight.words import vectors
from models.spec import plan

WORDS = Texts("instruments/distributions")

UNIT_SHARES = {  # label by field
    "dead": "0 for the whole batch",
    "always_on": "above 0 for the whole batch",
    "saturated": "saturated values",
}


def draw(panel: InstrumentPanel) -> None:
    measured = panel.ask(DISTRIBUTIONS)
    if measured is not None:
        _draw_step(panel, measured)
    _draw_over_time(panel)


def histogram_map(
    *, title: str, x: str, over: Sequence[str], centres: np.ndarray, shares: np.ndarray, ticks: int = 5
) -> Figure:
    """N histograms side by side, as colours: log10 of `shares`, (N, bins).

    The horizontal axis `x` has the N names of `over`, the vertical one the `centres` of the bins in units of the RMS.
    """
    layout = layout_of(title, x=x, y="value / RMS", legend=False, hue=SIGNAL)
    layout["xaxis"] |= {"ticks": ""}
    layout["yaxis"] |= {"ticks": ""}
    layout["margin"]["t"] = 44
    bins, columns = places([f"{centre:g}" for centre in centres]), places(over, ticks)
    if len(centres):
        bins["labels"][0], bins["labels"][-1] = f"≤ {centres[0]:g}", f"≥ {centres[-1]:g}"
    trace = {
        "name": title,
        "text": [columns["names"]] * len(centres),
        "y": _bin_names(centres),
        "hue": SIGNAL,
        "hovertemplate": "%{text}, value %{y} RMS: %{customdata:.4g}<extra></extra>",
        "colorbar": colour_bar("share"),
    }
    cells = np.asarray(shares, float).reshape(len(over), len(centres)).T
    return figure_of([fixed_map(trace, cells)], layout, "not trained yet", places=columns, rows=bins)


def _bin_names(centres: np.ndarray) -> list[str]:
    """Names of the bins: their centres; the two outermost are open."""
    names = [f"{centre:+.2f}" for centre in centres.tolist()]
    return [f"{names[0]} and below", *names[1:-1], f"{names[-1]} and above"] if len(names) > 1 else names


def _draw_step(panel: InstrumentPanel, measured: Measured[Distributions]) -> None:
    value, sites = measured.value, plan(measured.cfg).sites
    histogram = histogram_map(
        title="Histogram by depth", x="block", over=sites, centres=value.centres, shares=value.shares
    )
    vector = "sample" if measured.cfg.tokens == 1 else "token"
    tails = [
        Series(f"mean of {vector}s", value.kurtosis),
        Series(f"largest of a {vector}", value.kurtosis_max, "other"),
    ]
    kurtosis = depth_profile(
        title="Kurtosis by depth", unit="kurtosis", hue=SIGNAL, sites=sites, series=tails, guides=[GAUSSIAN_KURTOSIS]
    )
    shares = {name: getattr(value, field) for field, name in UNIT_SHARES.items() if len(getattr(value, field))}
    roles = ("now", "other")
    units = [Series(name, share, role) for (name, share), role in zip(shares.items(), roles, strict=False)]
    activated = linear_profile(
        title="Units after the activation",
        unit="share",
        hue=SIGNAL,
        sites=value.inside,
        series=units,
        bounds=SHARE_BOUNDS,
    )
    charts = ((histogram, sites, False), (kurtosis, sites, False), (activated, value.inside, True))
    for column, (figure, layer_sites, inside) in zip(st.columns(len(charts)), charts, strict=True):
        with column:
            panel.chart(figure, on_click=partial(_choose_layer, panel.key("layer"), layer_sites, inside))
    sample = f"{value.tokens} {vectors(measured.cfg)}"
    units_text = units_sentence(measured.cfg.activation, sample, value.inside, value.dead, value.saturated)
    panel.write(f"{tails_sentence(sites, value.kurtosis)} {units_text}")
    st.caption(WORDS("click"))
    panel.table("Size and what is not finite", site=sites, rms=value.rms, not_finite=value.nonfinite)


def _layer_name(site: str, inside: bool) -> str:
    """Name of a layer: the stream at a site, or the `inside` of its branch after the activation."""
    return f"inside {site_word(site)}, after the activation" if inside else f"stream, {site_word(site)}"


def _choose_layer(key: str, sites: Sequence[str], inside: bool, x: object, _y: object) -> None:
    """Chooses the clicked layer in the list under `key`; `x` is its index in `sites`, if the click hit one."""
    if isinstance(x, int | float) and 0 <= round(x) < len(sites):
        session.set_widget(key, _layer_name(sites[round(x)], inside))


def _draw_over_time(panel: InstrumentPanel) -> None:
    """Draws the histogram of a chosen layer over the frames up to the step shown."""
    net = plan(panel.cfg)
    active = [sublayer.site for sublayer in net.sublayers if sublayer.kind != "attn" and not sublayer.identity]
    layers = {_layer_name(site, False): (site, False) for site in net.sites}
    layers |= {_layer_name(site, True): (site, True) for site in active}
    chosen = st.selectbox("Layer over time", list(layers), index=len(net.sites) - 1, key=panel.key("layer"))
    site, inside = layers[chosen]
    film = panel.ask_by_button(LAYER_FILM, "Measure this layer up to the step shown", site=site, inside=inside)
    if film is None:
        return
    layer = f"{'inside' if film.args['inside'] else 'stream,'} {site_word(film.args['site'])}"
    figure = histogram_map(
        title=f"Histogram over time: {layer}",
        x="step (frames, evenly spaced)",
        over=[str(step) for step in film.value.steps],
        centres=film.value.centres,
        shares=film.value.shares,
        ticks=8,
    )
    panel.chart(figure, "Histogram over time", height=320)
    panel.table("Size over time", step=film.value.steps, rms=film.value.rms, not_finite=film.value.nonfinite)
