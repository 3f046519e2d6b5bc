"""A question about torch's own layers: by hand."""

from dataclasses import dataclass

from models.answers import Question


@dataclass(frozen=True)
class ByHand:
    """(x - mean) / (x.std() + eps) beside nn.LayerNorm, by the number of features."""

    features: tuple[int, ...]
    short: tuple[float, ...]  # relative shortfall of the result's length


BY_HAND = Question("by hand", ByHand, of_torch=True)
