"""The playground's parts between its controls and its charts: what is refused, what is kept, what is compared."""

from dataclasses import replace

import streamlit as st

from components import compare_link, controls, link, picture, player, projector, take_home
from components.address import kept
from components.diagram import show_diagram
from components.hide import any_hidden, hidden
from components.instruments import instruments
from components.instruments.panel import BADGES
from components.playhead import Playhead
from components.viewers import owner
from components.watch import View, crowded, look, trouble
from models.insight.remedy import remedy
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
        began, trace = head.shown, tape.trace()
        head.tick(player.now(), tape.length, tape.done)
        reached = trace is not None and head.stop_at_loss(began, trace.loss)
        view, waiting = look(cfg, head, before, owner(NAME, cfg))
        refused = trouble(cfg) if waiting else ""
        if refused:
            head.pause()
        player.controls(NAME, head)
        with projector.line(NAME, head):
            _status(cfg, view, head, waiting and not refused)
        if reached:
            st.toast(f"Stopped: the loss has reached {head.stop_loss:g} at step {head.shown}.", icon=":material/flag:")
        if refused:
            st.error(refused)
        measuring = False
        if view is not None:
            _keep(view, before)
            take_home.check(view)
            if projector.on():
                _projected(view, head)
            else:
                _charts(view, head)
                measuring = not hidden("instruments") and instruments(view, head)
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
    elif tape.done and head.shown >= tape.length - 1 > 0:
        facts.append("diverged" if tape.divergence else "done")
    facts += crowded(tape)
    kind = "recorded" if view is not None and view.recorded else "measured"
    st.caption(f"{' · '.join(facts)} · :{BADGES[kind]}-badge[{kind}]")


def _keep(view: View, before: View | None) -> None:
    """Remembers what is shown, and makes the picture before the last change the ghost."""
    if before is not None and before.cfg != view.cfg:
        st.session_state[GHOST] = picture.profile_of(before)
    st.session_state[VIEW] = view


def _charts(view: View, head: Playhead) -> None:
    if not hidden("verdict"):
        _headline(view)
    others = _others()
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


def _projected(view: View, head: Playhead) -> None:
    """The charts for a projector; their numbers further down."""
    if not hidden("verdict"):
        _headline(view)
    others = _others()
    picture.projected(view, head, others, factor=projector.FACTOR, height=projector.HEIGHT)
    if st.toggle("Table", key="table", help="The numbers behind the three charts."):
        picture.tables(view, head, others)


def _others() -> list[tuple[str, picture.Profile]]:
    """The profiles to compare with: the one before the last change, and the pinned one."""
    return [(role, kept) for role in (GHOST, PINNED) if (kept := st.session_state.get(role)) is not None]


def _headline(view: View) -> None:
    """The verdict over all charts; after a divergence where it began, and one change that helps."""
    divergence = view.trace.divergence
    if divergence is None or view.row < divergence.step:
        first, *others = verdicts(view.cfg, view.trace, view.row)
        also = " ".join(other.sentence for other in others)
        st.markdown(f"**{picture.VERDICT_ICONS[first.kind]} {first.sentence}** {also}", help=THRESHOLDS)
        return
    help_ = remedy(view.cfg)
    with st.container(horizontal=True, vertical_alignment="center"):
        icon = picture.VERDICT_ICONS["diverged"]
        st.markdown(f":red[**{icon} {divergence.sentence()}**] What came before stays.", width="stretch")
        if not any_hidden(help_.fields):
            st.button(help_.label, on_click=link.put, args=(help_.fields,), key="remedy")


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
