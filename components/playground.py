"""The playground's parts between its controls and its charts: what is refused, what is kept, what is compared."""

from dataclasses import replace

import streamlit as st

from components import compare_link, controls, link, picture, player, projector, remedies, take_home
from components.address import kept
from components.diagram import show_diagram
from components.hide import any_hidden, hidden
from components.instruments import instruments
from components.instruments.panel import BADGES
from components.playhead import Playhead
from components.view import View, trouble
from components.viewers import owner
from components.watch import crowded, look, tick
from models.insight.remedy import failed
from models.insight.verdict import THRESHOLDS, verdicts
from models.service.client import trainer
from models.spec import ARRANGEMENTS, RunConfig, arrangement_of, knobs
from models.spec.budget import affordable, fitted, over_budget
from models.spec.equation import equation
from models.spec.pairings import changed
from models.spec.rules import repaired

NAME = "playground"
GOOD, GHOST, PINNED, VIEW = "last_good", "ghost", "pinned", "view"


def settle(cfg: RunConfig | None) -> RunConfig:
    """The configuration to show: the one that is set, or the last good one where that is illegal or over budget.

    A visitor who comes by a link to what is over budget has no last one, and sees the nearest that fits.
    """
    if cfg is not None and over_budget(cfg) is None:
        st.session_state[GOOD] = cfg
    if GOOD not in st.session_state:
        st.session_state[GOOD] = fitted(cfg or RunConfig())
    kept: RunConfig = st.session_state[GOOD]
    return kept


def say(cfg: RunConfig, notes: list[str], problem: str) -> None:
    """What a link made necessary, what is refused with the nearest legal change, and what is legal yet misleading."""
    if notes:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info("From the link: " + "; ".join(notes) + ".", width="stretch")
            st.button("Understood", on_click=link.dismiss_notes)
    if problem:
        change = repaired(controls.values())
        st.error(f"{problem} The picture below is still the last one that was legal.")
        _offer(change)
    else:
        wanted, _ = controls.assemble()
        refusal = over_budget(wanted) if wanted is not None else None
        if wanted is not None and refusal:
            smaller = ", ".join(f"{knobs()[name][1].label.lower()} {value}" for name, value in changed(wanted, cfg).items())
            below = f"what fits: {smaller}" if cfg == fitted(wanted) else "still the last one that fits"
            st.error(f"{refusal} The picture below is {below}.")
            _offer(dict([affordable(wanted)]))
    for sentence in controls.warnings(cfg):
        st.warning(sentence)


def watch(cfg: RunConfig) -> None:
    """Player and charts, polling while something moves."""
    head = player.playhead(NAME, cfg)
    if st.session_state.pop(link.RERUN, False):
        player.play(head)

    def body() -> tuple[bool, bool]:
        before: View | None = st.session_state.get(VIEW)
        tape = trainer().tape(cfg)
        began, trace = tick(head, [tape], player.now()), tape.trace()
        if trace is not None:
            head.stop_at_loss(began, trace.loss)
        view, waiting = look(cfg, head, before, owner(NAME, cfg))
        refused = trouble(cfg) if waiting else ""
        if refused:
            head.pause()
        player.controls(NAME, head)
        with projector.line(NAME, head):
            _status(cfg, view, head, waiting and not refused)
        if refused:
            st.error(refused)
        measuring = False
        if view is not None:
            _keep(view, before)
            take_home.check(view)
            if projector.on():
                measuring = _projected(view, head)
            else:
                measuring = _charts(view, head)
                measuring |= not hidden("instruments") and instruments(view, head)
        return (waiting or measuring) and not refused, head.playing

    player.polled(NAME, body, asks=True)


def what_is_set(cfg: RunConfig) -> None:
    """The block diagram and the equation of the configuration, from the same plan that the model is built from; ways out."""
    if not hidden("theory"):
        name = arrangement_of(cfg)
        st.subheader("What is set", anchor=False)
        if name:
            st.markdown(f"**{name}**. {ARRANGEMENTS[name].reading} *{ARRANGEMENTS[name].source}*")
        show_diagram(cfg)
        st.latex(equation(cfg))
    if hidden("export"):
        return
    with st.container(horizontal=True):
        other = replace(cfg, residual=not cfg.residual) if cfg.stack == "single" else RunConfig.arranged("pre-norm", net=cfg.net)
        query = compare_link.to_query([cfg, other], seeds=1)
        st.page_link(link.COMPARE, label="Compare with...", icon=":material/compare_arrows:", query_params=query)
        st.page_link(link.ANATOMY, label="Take the block apart", icon=":material/account_tree:", query_params=cfg.to_query())
    take_home.take_home(cfg, st.session_state.get(VIEW))


