"""The errors page: a searchable list of claims, one card open, and its set-up, which runs at a button and is judged."""

import streamlit as st

from components.claims import run
from components.shell import address, waiting
from models.claims.card import TOPICS, Card
from models.claims.claims import ERRORS, found

KEY, CHOICE = "error", "error_choice"
TEXT, TOPIC = "error_search", "error_topic"
ALL = "all topics"
LONGEST = 100  # characters of a search


def choose() -> Card | None:
    """The search, the topics, and the cards that they leave, of which one is open; None where they leave none."""
    topics = [ALL, *TOPICS]
    search = address.kept(TEXT, "", name="search", bounds=(0, LONGEST))
    about = address.kept(TOPIC, ALL, name="topic", among=topics)
    left, right = st.columns([2, 1])
    text = left.text_input("Search", max_chars=LONGEST, placeholder="warm-up, eps, batch ...", **search)
    topic = right.selectbox("Topic", topics, **about)
    cards = [card.key for card in found(text, "" if topic == ALL else topic)]
    choice = address.kept(CHOICE, next(iter(ERRORS)), name=KEY, among=ERRORS)
    if cards and st.session_state[CHOICE] not in cards:
        st.session_state[CHOICE] = cards[0]
    st.caption(f"{len(cards)} of {len(ERRORS)} errors")
    if not cards:
        st.info("No error has all these words.")
        return None
    titles = {key: f"{list(ERRORS).index(key) + 1}. {ERRORS[key].claim.replace('`', '')}" for key in cards}
    return ERRORS[st.selectbox("Error", cards, format_func=titles.__getitem__, **choice)]


def draw(card: Card) -> None:
    """Claim, truth, sources, and the set-up with its button."""
    st.subheader(f"“{card.claim}”", anchor=False)
    st.markdown(f"**What is true.** {card.truth}")
    st.caption("Read more: " + ", ".join(f"[{name}]({address})" for name, address in card.sources.items()))
    st.markdown(f"**Set-up.** {card.setup}")
    waiting.waits(f"error_{card.key}", lambda: run.watch(card))
