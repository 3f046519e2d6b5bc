"""Named rules for the weight of the skip, of the branch and of the branch's input; M is the number of sublayers.

A rule is stored by name and resolved when the net is built, so that moving Depth never leaves a stale number.
"""

import math

from models.spec.knob import Entry

SKIP_SCALES = {
    "deepnorm": Entry("M^(1/4)", r"M^{1/4}", "Wang 2022, 2203.00555"),
    "depth": Entry("M, the number of sublayers", r"M", "Chen & Wei 2026 (Keel), 2601.19895"),
    "1/sqrt(depth)": Entry("1/sqrt(M), M the number of sublayers", r"1/\sqrt M"),
    "1/sqrt(2)": Entry("1/sqrt(2)", r"1/\sqrt2"),
}

BRANCH_SCALES = {
    "1/sqrt(depth)": Entry("1/sqrt(M), M the number of sublayers", r"1/\sqrt M"),
    "1/sqrt(2)": Entry("1/sqrt(2)", r"1/\sqrt2"),
    "zero gate": Entry(
        "one learned number per branch, zero at first; in ReZero's own code attention and feed-forward share one",
        r"\alpha_l",
        "Bachlechner 2020 (ReZero), 2003.04887",
    ),
    "layer scale": Entry(
        "one learned number per channel, small at first: 0.1 up to 18 blocks, 10⁻⁵ up to 24, 10⁻⁶ beyond",
        r"\operatorname{diag}(\lambda_l)",
        "Touvron 2021 (CaiT), 2103.17239",
    ),
}

INPUT_SCALES = {
    "one": Entry("the branch reads the stream as it is", r"1"),
    "1/sqrt(block)": Entry(
        "what block l reads is divided by sqrt(l)", r"1/\sqrt l", "Sun 2025 (LayerNorm Scaling), 2502.05795"
    ),
}

GATES = ("zero gate", "layer scale")


def scale_value(rule: float | str, sublayers: int) -> float:
    """The number behind a skip or branch weight in a net of M sublayers; gates have none."""
    values = {
        "deepnorm": sublayers**0.25,
        "depth": float(sublayers),
        "1/sqrt(depth)": 1 / math.sqrt(sublayers),
        "1/sqrt(2)": 1 / math.sqrt(2),
    }
    return values[rule] if isinstance(rule, str) else float(rule)


def gate_start(rule: str, depth: int) -> float:
    """The initial value of a learned gate in a net of `depth` blocks."""
    if rule == "zero gate":
        return 0.0
    return 0.1 if depth <= 18 else 1e-5 if depth <= 24 else 1e-6


def deepnorm_gain(sublayers: int) -> float:
    """DeepNorm's factor on the value, output and feed-forward matrices: (4M)^(-1/4)."""
    return (4 * sublayers) ** -0.25
