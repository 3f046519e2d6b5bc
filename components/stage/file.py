"""A stage as a file: what its page declares and what its connection has sent, in one page that plays anywhere."""

from collections.abc import Sequence
from typing import Any

from addnorm.player import file_that_plays
from components.shell.style import BY
from components.stage.asked import Asked
from components.stage.lines import Line
from components.stage.panels import Link, Panel
from models.service.client import key_of, trainer
from models.spec import RunConfig


def as_file(
    title: str,
    runs: Sequence[RunConfig],
    panels: Sequence[Panel],
    *,
    over: Sequence[Panel] = (),
    under: Sequence[Panel] = (),
    seeds: int = 1,
    shared: str = "",
    names: Sequence[str] = (),
    facts: Sequence[str] = (),
    below: str = "",
) -> str:
    """The runs as far as they are trained, under one player. `over`, `under`: panels above and below its own.

    `below`: HTML after them; the rest is as `stage.stage` has it. Links are left out: they would lead nowhere.
    """

    def declared(some: Sequence[Panel]) -> list[dict[str, Any]]:
        return [panel.to_json(len(runs), seeds) for panel in some if not isinstance(panel, Link)]

    data = {
        "name": "file",
        "ticket": "",
        "runs": [{"link": key_of(run), "seeds": seeds, "last": run.steps, "opening": None} for run in runs],
        "panels": declared(panels),
        "at": [0, False],
        "tells": "never",
        "shared": shared,
        "verb": "",
        "names": list(names),
        "keys": "",
        "start": "",
        "reset": "",
        "stop_loss": 0.0,
        "facts": list(facts),
        "scenes": [],
        "scene": 1,
        "by": BY,
    }
    lines = [Line(number, Asked(run, seeds, have=0, want=0), owner=None) for number, run in enumerate(runs)]
    service = trainer()
    above, after = (
        {"name": f"file_{at}", "below": "file", "panels": declared(some)} for at, some in enumerate((over, under))
    )
    parts = [part for part in (above, data, after) if part["panels"]]
    messages = (message for line in lines for message in line.messages(service, rate=False))
    return file_that_plays(title, parts, messages, below)
