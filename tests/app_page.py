"""A page of the app in AppTest, read as a visitor reads it: its charts, its address, the configuration in its controls."""

import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from components.controls.panel import FOLDED_GROUPS
from models.service.worker_process import ROOT
from models.spec import RunConfig, knobs
from tests import player_page

APP = str(ROOT / "pages" / "navigation.py")
PLAYGROUND = "playground.py"
SMALL = {"depth": "4", "width": "16", "batch": "16", "steps": "40"}
PATIENCE = 60


def playground(**query: str) -> AppTest:
    """The playground as a visitor finds it who comes by a link."""
    return by_link(PLAYGROUND, **query)


def by_link(script: str, **query: str) -> AppTest:
    """A page, by its script, as a visitor finds it who comes by a link."""
    page = AppTest.from_file(APP, default_timeout=PATIENCE)
    page.switch_page(script)
    for key, value in query.items():
        page.query_params[key] = value
    return sound(page.run())


def sound(page: AppTest) -> AppTest:
    """The page, which shows no exception."""
    assert not page.exception, [error.value for error in page.exception]
    return page


def unfolded(page: AppTest) -> AppTest:
    """The page with all folded controls open."""
    for group in FOLDED_GROUPS:
        page.session_state[f"open_{group}"] = True
    return sound(page.run())


def arrange(page: AppTest, name: str) -> AppTest:
    """Chooses an arrangement in the menu."""
    page.menu_button(key="arrangement").click(name)
    return sound(page.run())


def arranged(page: AppTest) -> str:
    """The arrangement that the controls make, by which the menu is called."""
    return page.menu_button(key="arrangement").label.removeprefix("Arrangement: ")


def configuration(page: AppTest) -> RunConfig:
    """The configuration in the state of the controls. ValueError where it is not legal."""
    values = {name: page.session_state[name] for name in knobs() if name in page.session_state}
    for name in ("skip_scale", "branch_scale"):
        if _is_number(values.get(name)):
            values[name] = float(values[name])
    return RunConfig(**values)


def address(page: AppTest) -> dict[str, Any]:
    """The query of the address bar."""
    return dict(page.query_params)


def charts(page: AppTest) -> dict[str, dict[str, Any]]:
    """The figures on the page by accessible name, without its last
    word "chart": those that stand still, and those of a player.
    """
    found = [json.loads(element.proto.json) for element in page.get("bidi_component")]
    still = {data["title"]: data["figure"] for data in found if "figure" in data}
    return still | {title: panel["figure"] for title, panel in player_page.panels(page, "chart").items()}


def line(page: AppTest, chart: str, role: str = "now", step: int = 0) -> list[float | None] | None:
    """The y values at a step of a chart's line in a role."""
    found = (trace for trace in charts(page)[chart]["data"] if trace["role"] == role)
    return next((player_page.bound(page, trace, step) for trace in found), None)


def now(page: AppTest, step: int = 0) -> tuple[list[float | None] | None, ...]:
    """What the three profiles that follow the network show of it."""
    return tuple(line(page, f"{name} by depth", step=step) for name in ("Signal", "Gradient", "Weight gradient"))


def walk(page: AppTest, path: str) -> AppTest:
    """The page after a click in the navigation, which leads to an empty address."""
    page.switch_page(path)
    page.query_params.clear()
    return sound(page.run())


def back(page: AppTest, **query: str) -> AppTest:
    """The page after Back or Forward to another address of it. AppTest cannot say that of a run, so it is said here."""
    page.query_params.clear()
    for key, value in query.items():
        page.query_params[key] = value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("components.shell.address.from_history", lambda: True)
        return sound(page.run())


def repeated(page: AppTest, kind: str, key: str, value: Any, **pressed: tuple[str, Any]) -> AppTest:
    """The page after a choice, and after a press by a browser that has not heard of what came of it.

    `pressed`: by the key of a control, its kind and what it is set to there.
    """
    before = address(page)
    getattr(page, kind)(key=key).set_value(value)
    for name, (of_kind, to) in pressed.items():
        getattr(page, of_kind)(key=name).set_value(to)
    late = page._tree.get_widget_states()
    for name, (of_kind, _) in pressed.items():
        widget = getattr(page, of_kind)(key=name)
        widget.set_value(page.session_state[name])
    sound(page.run())
    page.query_params.clear()
    for name, text in before.items():
        page.query_params[name] = text
    return sound(page._run(late))


def labels(page: AppTest) -> list[str]:
    """The labels of all buttons."""
    return [button.label for button in page.button]


def press(page: AppTest, label: str) -> AppTest:
    """Clicks the button whose label starts so."""
    next(button for button in page.button if button.label.startswith(label)).click()
    return sound(page.run())


def words(page: AppTest) -> str:
    """All sentences on the page, a line each, without the glossary's links on their words."""
    kinds = (page.error, page.warning, page.info, page.markdown, page.caption)
    said = "\n".join(element.value for elements in kinds for element in elements)
    return re.sub(r'\[([^\[\]]*)\]\(glossary\?word=\S* "[^"]*"\)', r"\1", said)


def trained(page: AppTest) -> AppTest:
    """The page once its run has come to its end, and the playhead rests there."""
    return player_page.rests(page)


def tried(page: AppTest) -> AppTest:
    """The page after the trainer has tried what may help a run that failed."""
    for _ in range(PATIENCE):
        if "Trying changes" not in player_page.following(page):
            return page
        sound(page.run())
    raise AssertionError(f"the trial did not end: {player_page.following(page)}")


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False
