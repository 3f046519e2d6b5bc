"""A player as a file: what its page declares and what its connection has sent, in one page that plays anywhere."""

from collections.abc import Sequence
from typing import Unpack

from addnorm.player import player_html
from addnorm.player.declare import Link, Panel, Playing
from components.player.asked import MAX_ROWS, AskedRecording
from components.player.feed import whole
from components.player.page import RecordingRef, declaration
from components.player.recordings import RecordingFeed
from models.service.client import RequestedLog, trainer
from models.spec import RunConfig

MAX_BYTES = 20_000_000  # of a recording, or of the rows of all runs, in a file
TOO_LARGE = f"More than {MAX_BYTES / 1e6:g} MB of rows: too many for a file that plays."


def as_file(
    title: str,
    runs: Sequence[RunConfig | RecordingRef],
    panels: Sequence[Panel],
    *,
    over: Sequence[Panel] = (),
    under: Sequence[Panel] = (),
    seeds: int = 1,
    below: str = "",
    logs: Sequence[RequestedLog] = (),
    **how: Unpack[Playing],
) -> str:
    """The runs as far as they are trained, under one player. `over`, `under`: panels above and below its own.

    `below`: HTML after them. `logs`: of the runs, those of the server's trainer unless given. Links are left out: they
    would lead nowhere.
    """

    def shown(some: Sequence[Panel]) -> list[Panel]:
        return [panel for panel in some if not isinstance(panel, Link)]

    messages: list[str | bytes] = []
    for number, run in enumerate(runs):
        if isinstance(run, RunConfig):
            messages += whole(logs[number] if logs else trainer().log(run, seeds), number)
            continue
        asked = AskedRecording(run.name or "", file="", have=0, want=MAX_ROWS)
        feed = RecordingFeed(number, asked, most=MAX_BYTES, grows=False)  # a button must not fill the server's memory
        messages += feed.messages()
        if not feed.whole:
            how["facts"] = [*how.get("facts", []), f"the first {MAX_BYTES / 1e6:g} MB of the recording"]
    data = declaration(runs, shown(panels), seeds=seeds, **how)
    above, after = (
        {"name": f"file_{at}", "below": "file", "panels": [panel.to_json(len(runs), seeds) for panel in shown(some)]}
        for at, some in enumerate((over, under))
    )
    parts = [part for part in (above, data | {"name": "file", "ticket": ""}, after) if part["panels"]]
    return player_html(title, parts, messages, below)


def fits(runs: Sequence[RunConfig], seeds: int = 1) -> bool:
    """Whether the rows that there are of some runs are few enough for a file."""
    logs = [trainer().log(run, seeds) for run in runs]
    return sum(log.rows().nbytes for log in logs) <= MAX_BYTES
