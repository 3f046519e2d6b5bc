"""The playground below its controls: player, charts, comparison curves, and the network's equation."""

import secrets
from dataclasses import dataclass, replace
from typing import Annotated, Any

import streamlit as st

from addnorm.player.declare import Headline, Panel
from components.controls import drive, form, shown_config
from components.instruments import draw_instruments
from components.instruments.panel import INSTRUMENT
from components.player.page import panels_below, player, playhead
from components.player.profiles import RowProfile, is_comparable, row_profile
from components.player.view import View, failure_sentence, view_at
from components.playground import picture, take_home
from components.playground.next_step import NextStep, next_step
from components.playground.presets import preset_hint
from components.shell import link, projector, session
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.link import LINK_RERUN
from components.shell.naming import ARRANGEMENT_FIELDS
from components.shell.page_links import link_to_compare
from components.shell.session import Key
from components.shell.waiting import poll_while
from models.insight.verdict import thresholds
from models.service.client import trainer
from models.spec import RunConfig, arrangement_of
from models.spec.equation import equation
from models.spec.knob import Knob
from models.spec.overrides import set_override
from models.spec.pairings import contrasting_pair
from models.spec.settings import Settings

NAME = "playground"

PREVIOUS: Key[RunConfig | None] = Key("previous", None)  # before the last change
PINNED: Key[RowProfile | None] = Key("pinned", None)
VIEW: Key[View | None] = Key("view", None)
STARTED = Key("playground_started", "")  # a random token per request to play the run
STOP_LOSS = Key("playground_stop_loss", 0.0)
AXES_VERSION = Key("playground_fit", 0)  # number of times that the axes were rescaled; in between they never shrink
# The run, and whether it had rows.
LAST_SEEN_RUN: Key[tuple[RunConfig | None, bool]] = Key("playground_rows", (None, False))
SWITCHED = Key("playground_switched", False)  # whether a click in the player has changed the configuration
LEAVING: Key[NextStep | None] = Key("playground_leaving", None)  # a step that opens another page


@dataclass(frozen=True)
class OpenPanel(Settings):
    """The open panel below the charts."""

    panel: Annotated[str, Knob("Show", choices=dict.fromkeys(picture.PANELS), control="segments")] = picture.PANELS[0]


def draw(cfg: RunConfig) -> None:
    """Draws the player, and measurements at the step where its playhead rests."""
    if LINK_RERUN.pop():
        STARTED.put(secrets.token_hex(4))
    poll_while(NAME, lambda: _draw_fragment(cfg))


def _draw_fragment(cfg: RunConfig) -> bool:
    """Draws player, chart controls and instruments. Returns whether an answer is pending."""
    if SWITCHED.pop():
        st.rerun()  # the controls lie outside this fragment
    leaving = LEAVING.pop()
    if leaving is not None and leaving.page is not None:
        st.switch_page(leaving.page, query_params=leaving.query)
    last_view = VIEW.get()
    if last_view is not None and last_view.cfg != cfg:
        _store_previous(last_view.cfg, cfg)
    position = playhead(NAME, [cfg])
    view, is_late = view_at(cfg, position.step)
    others = _comparison_profiles(cfg, position.step)
    following = NextStep("")
    if view is not None and not is_late and not is_hidden("verdict"):
        following = next_step(view, PREVIOUS.get())
    _draw_player(cfg, others, position.step, following)
    is_refused = is_late and bool(failure_sentence(cfg))
    if view is None:
        return not is_refused
    VIEW.put(view)
    take_home.check_digest(view)
    is_measuring = following.waiting
    if not projector.is_on():
        _draw_panels(cfg, others)
        is_measuring |= not is_hidden("instruments") and draw_instruments(view, position, NAME)
    _rerun_for_export(view)
    return (is_late or is_measuring) and not is_refused


def _draw_player(cfg: RunConfig, others: list[tuple[str, RowProfile]], step: int, following: NextStep) -> None:
    """Draws stack, verdict with the step that follows, player, answers and charts.

    `others` are the comparison profiles with their roles at the step.
    """
    on_projector = projector.is_on()
    fit = AXES_VERSION.get()
    toggles = not any_hidden(("overrides", "residual"))
    height = projector.STACK_HEIGHT if on_projector else picture.STACK_HEIGHT
    stack = picture.stack_panel(cfg, fit, toggles=toggles, height=height)
    verdict = Headline(
        help=thresholds(),
        hint=preset_hint(cfg),
        note=following.note,
        next=following.label,
        next_step=-1 if following.waiting else step,
    )
    over: list[Panel] = [stack] if is_hidden("verdict") else [stack, verdict]
    panels_below(NAME, "over", over, on_toggle=_toggle_residual, on_advance=lambda label: _advance(following, label))
    player(
        NAME,
        [cfg],
        [picture.loss_chart(cfg, fit, large=on_projector)],
        reports="follow" if INSTRUMENT.get() or _previous_net(step) else "rest",
        keys=drive.keys_hint(),
        start=drive.play_request() or STARTED.get(),
        stop_loss=STOP_LOSS.get(),
        restore=True,
        facts=[f"seed {cfg.seed}, 1 seed"],
    )
    if not on_projector:  # style.css puts it beside the stack
        panels_below(NAME, "answers", [picture.answers_panel(cfg)])
    panels_below(NAME, "charts", picture.charts(cfg, others, fit, large=on_projector))


