"""Stream and branches: how much each branch adds to the stream, and how far each sublayer turns it."""

import numpy as np

from components.charts.colour import SIGNAL
from components.charts.depth import Series, cosine_chart, depth_profile
from components.instruments.panel import InstrumentPanel
from exhibits.instruments.stream.answer import STREAM
from exhibits.instruments.stream.numbers import stream_sentence
from models.content import Texts

WORDS = Texts("instruments/stream")


def draw(panel: InstrumentPanel) -> None:
    measured = panel.ask(STREAM)
    if measured is None:
        return
    value, sites = measured.value, panel.view.trace.sites
    branches = np.concatenate([[np.nan], value.branch_rms])  # no branch before the input
    sizes = [Series("stream", value.stream_rms), Series("branch", branches, "other", start=1)]
    share = [Series("branch over stream", value.share)]
    cosines = [
        Series("stream before and after", value.neighbour_cosine),
        Series("branch and stream", value.branch_cosine, "other"),
    ]
    panel.row(
        depth_profile(title="Stream and branch by depth", unit="RMS", hue=SIGNAL, sites=sites, series=sizes),
        depth_profile(title="Branch over stream by depth", unit="ratio", hue=SIGNAL, sites=sites[1:], series=share),
        cosine_chart(title="Cosine by depth", sites=sites[1:], series=cosines),
    )
    panel.write(stream_sentence(sites, value.stream_rms, value.share))
