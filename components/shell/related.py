"""Which labs, lessons, claims and papers belong together.

Lessons name their labs (`see`), labs their comparisons; claims have the labs of their topic, and the cards of papers
that they cite.
"""

from collections.abc import Iterable

import streamlit as st

from components.shell.hidden_parts import hides_anything
from components.shell.link import PAGES
from components.shell.page_links import link_to_compare
from models.claims.claims import CLAIMS, Claim
from models.labs.labs import LABS
from models.lessons.lessons import LESSONS, Lesson
from models.papers.papers import PAPERS, Paper
from models.spec.pairings import PAIRINGS


def labs_of(experiment: Lesson | Claim) -> tuple[str, ...]:
    """Addresses of the labs in which a lesson or claim can be tried by hand."""
    if isinstance(experiment, Lesson):
        return experiment.see
    return tuple(address for address, lab in LABS.items() if experiment.topic in lab.topics)


def lessons_of(lab: str) -> list[Lesson]:
    """The lessons that name a lab."""
    return [lesson for lesson in LESSONS.values() if lab in lesson.see]


def link_to_labs(experiment: Lesson | Claim) -> None:
    """Draws links from a lesson or a claim to its labs, unless the page's link hides something."""
    if hides_anything():
        return
    for lab in labs_of(experiment):
        label = f"Try it by hand: {LABS[lab].title}"
        st.page_link(PAGES / f"{lab}.py", label=label, icon=":material/science:")


def link_to_cards(claim: Claim) -> None:
    """Draws links from a claim to the cards of its sources, whose titles say what is true."""
    for card in PAPERS.values():
        if _cites_the_same(claim, card):
            label, query = f"Its paper, run here: {card.title}", {"paper": card.key}
            st.page_link(PAGES / "papers.py", label=label, icon=":material/article:", query_params=query)


def link_to_claims(card: Paper) -> None:
    """Draws links from a card to the claims that cite its source, unless the page's link hides something."""
    if hides_anything():
        return
    for claim in CLAIMS.values():
        if _cites_the_same(claim, card):
            label, query = f"Common claim: “{claim.title}”", {"claim": claim.key}
            st.page_link(PAGES / "claims.py", label=label, icon=":material/fact_check:", query_params=query)


def _cites_the_same(claim: Claim, card: Paper) -> bool:
    return not set(claim.papers.values()).isdisjoint(card.papers.values())


def link_to_comparisons(labs: Iterable[str]) -> None:
    """Draws links to the comparisons of some labs, unless the page's link hides something."""
    if hides_anything():
        return
    for lab in labs:
        for name in LABS[lab].compares:
            link_to_compare(PAIRINGS[name].make(), f"Compare: {name}")


def link_from_lab(lab: str) -> None:
    """Draws links from a lab to its lessons, comparisons and the claims of its topics; nothing for other pages."""
    if lab not in LABS or hides_anything():
        return
    numbers = {key: number for number, key in enumerate(LESSONS, start=1)}
    for lesson in lessons_of(lab):
        label, query = f"Lesson {numbers[lesson.key]}: {lesson.title}", {"lesson": lesson.key}
        st.page_link(PAGES / "lessons.py", label=label, icon=":material/school:", query_params=query)
    link_to_comparisons([lab])
    for topic in LABS[lab].topics:
        label, query = f"Common claims: {topic}", {"topic": topic}
        st.page_link(PAGES / "claims.py", label=label, icon=":material/fact_check:", query_params=query)
