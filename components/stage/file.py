"""A stage as a file: what its page declares and what its connection has sent, in one page that plays anywhere."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from addnorm.player import file_that_plays
from components.shell.style import BY
from components.stage.asked import MOST_ROWS, Asked, AskedRecording
from components.stage.lines import RunFeed
from components.stage.panels import Link, Panel
from components.stage.recordings import RecordingFeed
from components.stage.stage import RecordingRef, declared
from models.service.client import trainer
from models.spec import RunConfig

MOST_BYTES = 20_000_000  # of a recording, or of the rows of all runs, in a file
PIECE_LEFT_OUT = ""
TOO_LARGE = f"More than {MOST_BYTES / 1e6:g} MB of rows: too many for a file that plays."


def as_file(
    title: str,
    runs: Sequence[RunConfig | RecordingRef],
    panels: Sequence[Panel],
    *,
    over: Sequence[Panel] = (),
    under: Sequence[Panel] = (),
    seeds: int = 1,
    shared: str = "",
    verb: str = "",
    names: Sequence[str] = (),
    facts: Sequence[str] = (),
    below: str = "",
) -> str:
    """The runs as far as they are trained, under one player. `over`, `under`: panels above and below its own.

    `below`: HTML after them; the rest is as `stage.stage` has it. Links are left out: they would lead nowhere.
    """

    def kept(some: Sequence[Panel]) -> list[dict[str, Any]]:
        return [panel.to_json(len(runs), seeds) for panel in some if not isinstance(panel, Link)]

    messages = [message for number, run in enumerate(runs) for message in _sent(number, run, seeds)]
    cut = [f"the first {MOST_BYTES / 1e6:g} MB of the recording"] if PIECE_LEFT_OUT in messages else []
    data = {
        "name": "file",
        "ticket": "",
        "runs": [declared(run, seeds) for run in runs],
        "panels": kept(panels),
        "at": [0, False],
        "tells": "never",
        "shared": shared,
        "verb": verb,
        "names": list(names),
        "keys": "",
        "start": "",
        "reset": "",
        "stop_loss": 0.0,
        "facts": [*facts, *cut],
        "scenes": [],
        "scene": 1,
        "by": BY,
    }
    above, after = (
        {"name": f"file_{at}", "below": "file", "panels": kept(some)} for at, some in enumerate((over, under))
    )
    parts = [part for part in (above, data, after) if part["panels"]]
    return file_that_plays(title, parts, filter(None, messages), below)


def fits(runs: Sequence[RunConfig], seeds: int = 1) -> bool:
    """Whether the rows that there are of some runs are few enough for a file."""
    tapes = [trainer().tape(run, seeds) for run in runs]
    return 4 * seeds * sum(tape.length * tape.columns.width for tape in tapes if tape.columns) <= MOST_BYTES


def _sent(number: int, run: RunConfig | RecordingRef, seeds: int) -> Iterator[str | bytes]:
    """All that a connection would send about a run by now."""
    if isinstance(run, RunConfig):
        return RunFeed(number, Asked(run, seeds, have=0, want=0), owner=None).messages(trainer(), rate=False)
    return _first(RecordingFeed(number, AskedRecording(run.name or "", file="", have=0, want=MOST_ROWS)).messages())


def _first(messages: Iterable[str | bytes]) -> Iterator[str | bytes]:
    """What there is of a recording up to MOST_BYTES: who presses a button must not fill the server's memory."""
    room = MOST_BYTES
    for message in messages:
        room -= len(message)
        if room < 0:
            yield PIECE_LEFT_OUT
            return
        yield message
