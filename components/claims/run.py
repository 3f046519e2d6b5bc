"""The experiment of the open card: a guess, then Run gathers numbers from numpy and the trainer, which judge it."""

from typing import Any

import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import by_name, depth_profile
from components.charts.diagram import show_blocks
from components.charts.parts import Figure
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge, explained, named_table, number, typed
from components.shell.visitor import owner
from components.shell.ways_on import to_compare, to_playground
from components.stage.answer import Reply, answer
from components.stage.view import sentence
from models.claims.card import FAILS, HOLDS, PARTLY, Asked, Card, Computed, Judgement, Lines, Source, Trained
from models.service.client import Requester, trainer
from models.spec.pairings import MAX_COLUMNS
from models.spec.plan import block_name

NAME = "error"
ROLES = ("now", "other", "formula", "initial")
GUESSES = {"true": HOLDS, "false": FAILS, "true only if ...": PARTLY}
ICONS = {HOLDS: ":material/check_circle:", FAILS: ":material/cancel:", PARTLY: ":material/rule:"}

ERROR_RUNNING = Key("error_{}_running", False)
ERRORS_GUESSED: Key[dict[str, bool]] = Key("errors_guessed_right", {})  # by card, whether the guess was right


def watch(card: Card) -> bool:
    """The experiment beside its picture: the blocks of its nets, then its chart. Returns whether it is running."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        running, outcome = _experiment(card)
    with right:
        if outcome is None:
            show_blocks(card.nets, f"error_{card.key}")
        else:
            picture(card, outcome)
    return running


def _experiment(card: Card) -> tuple[bool, Judgement | None]:
    """The guess, the button, the progress, and the verdict. Returns whether it is running, and the outcome."""
    key = f"error_{card.key}_running"

    def press(running: bool) -> None:
        ERROR_RUNNING.of(card.key).put(running)

    guess = f"error_{card.key}_guess"
    running = ERROR_RUNNING.of(card.key).get()
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
        _open(card)
        return False, None
    who = owner(NAME, *(source.cfg for source in card.needs.values() if isinstance(source, Trained)))
    who = who._replace(screen=f"{NAME} {card.key}")  # opening another card cancels this one's requests
    replies = {name: gather(source, who._replace(part=name)) for name, source in card.needs.items()}
    refusal = next((f"{name}: {reply.refusal}" for name, reply in replies.items() if reply.refusal), "")
    running = not refusal and any(reply.waiting for reply in replies.values())
    if running or refusal:
        done = sum(reply.share if reply.waiting else 1.0 for reply in replies.values()) / len(replies)
        Reply(refusal=refusal, share=done).show("Running")
    word = "Stop" if running else "Clear"
    st.button(word, key=f"{key}_{word.lower()}", icon=":material/close:", on_click=press, args=(False,))
    if running or refusal:
        return running, None
    outcome = card.judge({name: reply.value for name, reply in replies.items()})
    ERRORS_GUESSED.mutable()[card.key] = GUESSES.get(str(said)) == outcome.verdict
    show(card, outcome, str(said))
    with st.expander("What is true"):
        st.markdown(explained(typed(card.truth, "recorded" if card.nets else "formula")))
        st.caption("Read more: " + ", ".join(f"[{name}]({address})" for name, address in card.sources.items()))
    _open(card)
    return False, outcome


def mark(card: Card) -> str:
    """A sign for a card that was run in this visit: whether the guess was right."""
    right = ERRORS_GUESSED.get().get(card.key)
    return "" if right is None else "✓" if right else "✗"


def gather(source: Source, who: Requester) -> Reply[Any]:
    """What a source gives, or how far it is."""
    if isinstance(source, Computed):
        return Reply(source.numbers())
    if isinstance(source, Asked):
        return answer(source.question, source.cfg, owner=who, **source.args)
    tape = trainer().want(source.cfg, source.cfg.steps, owner=who)
    if tape.error:
        return Reply(refusal=sentence(tape.error))
    return Reply(tape.trace()) if tape.done else Reply(share=tape.length / source.cfg.steps)


def show(card: Card, outcome: Judgement, guess: str) -> None:
    """The verdict beside the guess, and its sentence."""
    condition = f" {outcome.condition}" if outcome.verdict == PARTLY else ""
    said = f"{outcome.verdict}{condition}."
    right = ERRORS_GUESSED.get()[card.key]
    scored = f"You were right: {said}" if right else f"You guessed “{guess}”. Not quite: {said}"
    st.markdown(f"{ICONS[outcome.verdict]} **{scored}** {explained(outcome.sentence)} {badge(card.badge)}")


def picture(card: Card, outcome: Judgement) -> None:
    """The outcome's chart, if it has one, and its numbers."""
    if outcome.lines is not None:
        static_chart(chart(outcome.lines), outcome.lines.title, f"error_{card.key}_lines")
    cells = {
        name: [one if isinstance(one, str) else number(float(one)) for one in column]
        for name, column in outcome.table.items()
    }
    named_table(card.setup, cells)


def chart(lines: Lines) -> Figure:
    """The lines of an outcome over depth."""
    sites = ["x0", *(block_name(at) for at in range(1, max(len(one) for one in lines.values.values())))]
    series = by_name(lines.values, ROLES)
    hue = GRADIENT if lines.title.startswith("Gradient") else SIGNAL
    return depth_profile(title=lines.title, unit=lines.unit, hue=hue, sites=sites, series=series)


def _open(card: Card) -> None:
    """A link to the nets of a card, if it has any."""
    nets = list(card.nets.values())
    if len(nets) == 1:
        to_playground(nets[0])
    elif nets:
        to_compare(nets[:MAX_COLUMNS])
