"""Widgets that a page fills: a browser that drew nothing of the first run shows them filled after the second, too."""

import pytest

from components.compare.columns import SEEDS
from components.teacher.page import PLAN_WIDGET
from tests.app_page import by_link

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.mark.parametrize(
    ("script", "kind", "key"), [("teacher", "text_area", PLAN_WIDGET), ("compare", "slider", SEEDS)]
)
def test_what_a_page_filled_is_sent_again(script: str, kind: str, key: str) -> None:
    page = by_link(f"{script}.py", **({"seeds": "3"} if script == "compare" else {}))
    widget = getattr(page, kind)(key=key)
    assert widget.proto.set_value
    widgets = page.session_state._state._state._new_widget_state.widget_metadata
    assert widgets[widget.id].persist_state == "session"  # AppTest itself forgets nothing between two runs
