"""The player of a page in AppTest, which has no browser: what
it declares, what its charts show, where its playhead rests.

A page's logs are trained by the test itself, as the player's connection would have them trained; the browser's part,
drawing and moving, is tested in tests/player.
"""

import json
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from models.service.client import RequestedLog, trainer
from models.spec import RunConfig
from models.trace import Trace
from tests.load.logs import Came, Logs


def declared(page: AppTest, name: str = "") -> dict[str, Any]:
    """What the page says to its player; `name` where it has several."""
    return dict(json.loads(_element(page, name).json))


def runs(page: AppTest, name: str = "") -> list[RunConfig]:
    """The configurations of the runs that the player shows."""
    return [_configuration(run) for run in declared(page, name)["runs"]]


def panels(page: AppTest, kind: str, name: str = "") -> dict[str, dict[str, Any]]:
    """The panels of a kind by their titles, those of the player's parts further down among them."""
    said = [json.loads(one.json) for one in _elements(page, name)]
    return {panel["title"]: panel for data in said for panel in data["panels"] if panel["kind"] == kind}


def logs(page: AppTest, step: int | None = None, name: str = "") -> list[RequestedLog]:
    """The logs of the player, trained to a step, the last one if none is named, or to where they end before."""
    seeds = declared(page, name)["runs"][0]["seeds"]
    found = []
    for cfg in runs(page, name):
        upto = cfg.steps if step is None else step
        log = trainer().log(cfg, seeds)
        while upto and not log.done and log.length <= upto:
            log = trainer().request_rows(cfg, min(upto + 1, cfg.steps), seeds=seeds)
            assert not log.error, log.error
        found.append(log)
    return found


def rests(page: AppTest, step: int | None = None, *, name: str = "", playing: bool = False) -> AppTest:
    """The page once its runs were trained to a step and the playhead has come to rest there."""
    reached = [log.length - 1 for log in logs(page, step, name)]
    links = [run["link"] for run in declared(page, name)["runs"]]
    return says(page, {"at": {"step": max(reached) if step is None else step, "playing": playing, "runs": links}}, name)


def says(page: AppTest, said: dict[str, Any], name: str = "", *, part: str = "") -> AppTest:
    """The page after its player in the browser has said something, or a part of it further up or down."""
    spoken = next(one for one in _elements(page, name) if f"_{part}" in one.id) if part else _element(page, name)
    states = page._tree.get_widget_states()
    states.widgets.append(WidgetState(id=spoken.id, json_value=json.dumps(said)))
    page._run(states)
    assert not page.exception, [error.value for error in page.exception]
    return page


def following(page: AppTest) -> str:
    """The step offered beside the playground's verdict."""
    return str(panels(page, "headline")["Verdict"]["next"])


def advance(page: AppTest) -> AppTest:
    """The page once that step was taken."""
    return says(page, {"advanced": following(page)}, part="over")


def bound(page: AppTest, trace: dict[str, Any], step: int = 0, name: str = "") -> list[float | None]:
    """The y values of a bound trace at a step, as a browser would fill them in for one run of one seed."""
    bind = trace["bind"]
    if bind.get("over"):
        values, over = (
            bound(page, {"bind": bind | {"over": "", "track": bind[of]}}, step, name) for of in ("track", "over")
        )
        return [_written(value / base) if value and base else value for value, base in zip(values, over, strict=False)]
    assert bind.get("against") is None, "values beside another run's are the browser's"
    step = 0 if bind.get("first") else step
    if bind["kind"] == "fixed":
        return [_written(value) for value in np.array(bind["values"], float)]
    here, beside = declared(page, name), bind["run"] >= len(runs(page, name))
    said = (here["runs"] + here["beside"])[bind["run"]]
    log: Trace | None = trainer().log(_configuration(said), said["seeds"]).trace()
    if log is not None and len(log):
        if beside and step >= len(log):
            return []  # it did not come so far
        row = min(step, len(log) - 1)
        found = (
            getattr(log.frame_at(row), bind["track"]) if bind["kind"] == "frame" else getattr(log, bind["track"])[row]
        )
        return [_written(value) for value in found]
    came = drawn_first(page, name)[bind["run"]]
    if bind["kind"] == "frame":
        return list(came.frames[0][bind["track"]])
    track = next(one for one in came.header["tracks"] if one["name"] == bind["track"])
    return [_written(float(value)) for value in came.matrix()[0, track["start"] :][: track["width"]]]


def drawn_first(page: AppTest, name: str = "") -> list[Came]:
    """What the player is given to draw of each run before its connection is there."""
    said, logs = declared(page, name), Logs()
    logs.runs = [Came() for _ in said["runs"]]
    logs.draw(said["messages"])
    return logs.runs


def _configuration(run: dict[str, Any]) -> RunConfig:
    return RunConfig.from_query(dict(parse_qsl(run["link"])))[0]


def _written(value: float) -> float | None:
    return float(f"{value:.4g}") if np.isfinite(value) else None


def _element(page: AppTest, name: str) -> Any:
    found = [one for one in _elements(page, name) if "runs" in json.loads(one.json)]
    assert len(found) == 1, f"{len(found)} players of the name {name!r}"
    return found[0]


def _elements(page: AppTest, name: str) -> list[Any]:
    return [
        one.proto
        for one in page.get("bidi_component")
        if '"panels"' in one.proto.json and f"player_{name}" in one.proto.id
    ]
