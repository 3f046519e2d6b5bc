"""A question about torch's own layers: copies."""

from dataclasses import dataclass

from models.answers import Question


@dataclass(frozen=True)
class Copies:
    """Least RMS difference between the first layer of an encoder and any other, by encoder."""

    names: tuple[str, ...]
    apart: tuple[float, ...]


COPIES = Question("copies", Copies, of_torch=True)
