"""The page Common claims: claims as a grid of cards; the open one asks for a guess, then runs its experiment."""

import streamlit as st

from components.claims import run
from components.shell import address, cards, session, waiting
from components.shell.text import explained
from models.claims.claims import CLAIMS, TOPICS, Claim, matching

KEY, CHOICE = "claim", "claim_choice"
TEXT, TOPIC = "claim_search", "claim_topic"
ALL = "all topics"
LONGEST = 100  # characters of a search


def chosen() -> Claim | None:
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
        topic = st.selectbox("Topic", topics, width=200, **about)
        left_over = matching(text, "" if topic == ALL else topic)
        st.caption(f"{len(left_over)} of {len(CLAIMS)} claims")
    if not left_over:
        st.info("No claim contains all these words.")
        return
    titles = {_title(claim): claim for claim in left_over}
    offered = [cards.ChoiceCard(title, claim.topic, mark=run.mark(claim)) for title, claim in titles.items()]
    cards.cards("Claim", offered, None, key="claims", choose=lambda title: _open(titles[title].key))


def draw(claim: Claim) -> None:
    """Claim and experiment; the truth is shown after a guess and the run."""
    cards.leave("claim", list(CLAIMS), claim.key, _open)
    st.subheader(f"“{claim.title}”", anchor=False)
    st.markdown(f"**Experiment.** {explained(claim.question)}")
    waiting.poll_while(f"claim_{claim.key}", lambda: run.watch(claim))


def _title(claim: Claim) -> str:
    return f"{list(CLAIMS).index(claim.key) + 1}. {claim.title.replace('`', '')}"


def _open(key: str | None) -> None:
    session.set_widget(CHOICE, key)
