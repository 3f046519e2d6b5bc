"""The experiment of the open claim: a guess, then Run gathers numbers from numpy and the trainer, which judge it."""

from typing import Any

import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import by_name, depth_profile
from components.charts.diagram import show_blocks
from components.charts.parts import Figure
from components.player.answer import Reply, answer
from components.player.view import sentence
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge, explained, explanation, named_table, number
from components.shell.visitor import owner
from components.shell.ways_on import to_compare, to_playground
from models.claims.claims import Claim
from models.claims.judging import FAILS, HOLDS, PARTLY
from models.experiment import Asked, Computed, Finding, Lines, Source, Trained
from models.service.client import Requester, trainer
from models.spec.pairings import MAX_COLUMNS
from models.spec.plan import block_name

NAME = "claim"
ROLES = ("now", "other", "formula", "initial")
GUESSES = {"true": HOLDS, "false": FAILS, "true only if ...": PARTLY}
ICONS = {HOLDS: ":material/check_circle:", FAILS: ":material/cancel:", PARTLY: ":material/rule:"}

CLAIM_RUNNING = Key("claim_{}_running", False)
CLAIMS_GUESSED: Key[dict[str, bool]] = Key("claims_guessed_right", {})  # by claim, whether the guess was right


def watch(claim: Claim) -> bool:
    """The experiment beside its picture: the blocks of its nets, then its chart. Returns whether it is running."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        running, outcome = _experiment(claim)
    with right:
        if outcome is None:
            show_blocks(claim.nets, f"claim_{claim.key}")
        else:
            picture(claim, outcome)
    return running


def _experiment(claim: Claim) -> tuple[bool, Finding | None]:
    """The guess, the button, the progress, and the verdict. Returns whether it is running, and the outcome."""
    key = f"claim_{claim.key}_running"

    def press(running: bool) -> None:
        CLAIM_RUNNING.of(claim.key).put(running)

    guess = f"claim_{claim.key}_guess"
    running = CLAIM_RUNNING.of(claim.key).get()
    held: dict[str, Any] = {"key": guess, "disabled": running, "persist_state": "session"}
    said = st.segmented_control("True or false?", list(GUESSES), **held)
    if not running:
        label, icon = "Run", ":material/play_arrow:"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                label, key=f"{key}_run", icon=icon, type="primary", on_click=press, args=(True,), disabled=said is None
            )
            if said is None:
                st.caption("Guess first.")
        _open(claim)
        return False, None
    who = owner(NAME, *(source.cfg for source in claim.sources.values() if isinstance(source, Trained)))
    who = who._replace(screen=f"{NAME} {claim.key}")  # opening another claim cancels this one's requests
    replies = {name: gather(source, who._replace(part=name)) for name, source in claim.sources.items()}
    refusal = next((f"{name}: {reply.refusal}" for name, reply in replies.items() if reply.refusal), "")
    running = not refusal and any(reply.waiting for reply in replies.values())
    if running or refusal:
        done = sum(reply.share if reply.waiting else 1.0 for reply in replies.values()) / len(replies)
        Reply(refusal=refusal, share=done).show("Running")
    word = "Stop" if running else "Clear"
    st.button(word, key=f"{key}_{word.lower()}", icon=":material/close:", on_click=press, args=(False,))
    if running or refusal:
        return running, None
    outcome = claim.finding({name: reply.value for name, reply in replies.items()})
    CLAIMS_GUESSED.mutable()[claim.key] = GUESSES.get(str(said)) == outcome.answer
    show(claim, outcome, str(said))
    with st.expander("What is true"):
        explanation(claim.why, "recorded" if claim.nets else "formula", claim.papers)
    _open(claim)
    return False, outcome


def mark(claim: Claim) -> str:
    """A sign for a claim that was run in this visit: whether the guess was right."""
    right = CLAIMS_GUESSED.get().get(claim.key)
    return "" if right is None else "✓" if right else "✗"


def gather(source: Source, who: Requester) -> Reply[Any]:
    """What a source gives, or how far it is."""
    if isinstance(source, Computed):
        return Reply(source.numbers())
    if isinstance(source, Asked):
        return answer(source.question, source.cfg, owner=who, **source.args)
    log = trainer().want(source.cfg, source.cfg.steps, owner=who)
    if log.error:
        return Reply(refusal=sentence(log.error))
    return Reply(log.trace()) if log.done else Reply(share=log.length / source.cfg.steps)


def show(claim: Claim, outcome: Finding, guess: str) -> None:
    """The verdict beside the guess, and its sentence."""
    condition = f" {outcome.condition}" if outcome.answer == PARTLY else ""
    said = f"{outcome.answer}{condition}."
    right = CLAIMS_GUESSED.get()[claim.key]
    scored = f"You were right: {said}" if right else f"You guessed “{guess}”. Not quite: {said}"
    st.markdown(f"{ICONS[outcome.answer]} **{scored}** {explained(outcome.sentence)} {badge(claim.badge)}")


def picture(claim: Claim, outcome: Finding) -> None:
    """The outcome's chart, if it has one, and its numbers."""
    if outcome.lines is not None:
        static_chart(chart(outcome.lines), outcome.lines.title, f"claim_{claim.key}_lines")
    cells = {
        name: [one if isinstance(one, str) else number(float(one)) for one in column]
        for name, column in outcome.table.items()
    }
    named_table(claim.question, cells)


def chart(lines: Lines) -> Figure:
    """The lines of an outcome over depth."""
    sites = ["x0", *(block_name(at) for at in range(1, max(len(one) for one in lines.values.values())))]
    series = by_name(lines.values, ROLES)
    hue = GRADIENT if lines.title.startswith("Gradient") else SIGNAL
    return depth_profile(title=lines.title, unit=lines.unit, hue=hue, sites=sites, series=series)


def _open(claim: Claim) -> None:
    """A link to the nets of a claim, if it has any."""
    nets = list(claim.nets.values())
    if len(nets) == 1:
        to_playground(nets[0])
    elif nets:
        to_compare(nets[:MAX_COLUMNS])
