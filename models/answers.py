"""What the trainer may be asked, and what it answers: plain dataclasses of numbers, texts and arrays. No torch.

Legend: S sites of the stream, M sublayers, A those with an activation function, L blocks, D features, T tokens, C classes,
H heads, K what there are several of, as the class says. Sizes are in the stream's own units, losses and entropies in nats.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from models.trace import Trace

Value = TypeVar("Value")


@dataclass(frozen=True)
class Question(Generic[Value]):
    """The name under which something is asked of the trainer, and the class of its answer."""

    name: str
    answer: type[Value]


# --- a run before training ---


@dataclass(frozen=True)
class Profiles:
    """Row 0 of the tapes of several seeds, from the configuration's own upwards."""

    traces: tuple[Trace, ...]


PROFILE = Question("profile", Trace)
PROFILES = Question("profiles", Profiles)
LAYER_NORM = Question("layer_norm", dict)
FACT = Question("fact", dict)

SIGNAL = Question("signal", dict)
STREAM = Question("stream", dict)
DISTRIBUTIONS = Question("distributions", dict)
LAYER_FILM = Question("layer film", dict)
COLLAPSE = Question("collapse", dict)

GRADIENT_SHARES = Question("gradient shares", dict)
PATH_LENGTHS = Question("path lengths", dict)
CHECK = Question("check", dict)
HEALTH = Question("health", dict)

LANDSCAPE = Question("landscape", dict)
SHARPNESS = Question("sharpness", dict)
STREAM_JACOBIAN = Question("stream jacobian", dict)
SURGERY = Question("surgery", dict)
LESIONS = Question("lesions", dict)
TRIAL = Question("trial", dict)

LENS = Question("lens", dict)
CONTINUATION = Question("continuation", dict)
REVISION = Question("revision", dict)
REFINEMENT = Question("refinement", dict)
PLACE = Question("place", dict)
BEYOND = Question("beyond", dict)
