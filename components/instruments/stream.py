"""Stream and branches: how much each branch adds to the stream, and how far each sublayer turns it."""

import numpy as np

from components.charts.colour import SIGNAL
from components.charts.depth import Series, cosine_chart, depth_profile
from components.instruments.panel import Instrument, InstrumentPanel
from models import answers
from models.insight.stream import stream_sentence


def draw(panel: InstrumentPanel) -> None:
    found = panel.ask(answers.STREAM)
    if found is None:
        return
    value, sites = found.value, panel.view.trace.sites
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
    panel.say(stream_sentence(sites, value.stream_rms, value.share))


STREAM = Instrument(
    draw,
    "How much does each block add to the stream?",
    "measured",
    "On the batch of the step shown: RMS of the stream at every site, RMS of every branch before its add, their ratio "
    "|f|/|x|, the mean cosine between the stream before and after a sublayer (block influence is one minus it: "
    "ShortGPT, arXiv 2403.03853; Gromov 2024, arXiv 2403.17887), and between the branch and the stream it is added to.",
)
