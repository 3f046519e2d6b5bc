"""A question about torch's own layers: gradient sizes."""

from dataclasses import dataclass

from models.answers import Question


@dataclass(frozen=True)
class GradientSizes:
    """Size of each tensor's gradient in a small net."""

    tensor: tuple[str, ...]
    numbers: tuple[int, ...]
    length: tuple[float, ...]
    rms: tuple[float, ...]


GRADIENT_SIZES = Question("gradient sizes", GradientSizes, of_torch=True)
