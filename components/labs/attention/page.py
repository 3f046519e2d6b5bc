"""The attention lab: a choice of parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from components.controls import form
from components.labs.attention import (
    feed_forward,
    head,
    positions,
    recurrence,
    rows,
    scaling,
    shapes,
    trained,
    translation,
)
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention"
PARTS: dict[str, Sequence[Callable[[], None]]] = {
    "Single and multi-head": (head.draw, shapes.draw),
    "Softmax and √d_k": (rows.draw, scaling.draw),
    "Positions": (positions.draw,),
    "Positions in trained nets": (trained.draw,),
    "Without feed-forward": (feed_forward.draw,),
    "Encoder and decoder": (translation.draw,),
    "Recurrence or attention": (recurrence.draw,),
}


@dataclass(frozen=True)
class AttentionPart(Settings):
    part: Annotated[str, Knob("Part", choices=dict.fromkeys(PARTS), control="segments")] = next(iter(PARTS))


def draw() -> None:
    for draw_section in PARTS[form.draw(AttentionPart, KEY).part]:
        draw_section()
