"""Named rules for the weights of the skip, the branch and the branch's input in a net of M sublayers.

A configuration stores the rule's name. `plan` resolves it, so that a change of depth leaves no stale number.
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
    """The skip or branch weight that a rule gives in a net of M sublayers. Gates are learned and have no rule."""
    values = {
        "deepnorm": sublayers**0.25,
        "depth": float(sublayers),
        "1/sqrt(depth)": 1 / math.sqrt(sublayers),
        "1/sqrt(2)": 1 / math.sqrt(2),
    }
    return values[rule] if isinstance(rule, str) else float(rule)


def initial_gate(rule: str, depth: int) -> float:
    """The initial value of a learned gate in a net of `depth` blocks: ReZero's 0, or LayerScale's (2103.17239)."""
    if rule == "zero gate":
        return 0.0
    if depth <= 18:
        return 0.1
    return 1e-5 if depth <= 24 else 1e-6


def deepnorm_gain(sublayers: int) -> float:
    """DeepNorm's gain (4M)^(-1/4) on all branch matrices but queries and keys (Wang 2022, 2203.00555)."""
    return (4 * sublayers) ** -0.25
