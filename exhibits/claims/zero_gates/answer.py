"""A question about torch's own layers: closed branches."""

from dataclasses import dataclass

from models.answers import Question


@dataclass(frozen=True)
class ClosedBranches:
    """RMS of the first gradient by net and part, in nets whose branches start at 0."""

    rms: dict[str, dict[str, float]]


CLOSED_BRANCHES = Question("closed branches", ClosedBranches, of_torch=True)
