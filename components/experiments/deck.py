"""Experiments of a kind as cards: the address opens one, and a button gathers the numbers that judge it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from components.charts.diagram import show_blocks
from components.controls import form
from components.player.experiment import draw_finding, source_values
from components.shell import cards, session, waiting
from components.shell.hidden_parts import is_hidden
from components.shell.page_links import link_to_compare, link_to_playground
from components.shell.session import Key
from models.experiment import Experiment, Finding
from models.spec.settings import Settings

RUNNING = Key("{}_running", False)  # by kind and key of an experiment
MARKED = Key("{}_marked", "")  # the sign that its run in this visit has earned it
Outcome = tuple[bool, Finding | None]  # whether numbers are being gathered, and what they show
E = TypeVar("E", bound=Experiment)
ALL = "all topics"


@dataclass(frozen=True)
class Deck(Generic[E]):
    """The experiments of a kind. `name`: "claim" in the address; `shown`: the form whose `choice` is the open one."""

    name: str
    experiments: Mapping[str, E]
    shown: type[Settings]

    def chosen(self) -> E | None:
        """The experiment that the address names."""
        form.keep(self.shown, self.name, only=["choice"], legal={"choice": list(self.experiments)})
        return self.experiments.get(str(session.widget_value(f"{self.name}_choice")))

    def matching(self, topic: str) -> list[E]:
        """Experiments on a topic, or on all of them."""
        return [experiment for experiment in self.experiments.values() if topic in (ALL, experiment.topic)]

    def draw_cards(self, by_title: Mapping[str, E], text: Callable[[E], str]) -> None:
        """Draws a grid of cards; one pressed opens its experiment."""
        hidden = is_hidden("answers")
        deck = [
            cards.ChoiceCard(title, text(experiment), mark="" if hidden else self.mark(experiment).get())
            for title, experiment in by_title.items()
        ]
        label, key = self.name.capitalize(), f"{self.name}s"
        cards.draw_cards(label, deck, None, key=key, choose=lambda title: self._open(by_title[title].key))

    def mark(self, experiment: E) -> Key[str]:
        """The sign on the card of an experiment that was run in this visit."""
        return MARKED.of(self._of(experiment))

    def draw_navigation(self, experiment: E) -> None:
        """Draws the ways back to all cards and on to the next."""
        cards.draw_navigation(self.name, list(self.experiments), experiment.key, self._open)

    def draw_blocks(self, experiment: E) -> None:
        if experiment.opened:
            show_blocks(experiment.opened, self._of(experiment))

    def draw_run(
        self, experiment: E, draw: Callable[[E], Outcome], below: Callable[[Finding], None] = lambda finding: None
    ) -> None:
        """Draws the run, again while it gathers numbers; beside it the blocks of its nets, then the finding's figure.

        `below`: draws what needs the page's width, below both.
        """

        def body() -> bool:
            left, right = st.columns([2, 3], gap="medium")
            with left:
                is_gathering, finding = draw(experiment)
            with right:
                if finding is None:
                    self.draw_blocks(experiment)
                else:
                    draw_finding(finding, experiment.question, self._of(experiment))
            if finding is not None:
                below(finding)
            return is_gathering

        waiting.poll_while(self._of(experiment), body)

    def gather(self, experiment: E) -> Outcome:
        """Gathers the numbers of an experiment, and draws the progress."""
        is_gathering, values = source_values(experiment, self.name)
        return is_gathering, None if values is None else experiment.finding(values)

    def running(self, experiment: E) -> Key[bool]:
        """Whether Run was pressed, and neither Stop nor Clear since."""
        return RUNNING.of(self._of(experiment))

    def draw_button(
        self, experiment: E, label: str = "Run", *, hint: str = "", begin: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Draws Run; once pressed, Stop while numbers are gathered, then Clear. `hint`: why it cannot run yet."""
        running = self.running(experiment)

        def press() -> None:
            running.put(True)
            begin()

        if not running.get():
            with st.container(horizontal=True, vertical_alignment="center"):
                key, icon = f"{running.name}_run", ":material/play_arrow:"
                st.button(label, key=key, icon=icon, type="primary", on_click=press, disabled=bool(hint))
                if hint:
                    st.caption(hint)
            return False, None
        is_gathering, finding = self.gather(experiment)
        word = "Stop" if is_gathering else "Clear"
        key = f"{running.name}_{word.lower()}"
        st.button(word, key=key, icon=":material/close:", on_click=running.put, args=(False,))
        return is_gathering, finding

    def draw_links(self, experiment: E) -> None:
        """Draws a link to the playground for one net, to Compare for several."""
        nets = list(experiment.opened.values())
        if len(nets) == 1:
            link_to_playground(nets[0])
        elif nets:
            link_to_compare(nets, seeds=experiment.opened_seeds)

    def _of(self, experiment: E) -> str:
        return f"{self.name}_{experiment.key}"

    def _open(self, key: str | None) -> None:
        session.set_widget(f"{self.name}_choice", key)
