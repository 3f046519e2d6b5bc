"""A question about torch's own layers: final norm."""

from dataclasses import dataclass

from models.answers import Question


@dataclass(frozen=True)
class FinalNorm:
    """Output of nn.TransformerEncoder by depth, with and without a final norm."""

    depth: tuple[int, ...]
    bare: tuple[float, ...]  # RMS in pre-norm
    normed: tuple[float, ...]  # RMS in pre-norm with a final norm
    absent: bool  # whether torch leaves out the final norm by default
    moved: float  # largest change of a post-norm output by a final norm


FINAL_NORM = Question("final norm", FinalNorm, of_torch=True)
