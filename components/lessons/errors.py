"""The errors page: a searchable list of claims, one card open, and its set-up, which runs at a button and is judged."""

import streamlit as st

from components import address, waiting
from components.lessons import errors_run
from models.lessons.errors import ERRORS, found
from models.lessons.errors_card import TOPICS, Card

KEY, CHOICE = "error", "error_choice"
TEXT, TOPIC = "error_search", "error_topic"
ALL = "all topics"


def choose() -> Card | None:
    """The search, the topics, and the cards that they leave, of which one is open; None where they leave none."""
    state = st.session_state
    state.setdefault(TEXT, "")
    state.setdefault(TOPIC, ALL)
    before = state.get(CHOICE)
    address.kept(CHOICE, next(iter(ERRORS)), name=KEY, among=ERRORS)
    if state[CHOICE] != before and state[CHOICE] not in _left():
        state[TEXT], state[TOPIC] = "", ALL  # a link has opened a card that the search leaves out
    left, right = st.columns([2, 1])
    tip = "warm-up, eps, batch ..."
    left.text_input("Search", key=TEXT, placeholder=tip, persist_state="session", on_change=_narrow)
    right.selectbox("Topic", [ALL, *TOPICS], key=TOPIC, persist_state="session", on_change=_narrow)
    cards = _left()
    st.caption(f"{len(cards)} of {len(ERRORS)} errors")
    if not cards:
        st.info("No error has all these words.")
        return None
    titles = {key: f"{list(ERRORS).index(key) + 1}. {ERRORS[key].claim.replace('`', '')}" for key in cards}
    st.selectbox("Error", cards, key=CHOICE, format_func=titles.__getitem__, persist_state="session")
    return ERRORS[str(state[CHOICE])]


def _left() -> list[str]:
    """The cards that the search and the topic leave."""
    text, topic = str(st.session_state[TEXT]), str(st.session_state[TOPIC])
    return [card.key for card in found(text, "" if topic == ALL else topic)]


def _narrow() -> None:
    """Opens the first card that is left where the open one is not among them."""
    left = _left()
    if left and st.session_state[CHOICE] not in left:
        st.session_state[CHOICE] = left[0]


def draw(card: Card) -> None:
    """Claim, truth, sources, and the set-up with its button."""
    st.subheader(f"“{card.claim}”", anchor=False)
    st.markdown(f"**What is true.** {card.truth}")
    st.caption("Read more: " + ", ".join(f"[{name}]({address})" for name, address in card.sources.items()))
    st.markdown(f"**Set-up.** {card.setup}")
    waiting.waits(f"error_{card.key}", lambda: errors_run.watch(card))
