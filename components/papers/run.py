"""The run of the open paper: one button, then the trainer and numpy give numbers, which judge the result."""

import streamlit as st

from components.charts.diagram import show_blocks
from components.player.experiment import draw_finding, source_values
from components.shell.link import MAPS
from components.shell.session import Key
from components.shell.text import badge, explained, typed
from components.shell.ways_on import to_compare, to_playground
from models.content import Texts
from models.experiment import Finding
from models.papers.judging import HOLDS, MIN_SEEDS, NOT_HERE, PARTLY
from models.papers.papers import Paper

TEXTS = Texts("papers")
NAME = "paper"
ICONS = {HOLDS: ":material/check_circle:", NOT_HERE: ":material/cancel:", PARTLY: ":material/rule:"}
MARKS = {HOLDS: "✓", NOT_HERE: "✗", PARTLY: "≈"}

PAPER_RUNNING = Key("paper_{}_running", False)
PAPER_VERDICTS: Key[dict[str, str]] = Key("paper_verdicts", {})  # by paper, of those run in this visit


def watch(paper: Paper) -> bool:
    """Set-up, button and verdict beside the figure. Returns whether it is running."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        running, outcome = _experiment(paper)
    with right:
        if outcome is not None:
            draw_finding(outcome, paper.question, f"paper_{paper.key}")
        elif paper.opened:
            show_blocks({name: paper.nets[name] for name in paper.opens}, f"paper_{paper.key}")
    return running


def mark(paper: Paper) -> str:
    """A sign for a paper that was run in this visit: its verdict."""
    return MARKS.get(PAPER_VERDICTS.get().get(paper.key, ""), "")


def _experiment(paper: Paper) -> tuple[bool, Finding | None]:
    """The set-up, the button, the progress and the verdict. Returns whether it is running, and the outcome."""
    key = f"paper_{paper.key}_running"

    def press(running: bool) -> None:
        PAPER_RUNNING.of(paper.key).put(running)

    st.markdown(TEXTS("claim", result=explained(paper.result)))
    st.markdown(TEXTS("set-up", setup=explained(paper.question)))
    running, values = False, None
    if not PAPER_RUNNING.of(paper.key).get():
        icon = ":material/play_arrow:"
        run = TEXTS("read" if paper.recorded else "run")
        st.button(run, key=f"{key}_run", icon=icon, type="primary", on_click=press, args=(True,))
    else:
        running, values = source_values(paper, NAME)
        word = "Stop" if running else "Clear"
        st.button(word, key=f"{key}_{word.lower()}", icon=":material/close:", on_click=press, args=(False,))
    outcome = paper.finding(values) if values is not None else None
    if outcome is not None:
        PAPER_VERDICTS.mutable()[paper.key] = outcome.answer
        show(outcome, "recorded" if paper.recorded else "measured")
    st.markdown(TEXTS("cannot", cannot=explained(paper.cannot)))
    if outcome is not None:
        with st.expander(TEXTS("why")):
            st.markdown(explained(typed(paper.why, "recorded")))
    _open(paper)
    return running, outcome


def show(outcome: Finding, kind: str) -> None:
    """The verdict, which statements did not come out so, the numbers, and how they were made, a key of badges."""
    verdict = outcome.answer[0].upper() + outcome.answer[1:]
    missed = TEXTS("not so", missed=outcome.condition) if outcome.condition else ""
    sentence = f"{missed} {explained(outcome.sentence)}".strip()
    st.markdown(f"{ICONS[outcome.answer]} {TEXTS('verdict', verdict=verdict, sentence=sentence)} {badge(kind)}")


def _open(paper: Paper) -> None:
    """Links to the nets of a paper and to the map that shows it, where it has them."""
    if len(paper.opened) == 1:
        to_playground(paper.opened[0])
    elif paper.opened:
        to_compare(paper.opened, seeds=MIN_SEEDS)
    if paper.map:
        label = TEXTS("again" if paper.recorded else "map")
        st.page_link(MAPS, label=label, icon=":material/grid_on:", query_params={"map": paper.map})