def _toggle_residual(_run: int, block: int) -> None:
    """Toggles the residual of the clicked block, as an override in the configuration."""
    cfg = shown_config.last_good()
    overrides = {key: value for number, key, value in cfg.overrides if number == block}
    residual = not overrides.get("residual", cfg.residual)
    value = None if residual == cfg.residual else residual
    _set_fields({"overrides": set_override(cfg.overrides, block, "residual", value)})
    SWITCHED.put(True)


def _advance(following: NextStep, label: str) -> None:
    """Takes the step whose button was pressed."""
    if label != following.label or following.waiting:
        return
    if following.page is not None:
        LEAVING.put(following)
    elif following.fields:
        _set_fields(following.fields)
        SWITCHED.put(True)
    else:
        STARTED.put(secrets.token_hex(4))


def _set_fields(fields: dict[str, Any]) -> None:
    """Sets fields of the net; a projector that leads a class sets them on every screen."""
    if not drive.show(replace(shown_config.last_good(), **fields)):
        link.put(fields)


def draw_details(cfg: RunConfig) -> None:
    """Draws the equation, from the plan that the model is built from, links to other pages, and export."""
    if not is_hidden("theory"):
        name = arrangement_of(cfg)
        st.subheader(f"This network: {name}" if name else "This network", anchor=False)
        st.latex(equation(cfg))
    if is_hidden("export"):
        return
    with st.container(horizontal=True):
        columns, name = contrasting_pair(cfg)
        link_to_compare(columns, "Compare with..." if any_hidden(ARRANGEMENT_FIELDS) else f"Compare with {name}")
        st.page_link(
            link.ANATOMY, label="Take the block apart", icon=":material/account_tree:", query_params=cfg.to_query()
        )
    take_home.draw_export(cfg, VIEW.get())


def _store_previous(previous: RunConfig, cfg: RunConfig) -> None:
    """Stores the net before the last change, if it can be compared with the new one.

    A net less than half as deep is not compared: its curve would fill only a corner of the chart.
    """
    comparable = is_comparable(previous, cfg)
    PREVIOUS.put(previous if comparable and previous.depth <= 2 * cfg.depth else None)
    if not comparable:
        _fit_axes()  # they were scaled for the old curves


def _draw_panels(cfg: RunConfig, others: list[tuple[str, RowProfile]]) -> None:
    """Draws controls for comparison curves, and the open panel below the charts."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        names = picture.panel_names(cfg)
        if form.keep(OpenPanel, "", OpenPanel(names[0])).panel not in names:  # from a link or another task
            form.put("", panel=names[0])
        legal = {"panel": names}
        name = form.draw(OpenPanel, "", legal=legal, is_kept=True, places=[row], label_visibility="collapsed").panel
        st.button("Pin this profile", icon=":material/keep:", on_click=_pin, args=(cfg,), key="pin")
        st.button("Rescale", on_click=_fit_axes, key="fit")
        with st.popover("More"):
            st.button("Remove comparison curves", on_click=_clear_curves, key="clear", disabled=not others)
            tip = "The playhead stops at the first step with a training loss this small; 0 turns it off."
            st.number_input(
                "Stop at loss", 0.0, 10.0, step=0.05, key=STOP_LOSS.name, help=tip, width=150, persist_state="session"
            )
    panels_below(NAME, "panel", picture.panel_charts(cfg, others, AXES_VERSION.get(), str(name)))


def _rerun_for_export(view: View) -> None:
    """Reruns the page at a run's first row if the export panel is open: the panel lies outside this fragment."""
    last_seen = LAST_SEEN_RUN.get()
    LAST_SEEN_RUN.put((view.cfg, view.is_trained))
    if view.is_trained and last_seen == (view.cfg, False) and session.widget_value(take_home.KEY):
        st.rerun()


def _previous_net(step: int) -> RunConfig | None:
    """The net before the last change, if it may have come to this step: an untrained one is there at step 0 alone."""
    previous = PREVIOUS.get()
    return None if previous is not None and step and not trainer().log(previous).trained else previous


def _comparison_profiles(cfg: RunConfig, step: int) -> list[tuple[str, RowProfile]]:
    """Role and profile of the previous net, if it has come to this step, and of the pinned row.

    Either only where it can be compared with this net.
    """
    previous, pinned = _previous_net(step), PINNED.get()
    view = view_at(previous, step)[0] if previous is not None else None
    profiles = [("previous", row_profile(view) if view is not None and view.row == step else None), ("pinned", pinned)]
    return [(role, profile) for role, profile in profiles if profile is not None and is_comparable(profile.cfg, cfg)]


def _fit_axes() -> None:
    AXES_VERSION.put(AXES_VERSION.get() + 1)


def _pin(cfg: RunConfig) -> None:
    view, _ = view_at(cfg, playhead(NAME, [cfg]).step)
    if view is not None:
        PINNED.put(row_profile(view))


def _clear_curves() -> None:
    PREVIOUS.pop()
    PINNED.pop()
