"""The playground below its controls: player, charts, nets that were tried, and the network's equation."""

import secrets
from dataclasses import dataclass, replace
from typing import Annotated, Any

import streamlit as st

from addnorm.player.declare import Headline, Panel
from components.controls import drive, form, panel, shown_config
from components.instruments import draw_instruments
from components.instruments.panel import INSTRUMENT
from components.player import drawn_net, engine
from components.player.page import panels_below, player, playhead
from components.player.view import View, as_sentence, failure_sentence, view_at
from components.playground import picture, take_home, tried
from components.playground.next_step import NextStep, next_step
from components.playground.presets import preset_hint
from components.playground.tried import Beside
from components.shell import link, projector, session
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.link import LINK_RERUN
from components.shell.naming import ARRANGEMENT_FIELDS
from components.shell.page_links import link_to_compare
from components.shell.session import Key
from components.shell.waiting import poll_while
from models.content import Texts
from models.insight.verdict import thresholds
from models.spec import RunConfig, arrangement_of, knobs
from models.spec.budget import budget_refusal
from models.spec.equation import equation
from models.spec.knob import Knob
from models.spec.pairings import contrasting_pair
from models.spec.rules import MAX_TRANSFORMER_DEPTH
from models.spec.settings import Settings

NAME = "playground"

VIEW: Key[View | None] = Key("view", None)
STARTED = Key("playground_started", "")  # a random token per request to play the run
STOP_LOSS = Key("playground_stop_loss", 0.0)
AXES_VERSION = Key("playground_fit", 0)  # number of times that the axes were rescaled; in between they never shrink
# The run, and whether it had rows.
LAST_SEEN_RUN: Key[tuple[RunConfig | None, bool]] = Key("playground_rows", (None, False))
LEAVING: Key[NextStep | None] = Key("playground_leaving", None)  # a step that opens another page
TOUCHED = Key("playground_touched", False)  # whether a press below the controls has just changed the net
FOLLOWS: Key[dict[str, Any]] = Key("playground_follows", {})  # fields to which the controls have still to be set
# The net whose drawing asked for a change, and why that was not made.
REFUSED: Key[tuple[RunConfig | None, str]] = Key("playground_refused", (None, ""))
LAST_NORM = Key("playground_norm", RunConfig.norm)  # that the net had when it last had one
# What the drawing of the net changes, with what hides each part; and the headings of parts that are pressed.
TOUCH = {
    "residual": ("residual",),
    "norm": ("norm",),
    "out": ("overrides",),
    "own": ("overrides", "residual"),
    "depth": ("depth",),
}
PRESSED = {"residual": "residual", "norm": "norm", "out": "block"}
TEXTS = Texts("playground")


@dataclass(frozen=True)
class OpenPanel(Settings):
    """The open panel below the charts."""

    panel: Annotated[str, Knob("Show", choices=dict.fromkeys(picture.PANELS), control="segments")] = picture.PANELS[0]


def follow() -> None:
    """Sets the controls, before they are drawn, to what the drawing has changed since."""
    link.put(FOLLOWS.pop())


def draw() -> None:
    """Draws the player, and measurements at the step where its playhead rests."""
    if LINK_RERUN.pop():
        STARTED.put(secrets.token_hex(4))
    TOUCHED.pop()  # the page follows in this run
    poll_while(NAME, _draw_fragment)


def _draw_fragment() -> bool:
    """Draws player, chart controls and instruments. Returns whether an answer is pending.

    After a touch it also returns True: the rest of the page follows a moment later, when this part has been drawn.
    """
    leaving = LEAVING.pop()
    if leaving is not None and leaving.page is not None:
        st.switch_page(leaving.page, query_params=leaving.query)
    cfg, is_touched = shown_config.last_good(), TOUCHED.pop()
    if is_touched:
        link.write(cfg)
    last_view = VIEW.get()
    if last_view is not None and last_view.cfg != cfg:
        _store_previous(last_view, cfg)
    offer = engine.offer([cfg], always=drive.trains_in_browsers())
    position = playhead(NAME, [cfg], here=offer)
    view, is_late = view_at(cfg, 0 if position.here else position.step)
    others = tried.beside(cfg)
    following = NextStep("")
    if view is not None and not is_late and not position.here and not is_hidden("verdict"):
        following = next_step(view, tried.PREVIOUS.get())
    _draw_player(cfg, others, position.step, following, offer)
    is_refused = is_late and bool(failure_sentence(cfg))
    if view is None:
        return not is_refused or is_touched
    view = replace(view, here=position.here)
    VIEW.put(view)
    tried.remember(view)
    take_home.check_digest(view)
    is_measuring = following.waiting
    if not projector.is_on():
        tried.draw(cfg, position.step, _show)
        _draw_panels(cfg, others)
        if view.here and not is_hidden("instruments"):
            st.caption(engine.TEXTS("no instruments"))
        elif not is_hidden("instruments"):
            is_measuring |= draw_instruments(view, position, NAME)
    _rerun_for_export(view)
    return ((is_late or is_measuring) and not is_refused) or is_touched


