"""A player as a file: the declaration and the messages of a page in one HTML page that plays anywhere."""

from collections.abc import Sequence
from typing import Unpack

from addnorm.player import player_html
from addnorm.player.declare import Link, Panel, Playing
from components.player.browser_messages import MAX_ROWS, ShownRecording
from components.player.engine import always, engine
from components.player.feed import all_messages
from components.player.page import RecordingRef, declaration
from components.player.recordings import RecordingFeed
from models.runlog import RunLog
from models.service.client import trainer
from models.spec import RunConfig

MAX_BYTES = 20_000_000  # of a recording, or of the rows of all runs, in a file
TOO_LARGE = f"More than {MAX_BYTES / 1e6:g} MB of rows: too many for a playable file."


def player_file(
    title: str,
    runs: Sequence[RunConfig | RecordingRef],
    panels: Sequence[Panel],
    *,
    over: Sequence[Panel] = (),
    under: Sequence[Panel] = (),
    seeds: int = 1,
    below: str = "",
    logs: Sequence[RunLog] = (),
    trains: bool = False,
    **options: Unpack[Playing],
) -> str:
    """The HTML of one player with all rows that the runs have so far. `over`, `under`: panels above and below its own.

    `trains`: the page has the engine that trains the runs instead of their rows. `below`: HTML after them. `logs`:
    those of the runs, by default of the server's trainer. The file has no links to pages of the app.
    """

    def without_links(panels: Sequence[Panel]) -> list[Panel]:
        return [panel for panel in panels if not isinstance(panel, Link)]

    messages: list[str | bytes] = []
    for number, run in enumerate([] if trains else runs):
        if isinstance(run, RunConfig):
            messages += all_messages(logs[number] if logs else trainer().log(run, seeds), number)
            continue
        shown = ShownRecording(run.name or "", file="", sent_bytes=0, target_row=MAX_ROWS)
        feed = RecordingFeed(number, shown, max_bytes=MAX_BYTES, grows=False)  # bounds the server's memory
        messages += feed.messages()
        if not feed.is_complete:
            options["facts"] = [*options.get("facts", []), f"the first {MAX_BYTES / 1e6:g} MB of the recording"]
    if trains:
        options["here"] = always("#results")
        options["restore"] = True
    main = declaration(runs, without_links(panels), seeds=seeds, **options) | {"name": "file", "ticket": ""}
    above, after = (
        {
            "name": f"file_{index}",
            "below": "file",
            "panels": [panel.to_json(len(runs), seeds) for panel in without_links(more_panels)],
        }
        for index, more_panels in enumerate((over, under))
    )
    parts = [part for part in (above, main, after) if part["panels"]]
    tasks = sorted({run.task for run in runs if isinstance(run, RunConfig)})
    return player_html(title, parts, messages, below, engine=engine(*tasks) if trains else None)


def fits_in_file(runs: Sequence[RunConfig], seeds: int = 1) -> bool:
    """Whether the rows that the runs have so far are few enough for a file."""
    logs = [trainer().log(run, seeds) for run in runs]
    return sum(log.rows().nbytes for log in logs) <= MAX_BYTES
