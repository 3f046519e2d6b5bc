"""The run of the open paper: one button gathers numbers from the trainer and numpy, which judge the result."""

import streamlit as st

from components.charts.diagram import show_blocks
from components.player import experiment
from components.shell.hidden_parts import is_hidden
from components.shell.link import MAPS
from components.shell.page_links import link_to_compare, link_to_playground
from components.shell.session import Key
from components.shell.text import badge, named_table, with_badge, with_explained_words
from models.content import Texts
from models.experiment import Finding
from models.papers.judging import HOLDS, NOT_HERE, PARTLY, UNDECIDED
from models.papers.papers import Paper

TEXTS = Texts("papers")
NAME = "paper"
ICONS = {
    HOLDS: ":material/check_circle:",
    NOT_HERE: ":material/cancel:",
    PARTLY: ":material/rule:",
    UNDECIDED: ":material/help:",
}
MARKS = {HOLDS: "✓", NOT_HERE: "✗", PARTLY: "≈", UNDECIDED: "?"}

PAPER_RUNNING = Key("paper_{}_running", False)
PAPER_VERDICTS: Key[dict[str, str]] = Key("paper_verdicts", {})  # by paper that was run in this visit


def draw(paper: Paper) -> bool:
    """Draws set-up, button and verdict beside the figure. Returns whether it is running."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        running, finding = _draw_experiment(paper)
    with right:
        if finding is not None:
            experiment.draw_finding(finding, paper.question, f"paper_{paper.key}")
        elif paper.opened:
            show_blocks({name: paper.nets[name] for name in paper.opens}, f"paper_{paper.key}")
    if finding is not None:  # at the page's width, which the verdicts need
        named_table(TEXTS("statements"), paper.statements(finding, verdicts=not is_hidden("answers")))
    return running


def verdict_mark(paper: Paper) -> str:
    """A sign of the verdict; empty for a paper that was not run in this visit."""
    return "" if is_hidden("answers") else MARKS.get(PAPER_VERDICTS.get().get(paper.key, ""), "")


def _draw_experiment(paper: Paper) -> tuple[bool, Finding | None]:
    """Draws set-up, button, progress and verdict. Returns whether it is running, and its finding."""
    key = f"paper_{paper.key}_running"

    def press(running: bool) -> None:
        PAPER_RUNNING.of(paper.key).put(running)

    st.markdown(TEXTS("claim", result=with_explained_words(paper.result)))
    st.markdown(TEXTS("set-up", setup=with_explained_words(paper.question)))
    running = False
    values = None
    if not PAPER_RUNNING.of(paper.key).get():
        icon = ":material/play_arrow:"
        label = TEXTS("read" if paper.recorded else "run")
        st.button(label, key=f"{key}_run", icon=icon, type="primary", on_click=press, args=(True,))
    else:
        running, values = experiment.source_values(paper, NAME)
        word = "Stop" if running else "Clear"
        st.button(word, key=f"{key}_{word.lower()}", icon=":material/close:", on_click=press, args=(False,))
    finding = paper.finding(values) if values is not None else None
    if finding is not None and is_hidden("answers"):
        st.info(TEXTS("answer hidden"))
    elif finding is not None:
        PAPER_VERDICTS.mutable()[paper.key] = finding.answer
        _draw_verdict(finding, "recorded" if paper.recorded else "measured")
    st.markdown(TEXTS("cannot", cannot=with_explained_words(paper.cannot)))
    if finding is not None and not is_hidden("answers"):
        with st.expander(TEXTS("why")):
            st.markdown(with_explained_words(with_badge(paper.why, "recorded")))
    _draw_links(paper)
    return running, finding


def _draw_verdict(finding: Finding, badge_name: str) -> None:
    """Draws the verdict, the statements that did not hold, and the numbers with their badge."""
    verdict = finding.answer[0].upper() + finding.answer[1:]
    missed = TEXTS("not so", missed=finding.condition) if finding.condition else ""
    sentence = f"{missed} {with_explained_words(finding.sentence)}".strip()
    text = TEXTS("verdict", verdict=verdict, sentence=sentence)
    st.markdown(f"{ICONS[finding.answer]} {text} {badge(badge_name)}")


def _draw_links(paper: Paper) -> None:
    if len(paper.opened) == 1:
        link_to_playground(paper.opened[0])
    elif paper.opened:
        link_to_compare(paper.opened, seeds=paper.opened_seeds)
    if paper.map:
        label = TEXTS("again" if paper.recorded else "map")
        st.page_link(MAPS, label=label, icon=":material/grid_on:", query_params={"map": paper.map})