def _status(cfg: RunConfig, view: View | None, head: Playhead, waiting: bool) -> None:
    """One line: where the tape is, how fast, on what, how large; and what is awaited."""
    tape, status = trainer().tape(cfg), trainer().status()
    facts = [f"step {view.row} of {cfg.steps}" if view and view.cfg == cfg else f"{cfg.steps} steps"]
    if tape.rate and not tape.done:
        facts.append(f"{tape.rate:.3g} steps/s")
    if tape.device:
        facts += [tape.device, f"{tape.parameters:,} parameters"]
    facts.append(f"seed {cfg.seed}, 1 seed")
    if tape.recomputing:
        cause = f"the trainer ended {status.ending} and was restarted: " if tape.lost and status.ending else ""
        facts.append(f"{cause}recomputing this run, what is drawn stays")
    elif status.state in {"starting", "restarting"}:
        facts.append("torch is loading in the trainer")
    elif waiting and not trainer().place(tape):
        facts.append(f"waiting for the trainer ({status.wanted} runs share it)" if status.wanted > 1 else "computing")
    elif head.reached:
        facts.append(f"stopped: the loss has reached {head.reached:g}")
    elif tape.done and head.shown >= tape.length - 1 > 0:
        facts.append("diverged" if tape.divergence else "done")
    facts += crowded(tape)
    if view is not None:
        kind = "recorded" if view.recorded else "measured"
        facts.append(f":{BADGES[kind]}-badge[{kind}]")
    st.caption(" · ".join(facts))


def _keep(view: View, before: View | None) -> None:
    """Remembers what is shown, and makes the picture before the last change the ghost, where the two can be read together.

    A net of less than half the ghost's depth would be drawn into a corner of its own chart.
    """
    if before is not None and before.cfg != view.cfg:
        ghost = picture.profile_of(before)
        alike = ghost.beside(view.cfg)
        st.session_state[GHOST] = ghost if alike and before.cfg.depth <= 2 * view.cfg.depth else None
        if not alike:
            st.session_state.pop("ranges", None)  # the axes were held for what is no longer drawn
    st.session_state[VIEW] = view


def _charts(view: View, head: Playhead) -> bool:
    """Verdict, charts and the panel below; whether an answer is still to come."""
    waiting = not hidden("verdict") and _headline(view)
    others = _others(view)
    picture.charts(view, head, others)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = kept("panel", picture.PANELS[0], name="panel", among=picture.PANELS)
        panels = st.segmented_control("Below", picture.PANELS, required=True, **choice)
        st.button("Pin this profile", icon=":material/keep:", on_click=_pin, args=(view,), key="pin")
        st.button("Fit the axes", on_click=lambda: st.session_state.pop("ranges", None), key="fit")
        with st.popover("More"):
            numbers = st.toggle("Table", key="table", help="The numbers behind the three charts.")
            st.button("Clear ghost and pin", on_click=_clear, key="clear", disabled=not others)
            _stop_at_loss(head)
    if numbers:
        picture.tables(view, head, others)
    picture.panel(view, head, others, str(panels))
    return waiting


def _projected(view: View, head: Playhead) -> bool:
    """The charts for a projector; their numbers further down. Whether an answer is still to come."""
    waiting = not hidden("verdict") and _headline(view)
    others = _others(view)
    picture.projected(view, head, others, factor=projector.FACTOR, height=projector.HEIGHT)
    if st.toggle("Table", key="table", help="The numbers behind the three charts."):
        picture.tables(view, head, others)
    return waiting


def _others(view: View) -> list[tuple[str, picture.Profile]]:
    """The profiles to compare with: the one before the last change, and the pinned one where it is of the same net and task."""
    kept = [(role, st.session_state.get(role)) for role in (GHOST, PINNED)]
    return [(role, profile) for role, profile in kept if profile is not None and profile.beside(view.cfg)]


def _headline(view: View) -> bool:
    """The verdict over all charts; where a run failed also one change that helps. Whether that is still being looked for."""
    divergence = view.trace.divergence
    if divergence is not None and view.row >= divergence.step:
        icon = picture.VERDICT_ICONS["diverged"]
        st.markdown(f":red[**{icon} {divergence.sentence()}**] What came before stays.")
    else:
        first, *others = verdicts(view.cfg, view.trace, view.row)
        also = " ".join(other.sentence for other in others)
        st.markdown(f"**{picture.VERDICT_ICONS[first.kind]} {first.sentence}** {also}", help=THRESHOLDS)
    if not failed(view.cfg, view.trace, view.row):
        return False
    found = remedies.found(view)
    with st.container(horizontal=True, vertical_alignment="center"):
        for remedy, came_of_it in found.offers[:1]:
            label = f"Set {remedy.label}"
            if st.button(label, on_click=link.put, args=(remedy.fields,), key="remedy", help=came_of_it):
                st.rerun()  # a press here runs the fragment alone, and the controls stand outside of it
        st.caption(found.said)
    return found.waiting


def _stop_at_loss(head: Playhead) -> None:
    """This viewer's loss target; it stops the playhead, not the run."""
    key = f"{NAME}_stop_loss"
    st.session_state.setdefault(key, head.stop_loss)
    tip = "The playhead stops at the first step whose training loss is this small; 0 is off."
    head.stop_loss = float(st.number_input("Stop at loss", 0.0, 10.0, step=0.05, key=key, help=tip, width=150))


def _pin(view: View) -> None:
    st.session_state[PINNED] = picture.profile_of(view)


def _clear() -> None:
    st.session_state[GHOST] = st.session_state[PINNED] = None


def _offer(change: dict[str, object]) -> None:
    """A button that makes the nearest legal change, unless it moves what is hidden."""
    if any_hidden(change):
        return
    label = ", ".join(f"{field} {value}" for field, value in change.items())
    st.button(f"Set {label}", on_click=link.put, args=(change,), key="offer")
