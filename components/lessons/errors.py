"""The errors page: a searchable list of claims, one card open, and its set-up, which runs at a button and is judged."""

import streamlit as st

from components import player
from components.lessons import errors_run
from models.lessons.errors import ERRORS, found
from models.lessons.errors_card import TOPICS, Card

KEY = "error"
ALL = "all topics"


def chosen() -> Card:
    """The card in the address, or the one that was open; an unknown one is said, and the first is shown."""
    wanted = st.query_params.get(KEY)
    if wanted is None:
        wanted = str(st.session_state.get("error_shown", next(iter(ERRORS))))
    elif wanted not in ERRORS:
        st.info("There is no error of that name: this is the first.")
    card = ERRORS.get(wanted) or next(iter(ERRORS.values()))
    st.session_state["error_shown"] = card.key
    if st.query_params.get(KEY) != card.key:
        st.query_params[KEY] = card.key
    return card


def choose(card: Card) -> None:
    """The search, the topics, and the cards that they leave; the open one stays open when it is not among them."""
    left, right = st.columns([2, 1])
    text = left.text_input("Search", key="error_search", placeholder="warm-up, eps, batch ...", persist_state="session")
    topic = right.selectbox("Topic", [ALL, *TOPICS], key="error_topic", persist_state="session")
    cards = found(str(text), "" if topic == ALL else str(topic))
    st.caption(f"{len(cards)} of {len(ERRORS)} errors")
    if not cards:
        st.info("No error has all these words. What was open stays open below.")
        return
    keys = [one.key for one in cards]
    # A box of its own for every list: the open card is chosen in it where it is there, and nothing is where it is not.
    name = f"error_choice_{topic}_{text}_{card.key}"
    at = keys.index(card.key) if card.key in keys else None

    def change() -> None:
        if st.session_state[name] is not None:
            st.query_params[KEY] = str(st.session_state[name])

    titles = {key: f"{list(ERRORS).index(key) + 1}. {ERRORS[key].claim.replace('`', '')}" for key in keys}
    st.selectbox("Error", keys, index=at, key=name, format_func=titles.__getitem__, on_change=change, placeholder="Choose one")


def draw(card: Card) -> None:
    """Claim, truth, sources, and the set-up with its button."""
    st.subheader(f"“{card.claim}”", anchor=False)
    st.markdown(f"**What is true.** {card.truth}")
    st.caption("Read more: " + ", ".join(f"[{name}]({address})" for name, address in card.sources.items()))
    st.markdown(f"**Set-up.** {card.setup}")
    player.polled(f"error_{card.key}", lambda: errors_run.watch(card))
