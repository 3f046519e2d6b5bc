"""The page Common claims: claims as a grid of cards; the open one asks for a guess, then runs its experiment."""

import streamlit as st

from components.claims import run
from components.shell import address, cards, session, waiting
from components.shell.text import explained
from models.claims.card import TOPICS, Card, topic_in_words
from models.claims.claims import CLAIMS, matching

KEY, CHOICE = "error", "error_choice"
TEXT, TOPIC = "error_search", "error_topic"
ALL = "all topics"
LONGEST = 100  # characters of a search


def chosen() -> Card | None:
    """The claim that the address names."""
    address.url_param(CHOICE, None, name=KEY, among=CLAIMS)
    return CLAIMS.get(str(session.widget_value(CHOICE)))


def grid() -> None:
    """Search, topic, and the cards that match."""
    topics = [ALL, *TOPICS]
    search = address.url_param(TEXT, "", name="search", bounds=(0, LONGEST))
    about = address.url_param(TOPIC, ALL, name="topic", among=topics)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Search", max_chars=LONGEST, placeholder="warm-up, eps, batch ...", width=320, **search)
        topic = st.selectbox("Topic", topics, format_func=topic_in_words, width=200, **about)
        left_over = matching(text, "" if topic == ALL else topic)
        st.caption(f"{len(left_over)} of {len(CLAIMS)} claims")
    if not left_over:
        st.info("No claim contains all these words.")
        return
    titles = {_title(card): card for card in left_over}
    offered = [
        cards.ChoiceCard(title, topic_in_words(card.topic), mark=run.mark(card)) for title, card in titles.items()
    ]
    cards.cards("Claim", offered, None, key="errors", choose=lambda title: _open(titles[title].key))


def draw(card: Card) -> None:
    """Claim and experiment; the truth is shown after a guess and the run."""
    keys = list(CLAIMS)
    at = keys.index(card.key)
    with st.container(horizontal=True):
        st.button("All claims", icon=":material/grid_view:", type="tertiary", on_click=_open, args=(None,))
        if at + 1 < len(keys):
            after, icon = keys[at + 1], ":material/arrow_forward:"
            st.button("Next claim", icon=icon, type="tertiary", on_click=_open, args=(after,))
    st.subheader(f"“{card.claim}”", anchor=False)
    st.markdown(f"**Experiment.** {explained(card.setup)}")
    waiting.poll_while(f"error_{card.key}", lambda: run.watch(card))


def _title(card: Card) -> str:
    return f"{list(CLAIMS).index(card.key) + 1}. {card.claim.replace('`', '')}"


def _open(key: str | None) -> None:
    session.set_widget(CHOICE, key)
