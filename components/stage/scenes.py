"""Scenes: a stage that is scrolled. The text of a scene stands beside a picture that stays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.stage.panels import Panel


@dataclass(frozen=True)
class Choice:
    """The net of a scene that lets the reader choose: its depth, up to `most` blocks, its residual and its norm."""

    depth: int
    most: int
    residual: bool
    norm: bool


@dataclass(frozen=True)
class Scene:
    """A heading, a text, and the panels of the picture, one of each kind and all of one run.

    The net is shown before training; if it `plays`, it is trained to the end once the scene is reached. `whole`: its
    rows are asked for beforehand, because it plays or because the text is about them. `after`: what the text adds once
    the reader has watched the run to its end.
    """

    title: str
    text: str
    run: int
    panels: Sequence[Panel]
    plays: bool = False
    whole: bool = False
    choice: Choice | None = None
    after: str = ""

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads. A panel of a kind is the same one in every scene: only its run changes."""
        panels = [panel.to_json(runs, seeds) | {"key": panel.kind} for panel in self.panels]
        choice = vars(self.choice) if self.choice else None
        return {**vars(self), "panels": panels, "choice": choice}
