"""The playground below its controls: player, charts, comparison curves, remedies, and this network's theory."""

import secrets
from dataclasses import dataclass
from typing import Annotated

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from addnorm.player.declare import Headline, Panel
from components.controls import form, settled
from components.instruments import instruments, remedies
from components.instruments.panel import INSTRUMENT
from components.player.page import panels_below, player, playhead
from components.player.profiles import RowProfile, row_profile
from components.player.view import View, failure_sentence, view_at
from components.playground import picture, take_home
from components.playground.presets import where_to_look
from components.shell import link, projector, session, tour
from components.shell.hide import any_hidden, hidden
from components.shell.link import LINK_RERUN
from components.shell.naming import ARRANGED
from components.shell.session import Key
from components.shell.waiting import poll_while
from components.shell.ways_on import to_compare
from models.insight.remedy import failed
from models.insight.verdict import thresholds
from models.spec import RunConfig, arrangement_of
from models.spec.equation import equation
from models.spec.knob import Knob
from models.spec.overrides import with_override
from models.spec.pairings import opposite
from models.spec.settings import Settings

NAME = "playground"

PREVIOUS: Key[RowProfile | None] = Key("previous", None)  # before the last change
PINNED: Key[RowProfile | None] = Key("pinned", None)
VIEW: Key[View | None] = Key("view", None)
STARTED = Key("playground_started", "")  # the last request to play the run
STOP_LOSS = Key("playground_stop_loss", 0.0)
FIT = Key("playground_fit", 0)  # how often the axes were rescaled; between two times they never shrink
ROWS: Key[tuple[RunConfig | None, bool]] = Key("playground_rows", (None, False))  # a run, and whether it had rows
SWITCHED = Key("playground_switched", False)


@dataclass(frozen=True)
class OpenPanel(Settings):
    """The open panel below the charts."""

    panel: Annotated[str, Knob("Show", choices=dict.fromkeys(picture.PANELS), control="segments")] = picture.PANELS[0]


def watch(cfg: RunConfig) -> None:
    """The player, and measurements at the step where its playhead rests."""
    if LINK_RERUN.pop():
        STARTED.put(secrets.token_hex(4))
    poll_while(NAME, lambda: _watched(cfg))


def _watched(cfg: RunConfig) -> bool:
    """Player, chart controls and instrument. Returns whether an answer is still to come."""
    if SWITCHED.pop():
        st.rerun()  # the controls lie outside this fragment
    before = VIEW.get()
    if before is not None and before.cfg != cfg:
        _leave(before, cfg)
    at = playhead(NAME, [cfg])
    if at.step and cfg != RunConfig():
        tour.done("break")
    view, late = view_at(cfg, at.step)
    others = _others(cfg)
    offer = _player(cfg, others)
    refused = late and bool(failure_sentence(cfg))
    if view is None:
        return not refused
    VIEW.put(view)
    take_home.check(view)
    with offer:
        measuring = not hidden("verdict") and _remedy(view)
    if not projector.is_on():
        _below(cfg, others)
        measuring |= not hidden("instruments") and instruments(view, at, NAME)
    _look_again(view)
    return (late or measuring) and not refused


def _player(cfg: RunConfig, others: list[tuple[str, RowProfile]]) -> DeltaGenerator:
    """The stack and the verdict on it, the player, and below it the charts. Returns the place of a remedy: above
    the charts, in sight, but on a projector below them.
    """
    large, fit = projector.is_on(), FIT.get()
    toggles = not any_hidden(("overrides", "residual"))
    stack = picture.stack(cfg, fit, toggles=toggles, height=projector.STACK if large else picture.STACK_HEIGHT)
    verdict: list[Panel] = [] if hidden("verdict") else [Headline(help=thresholds(), hint=where_to_look(cfg))]
    panels_below(NAME, "over", [stack, *verdict], on_toggle=_switch)
    player(
        NAME,
        [cfg],
        [picture.player(cfg, fit, large=large)],
        reports="follow" if INSTRUMENT.get() else "rest",
        keys=projector.HINT if large else "",
        start=STARTED.get(),
        stop_loss=STOP_LOSS.get(),
        restore=True,
        facts=[f"seed {cfg.seed}, 1 seed"],
    )
    offer = None if large else st.container()
    panels_below(NAME, "charts", picture.charts(cfg, others, fit, large=large))
    return offer or st.container()


