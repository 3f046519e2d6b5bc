"""Judges the claim: `nn.TransformerEncoder` with `norm_first=True` is a complete pre-norm transformer."""

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

MIN_GROWTH = 1.1  # an output RMS above this multiple of the shallowest encoder's has grown


@judge("final depth bare normed moved")
def final_norm(values: Values) -> Judgement:
    """RMS of the output of torch's pre-norm encoder, by depth, with and without a final norm."""
    measured = values["torch"]
    table = {"layers": measured.depth, "RMS by default": measured.bare, "RMS with a final norm": measured.normed}
    grown = measured.bare[-1] / measured.bare[0]
    numbers = vars(measured) | {"final": "without" if measured.absent else "with", "grown": grown}
    return Judgement(verdict([not measured.absent, grown < MIN_GROWTH]), numbers, table)
