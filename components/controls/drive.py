"""The main controls of a playground or a comparison that a class is shown: a change is shown to the whole class."""

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from components.classroom import following
from components.controls.field import draw_field
from components.shell import compare_link, projector, session
from components.shell.session import Key
from models.content import Texts
from models.lessons import stops
from models.lessons.board import ClassState, board
from models.spec import RunConfig, arrangement_of, knobs
from models.spec.arrangements import overrides_at_depth
from models.spec.budget import budget_refusal
from models.spec.rules import all_repairs

TEXTS = Texts("class")
FIELDS = ("depth", "residual", "placement", "norm")
COMPARE, ALL = "compare", "all"
COLUMN = "drive_column"  # the widget that chooses the columns of a comparison

DRIVE_REFUSED = Key("drive_refused", "")  # why the last change was not made


def keys_hint() -> str:
    """What the keys of a projector do, and whether its Train reaches everybody; empty on other screens."""
    if not projector.is_on():
        return ""
    return f"{projector.PLAYER_KEYS_HINT} {TEXTS('train here')}" if _leads() else projector.PLAYER_KEYS_HINT


def _leads() -> bool:
    """Whether this screen is a projector that leads its class, at a stop whose nets can be changed."""
    state = following.shown_state()
    return state is not None and bool(_nets(state.stop)[0]) and bool(following.teacher_key())


def play_request() -> str:
    """A token of the teacher's last request that all screens train what is shown; empty without one."""
    state = following.shown_state()
    return f"{following.code()} {state.played}" if state is not None and state.played else ""


def trains_in_browsers() -> bool:
    """Whether this is a student's screen of a class that trains in its browsers; also while students explore."""
    state = following.CLASS_STATE.get() if following.code() else None
    return state is not None and state.in_browsers and not following.CLASS_PROJECTOR.get()


def show(cfg: RunConfig) -> bool:
    """Shows the class another net of its playground, if this is a projector that leads it; returns whether it did."""
    if not _leads():
        return False
    board().show(following.code(), following.teacher_key(), stops.playground_stop(cfg))
    return True


def draw_on_projector() -> None:
    """Draws the controls on a projector that leads its class, and nothing on any other screen."""
    state = following.shown_state()
    if state is not None and _leads():
        draw(following.code(), following.teacher_key(), state)


def draw(code: str, key: str, state: ClassState) -> None:
    """Draws the controls of the nets at a class's stop in a row, the column that they change, and a refusal."""
    nets, seeds = _nets(state.stop)
    if not nets:
        return
    columns = dict(zip(compare_link.LETTERS.upper(), range(len(nets)), strict=False))
    with st.container(horizontal=True, vertical_alignment="bottom", key="class_drive"):
        if len(nets) > 1:
            session.set_initial(COLUMN, ALL)
            st.segmented_control(
                "Change", [ALL, *columns], key=COLUMN, required=True, width="content", persist_state="session"
            )

        def chosen() -> range:
            """The columns that are chosen now, which a change made at once must not miss."""
            at = columns.get(str(session.widget_value(COLUMN))) if len(nets) > 1 else None
            return range(len(nets)) if at is None else range(at, at + 1)

        def change(_widget: str, name: str, value: Any) -> None:
            changed = [_changed(net, name, value) if at in chosen() else net for at, net in enumerate(nets)]
            DRIVE_REFUSED.put(next(filter(None, (budget_refusal(net, seeds) for net in changed)), ""))
            if not DRIVE_REFUSED.get():
                board().show(code, key, _stop(changed, seeds))

        for name in FIELDS:
            with st.container(width="content"):
                draw_field(name, getattr(nets[chosen()[0]], name), key=f"drive_{name}", change=change)
        st.button(
            TEXTS("train everywhere"),
            key="drive_train",
            icon=":material/play_arrow:",
            on_click=board().play,
            args=(code, key),
        )
    if refusal := DRIVE_REFUSED.pop():
        st.error(refusal)


def _nets(stop: str) -> tuple[list[RunConfig], int]:
    """The nets of a stop, one of a playground and the columns of a comparison, and the seeds of each."""
    page, query = stops.page_of(stop)
    if page == stops.PLAYGROUND:
        return [RunConfig.from_query(query)[0]], 1
    return compare_link.from_query(query)[:2] if page == COMPARE else ([], 1)


def _stop(nets: list[RunConfig], seeds: int) -> str:
    """The stop that shows these nets."""
    if len(nets) == 1:
        return stops.playground_stop(nets[0])
    return f"{COMPARE}?{urlencode(compare_link.to_query(nets, seeds))}"


def _changed(cfg: RunConfig, name: str, value: Any) -> RunConfig:
    """The nearest legal net with another value; exceptions of single blocks follow its depth."""
    fields = {field: getattr(cfg, field) for field in knobs()} | {name: value}
    if name == "depth":
        fields["overrides"] = overrides_at_depth(arrangement_of(cfg), cfg.overrides, value)
    try:
        return RunConfig(**fields)
    except ValueError:
        return RunConfig(**fields | all_repairs(fields))