def _switch(_run: int, block: int) -> None:
    """Toggles the skip of the clicked block: an exception in the configuration."""
    cfg = settled.last()
    own = {key: value for at, key, value in cfg.overrides if at == block}
    wanted = not own.get("residual", cfg.residual)
    value = None if wanted == cfg.residual else wanted
    link.put({"overrides": with_override(cfg.overrides, block, "residual", value)})
    SWITCHED.put(True)


def what_is_set(cfg: RunConfig) -> None:
    """The equation, from the plan that the model is built from; links to other pages; export."""
    if not hidden("theory"):
        name = arrangement_of(cfg)
        st.subheader(f"This network: {name}" if name else "This network", anchor=False)
        st.latex(equation(cfg))
    if hidden("export"):
        return
    with st.container(horizontal=True):
        columns, name = opposite(cfg)
        to_compare(columns, "Compare with..." if any_hidden(ARRANGED) else f"Compare with {name}")
        st.page_link(
            link.ANATOMY, label="Take the block apart", icon=":material/account_tree:", query_params=cfg.to_query()
        )
    take_home.take_home(cfg, VIEW.get())


def _leave(before: View, cfg: RunConfig) -> None:
    """Keeps the profile before the last change as the previous profile, where the two can be compared.

    Not if the new net has less than half its depth: it would be squeezed into a corner of its own chart.
    """
    shown, _ = view_at(before.cfg, playhead(NAME, [before.cfg]).step)
    previous = row_profile(shown or before)
    alike = previous.is_comparable(cfg)
    PREVIOUS.put(previous if alike and before.cfg.depth <= 2 * cfg.depth else None)
    if not alike:
        _fit_axes()  # they were scaled for curves that are gone


def _below(cfg: RunConfig, others: list[tuple[str, RowProfile]]) -> None:
    """Controls for comparison curves, and one of the panels below the charts."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        offered = picture.panels(cfg)
        if form.keep(OpenPanel, "", OpenPanel(offered[0])).panel not in offered:  # by a link, or the task was another
            form.put("", panel=offered[0])
        legal = {"panel": offered}
        panels = form.draw(OpenPanel, "", legal=legal, kept=True, places=[row], label_visibility="collapsed").panel
        st.button("Pin this profile", icon=":material/keep:", on_click=_pin, args=(cfg,), key="pin")
        st.button("Rescale", on_click=_fit_axes, key="fit")
        with st.popover("More"):
            st.button("Remove comparison curves", on_click=_clear, key="clear", disabled=not others)
            tip = "The playhead stops at the first step with a training loss this small; 0 turns it off."
            st.number_input(
                "Stop at loss", 0.0, 10.0, step=0.05, key=STOP_LOSS.name, help=tip, width=150, persist_state="session"
            )
    panels_below(NAME, "panel", picture.panel(cfg, others, FIT.get(), str(panels)))


def _look_again(view: View) -> None:
    """Reruns the page once a run has rows and the export panel is open, which lies outside this fragment."""
    there = view.is_trained
    if ROWS.get() != (view.cfg, there):
        known = ROWS.get()
        ROWS.put((view.cfg, there))
        if there and known == (view.cfg, False) and session.widget_value(take_home.KEY):
            st.rerun()


def _others(cfg: RunConfig) -> list[tuple[str, RowProfile]]:
    """The profiles to compare with, by role: the one before the last change and the pinned one, of the same net and
    task.
    """
    others = [(role.name, role.get()) for role in (PREVIOUS, PINNED)]
    return [(role, profile) for role, profile in others if profile is not None and profile.is_comparable(cfg)]


def _remedy(view: View) -> bool:
    """For a failed run, one change that helps. Returns whether the search is still on."""
    if not failed(view.cfg, view.trace, view.row):
        return False
    found = remedies.found(view)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(found.said or "This run failed. What would help?")
        for remedy, came_of_it in found.offers[:1]:
            st.markdown(f"**{remedy.label[0].upper()}{remedy.label[1:]}**: {came_of_it}.")
            if st.button("Apply", on_click=link.put, args=(remedy.fields,), key="remedy"):
                st.rerun()  # the press reran this fragment only, and the controls lie outside
    return found.waiting


def _fit_axes() -> None:
    FIT.put(FIT.get() + 1)


def _pin(cfg: RunConfig) -> None:
    view, _ = view_at(cfg, playhead(NAME, [cfg]).step)
    if view is not None:
        PINNED.put(row_profile(view))


def _clear() -> None:
    PREVIOUS.pop()
    PINNED.pop()
