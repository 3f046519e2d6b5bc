"""Which labs, lessons and claims belong together: lessons name their labs (`see`), claims have those of their topic."""

import streamlit as st

from components.shell.hidden_parts import hides_anything
from components.shell.link import PAGES
from models.claims.claims import Claim
from models.content import phrase
from models.labs.labs import LABS
from models.lessons.lessons import LESSONS, Lesson


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
        label = phrase(f"Try it by hand: {LABS[lab].title}")
        st.page_link(PAGES / f"{lab}.py", label=label, icon=":material/science:")


def link_from_lab(lab: str) -> None:
    """Draws links from a lab to its lessons and to the claims of its topics; nothing for other pages."""
    if lab not in LABS or hides_anything():
        return
    numbers = {key: number for number, key in enumerate(LESSONS, start=1)}
    for lesson in lessons_of(lab):
        label, query = f"Lesson {numbers[lesson.key]}: {lesson.title}", {"lesson": lesson.key}
        st.page_link(PAGES / "lessons.py", label=label, icon=":material/school:", query_params=query)
    for topic in LABS[lab].topics:
        label, query = f"Common claims: {topic}", {"topic": topic}
        st.page_link(PAGES / "claims.py", label=label, icon=":material/fact_check:", query_params=query)
