"""The attention lab: a choice of parts, and the chosen one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from components.controls import form
from components.labs.attention import feed_forward as attention_feed_forward
from components.labs.attention import head as attention_head
from components.labs.attention import positions as attention_positions
from components.labs.attention import recurrence as attention_recurrence
from components.labs.attention import rows as attention_rows
from components.labs.attention import scaling as attention_scaling
from components.labs.attention import shapes as attention_shapes
from components.labs.attention import trained as attention_trained
from components.labs.attention import translation as attention_translation
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention"
PARTS: dict[str, Callable[[], None]] = {
    "One head": attention_head.draw,
    "One row of scores": attention_rows.draw,
    "Why √d_k": attention_scaling.draw,
    "Shapes": attention_shapes.draw,
    "Positions": attention_positions.draw,
    "Inside trained nets": attention_trained.draw,
    "Without feed-forward": attention_feed_forward.draw,
    "Encoder and decoder": attention_translation.draw,
    "One by one or at once": attention_recurrence.draw,
}


@dataclass(frozen=True)
class AttentionPart(Settings):
    """The open part."""

    part: Annotated[str, Knob("Part", choices=dict.fromkeys(PARTS), control="segments")] = next(iter(PARTS))


def draw() -> None:
    """The choice, and the part that is chosen."""
    part = form.draw(AttentionPart, KEY).part
    PARTS[part]()