def _draw_player(cfg: RunConfig, others: list[Beside], step: int, following: NextStep, offer: dict[str, Any]) -> None:
    """Draws stack, verdict with the step that follows, player, answers and charts, with `others` over these.

    `offer`: how the browser trains the run.
    """
    on_projector = projector.is_on()
    fit = AXES_VERSION.get()
    height = projector.STACK_HEIGHT if on_projector else picture.STACK_HEIGHT
    stack = picture.stack_panel(cfg, fit, height=height, **_touch(cfg))
    verdict = Headline(
        help=thresholds(),
        hint=preset_hint(cfg),
        note=following.note,
        next=following.label,
        next_step=-1 if following.waiting else step,
    )
    over: list[Panel] = [stack] if is_hidden("verdict") else [stack, verdict]
    panels_below(NAME, "over", over, on_choice=_choose, on_advance=lambda label: _advance(following, label))
    player(
        NAME,
        [cfg],
        [picture.loss_chart(cfg, fit, others, large=on_projector)],
        beside=[other.cfg for other in others],
        reports="follow" if INSTRUMENT.get() else "rest",
        keys=drive.keys_hint(),
        start=drive.play_request() or STARTED.get(),
        stop_loss=STOP_LOSS.get(),
        restore=True,
        here=offer,
        facts=[f"seed {cfg.seed}, 1 seed"],
    )
    if not on_projector:  # style.css puts it beside the stack
        panels_below(NAME, "answers", [picture.answers_panel(cfg)])
    panels_below(NAME, "charts", picture.charts(cfg, others, fit, large=on_projector), runs=1 + len(others))


def _touch(cfg: RunConfig) -> dict[str, Any]:
    """What makes the drawing a control of what no link hides; see StackPanel."""
    if cfg.norm != "none":
        LAST_NORM.put(cfg.norm)
    parts = _touched_parts()
    if not parts:
        return {}
    hint = TEXTS("drag")
    if pressed := [TEXTS(PRESSED[part]) for part in PRESSED if part in parts]:
        listed = " or ".join(filter(None, (", ".join(pressed[:-1]), pressed[-1])))
        hint = TEXTS("press and drag" if "depth" in parts else "press", parts=listed)
    asked_of, refusal = REFUSED.get()
    net = drawn_net.declared(NAME, cfg, _most(cfg), LAST_NORM.get(), parts)
    return {"net": net, "hint": hint, "refused": refusal if asked_of == cfg else ""}


def _advance(following: NextStep, label: str) -> None:
    """Takes the step whose button was pressed."""
    if label != following.label or following.waiting:
        return
    if following.page is not None:
        LEAVING.put(following)
    elif following.fields:
        _show(replace(shown_config.last_good(), **following.fields))
    else:
        STARTED.put(secrets.token_hex(4))


def _touched_parts() -> list[str]:
    return [part for part, hidden_by in TOUCH.items() if not any_hidden(hidden_by)]


def _most(cfg: RunConfig) -> int:
    return MAX_TRANSFORMER_DEPTH if cfg.net == "transformer" else int(knobs()["depth"][1].high)


def _choose(fields: dict[str, Any]) -> None:
    """Shows the net that the drawing asks for, or says why not."""
    cfg, refusal = shown_config.last_good(), ""
    try:
        chosen = drawn_net.chosen_net(NAME, cfg, fields, norm=LAST_NORM.get(), most=_most(cfg), parts=_touched_parts())
    except ValueError as error:
        chosen, refusal = None, as_sentence(str(error))
    if chosen is not None:
        refusal = budget_refusal(chosen) or ""
    REFUSED.put((cfg, refusal))
    if chosen is not None and not refusal:
        _show(chosen)


def _show(cfg: RunConfig) -> None:
    """Shows another net, which the controls follow; a projector that leads a class shows it on every screen."""
    if drive.show(cfg):
        return
    FOLLOWS.put({name: getattr(cfg, name) for name, value in panel.values().items() if getattr(cfg, name) != value})
    shown_config.config_to_show(cfg)
    TOUCHED.put(True)


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


def _store_previous(last: View, cfg: RunConfig) -> None:
    """Stores the net before the last change, as far as it was shown."""
    previous = last.cfg
    tried.PREVIOUS.put(previous)
    tried.remember(view_at(previous, playhead(NAME, [previous]).step)[0] or last)
    if (previous.net, previous.task) != (cfg.net, cfg.task):
        _fit_axes()  # they were scaled for the old curves


def _draw_panels(cfg: RunConfig, others: list[Beside]) -> None:
    """Draws the open panel below the charts, and its controls."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        names = picture.panel_names(cfg)
        if form.keep(OpenPanel, "", OpenPanel(names[0])).panel not in names:  # from a link or another task
            form.put("", panel=names[0])
        legal = {"panel": names}
        name = form.draw(OpenPanel, "", legal=legal, is_kept=True, places=[row], label_visibility="collapsed").panel
        st.button("Rescale", on_click=_fit_axes, key="fit")
        with st.popover("More"):
            tip = "The playhead stops at the first step with a training loss this small; 0 turns it off."
            st.number_input(
                "Stop at loss", 0.0, 10.0, step=0.05, key=STOP_LOSS.name, help=tip, width=150, persist_state="session"
            )
    panels = picture.panel_charts(cfg, others, AXES_VERSION.get(), str(name))
    panels_below(NAME, "panel", panels, runs=1 + len(others))


def _rerun_for_export(view: View) -> None:
    """Reruns the page at a run's first row if the export panel is open: the panel lies outside this fragment."""
    last_seen = LAST_SEEN_RUN.get()
    LAST_SEEN_RUN.put((view.cfg, view.is_trained))
    if view.is_trained and last_seen == (view.cfg, False) and session.widget_value(take_home.KEY):
        st.rerun()


def _fit_axes() -> None:
    AXES_VERSION.put(AXES_VERSION.get() + 1)
