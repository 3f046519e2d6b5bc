"""A stage as a file: what its page declares and what its connection has sent, in one page that plays anywhere."""

from collections.abc import Sequence
from typing import Unpack

from addnorm.player import file_that_plays
from components.stage.asked import MOST_ROWS, AskedRecording, AskedRun
from components.stage.lines import RunFeed
from components.stage.panels import Link, Panel
from components.stage.recordings import RecordingFeed
from components.stage.stage import Playing, RecordingRef, declaration
from models.service.client import Source, trainer
from models.spec import RunConfig

MOST_BYTES = 20_000_000  # of a recording, or of the rows of all runs, in a file
TOO_LARGE = f"More than {MOST_BYTES / 1e6:g} MB of rows: too many for a file that plays."


def as_file(
    title: str,
    runs: Sequence[RunConfig | RecordingRef],
    panels: Sequence[Panel],
    *,
    over: Sequence[Panel] = (),
    under: Sequence[Panel] = (),
    seeds: int = 1,
    below: str = "",
    source: Source | None = None,
    **how: Unpack[Playing],
) -> str:
    """The runs as far as they are trained, under one player. `over`, `under`: panels above and below its own.

    `below`: HTML after them. `source`: of the runs, the server's trainer unless given. Links are left out: they would
    lead nowhere.
    """

    def shown(some: Sequence[Panel]) -> list[Panel]:
        return [panel for panel in some if not isinstance(panel, Link)]

    feeds = [_feed(number, run, seeds) for number, run in enumerate(runs)]
    messages = [
        message
        for feed in feeds
        for message in (
            feed.messages(source or trainer(), rate=False) if isinstance(feed, RunFeed) else feed.messages()
        )
    ]
    if any(isinstance(feed, RecordingFeed) and not feed.whole for feed in feeds):
        how["facts"] = [*how.get("facts", []), f"the first {MOST_BYTES / 1e6:g} MB of the recording"]
    data = declaration(runs, shown(panels), seeds=seeds, **how)
    above, after = (
        {"name": f"file_{at}", "below": "file", "panels": [panel.to_json(len(runs), seeds) for panel in shown(some)]}
        for at, some in enumerate((over, under))
    )
    parts = [part for part in (above, data | {"name": "file", "ticket": ""}, after) if part["panels"]]
    return file_that_plays(title, parts, messages, below)


def _feed(number: int, run: RunConfig | RecordingRef, seeds: int) -> RunFeed | RecordingFeed:
    """What a connection would send about a run by now; who presses a button must not fill the server's memory."""
    if isinstance(run, RunConfig):
        return RunFeed(number, AskedRun(run, seeds, have=0, want=0), owner=None)
    asked = AskedRecording(run.name or "", file="", have=0, want=MOST_ROWS)
    return RecordingFeed(number, asked, most=MOST_BYTES, grows=False)


def fits(runs: Sequence[RunConfig], seeds: int = 1) -> bool:
    """Whether the rows that there are of some runs are few enough for a file."""
    tapes = [trainer().tape(run, seeds) for run in runs]
    return 4 * seeds * sum(tape.length * tape.columns.width for tape in tapes if tape.columns) <= MOST_BYTES
