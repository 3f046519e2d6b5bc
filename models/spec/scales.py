"""Named rules for the weight of the skip, of the branch and of the branch's input; M is the number of sublayers.

A rule is stored by name and resolved when the net is built, so that moving Depth never leaves a stale number.
"""

import math

from models.spec.knob import Entry, describe

SKIP_SCALES = {
    "deepnorm": Entry(r"M^{1/4}", "Wang 2022, 2203.00555"),
    "depth": Entry(r"M", "Chen & Wei 2026 (Keel), 2601.19895"),
    "1/sqrt(depth)": Entry(r"1/\sqrt M"),
    "1/sqrt(2)": Entry(r"1/\sqrt2"),
}

BRANCH_SCALES = {
    "1/sqrt(depth)": Entry(r"1/\sqrt M"),
    "1/sqrt(2)": Entry(r"1/\sqrt2"),
    "zero gate": Entry(r"\alpha_l", "Bachlechner 2020 (ReZero), 2003.04887"),
    "layer scale": Entry(r"\operatorname{diag}(\lambda_l)", "Touvron 2021 (CaiT), 2103.17239"),
}

INPUT_SCALES = {
    "one": Entry(r"1"),
    "1/sqrt(block)": Entry(r"1/\sqrt l", "Sun 2025 (LayerNorm Scaling), 2502.05795"),
}

describe(skip_scales=SKIP_SCALES, branch_scales=BRANCH_SCALES, input_scales=INPUT_SCALES)

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


def initial_gate(rule: str, depth: int) -> float:
    """The initial value of a learned gate in a net of `depth` blocks."""
    if rule == "zero gate":
        return 0.0
    return 0.1 if depth <= 18 else 1e-5 if depth <= 24 else 1e-6


def deepnorm_gain(sublayers: int) -> float:
    """DeepNorm's factor on the value, output and feed-forward matrices: (4M)^(-1/4)."""
    return (4 * sublayers) ** -0.25
