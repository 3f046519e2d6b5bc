"""Common errors about batch norm: gradients, running statistics, what it normalises over, and shifts."""

from models import answers
from models.claims.card import Asked, Card, Computed, Lines, Outcome, Values, arxiv, gradient, lengths, verdict
from models.spec import RunConfig

HEALTHY = 10.0  # factor between both ends up to which a gradient has neither vanished nor exploded
LEAK = 1e-6
NEAR = 0.01  # difference within which a number equals a claimed one
REMOVED = 0.1  # what may be left of a shift of 3 that counts as removed
BATCH = arxiv(Batch_norm="1502.03167")
TORCH = {"nn.BatchNorm1d": "https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html"}
DEEP: dict[str, object] = {"depth": 32, "width": 64}


def _explodes(values: Values) -> Outcome:
    found = {name: gradient(one) for name, one in values.items()}
    normed = [one for name, one in found.items() if "batch norm" in name]
    said = "Gradient at the start of the stream over that at its end: " + "; ".join(
        f"{name} {one:.3g}" for name, one in found.items()
    )
    return Outcome(
        verdict([1 / HEALTHY < one < HEALTHY for one in normed]),
        f"{said}.",
        {"net": list(found), "gradient, start over end": list(found.values())},
        "there is a skip",
        Lines("Gradient over its end", "ratio", {name: lengths(one) for name, one in values.items()}),
    )


def _memory(values: Values) -> Outcome:
    found = values["torch"]
    said = (
        f"With momentum {found.momentum:g} the old mean keeps {found.kept:.3f} of its weight after a batch; "
        "the variance kept "
        f"is the {'unbiased' if found.unbiased else 'biased'} one; a batch of one is "
        f"{'refused' if found.refused else 'taken'}, a batch of two comes out as ±{found.pair:.4f}; without eval mode "
        f"the result differs by up to {found.eval:.3g}."
    )
    fates = [abs(found.kept - found.momentum) < NEAR, not found.unbiased, not found.refused, found.eval < LEAK]
    table = {
        "what": [
            "weight of the old mean",
            "unbiased variance remembered",
            "batch of one",
            "batch of two",
            "training against eval",
        ],
        "found": [
            f"{found.kept:.4f}",
            "yes" if found.unbiased else "no",
            found.refused or "no error",
            f"±{found.pair:.4f}",
            f"{found.eval:.4g}",
        ],
    }
    return Outcome(verdict(fates), said, table, "the convention is named and the mode is the same")


def _per_token(values: Values) -> Outcome:
    found = values["torch"]
    at = found.norm.index("BatchNorm1d on (B, D, T)")
    own = found.norm.index("LayerNorm(D)")
    future, other = found.future[at], found.neighbour[at]
    said = (
        f"Behind batch norm the first token moves by {future:.3g} when a later token changes and by {other:.3g} when "
        f"another sequence does; behind layer norm by {found.future[own]:.3g} and {found.neighbour[own]:.3g}."
    )
    table = {"norm": found.norm, "last token changed": found.future, "other sequence changed": found.neighbour}
    return Outcome(verdict([future <= LEAK, other <= LEAK]), said, table, "nothing but the token itself changes")


def _shift(values: Values) -> Outcome:
    found = values["numbers"]
    left = {
        "batch norm at inference, one feature shifted": abs(found["batch norm"][1] - found["batch norm"][0]),
        "layer norm, one feature shifted": abs(found["layer norm"][1] - found["layer norm"][0]),
        "layer norm, every feature shifted alike": found["token shift"],
    }
    said = "Of a shift of 3 between training and inference there is left: " + "; ".join(
        f"{k} {v:.2g}" for k, v in left.items()
    )
    table = {"case": list(left), "shift left": list(left.values())}
    return Outcome(
        verdict([one < REMOVED for one in left.values()]),
        f"{said}. A shift between layers during training is another thing, and nothing here measures it.",
        table,
        "all features of a token move alike and the norm is per token",
    )


CARDS = [
    Card(
        "batch-norm-cures",
        "batch norm",
        "Batch norm fixes vanishing and exploding gradients.",
        "It levels the signal, not the gradient: in a deep net without skips it makes the gradient grow exponentially "
        "on its way back. With skips it does not.",
        BATCH | arxiv(Mean_field_theory_of_batch_norm="1902.08129"),
        "Signal and gradient before training, six seeds: batch norm without and with skips, and the bare net, 32 "
        "blocks deep.",
        {
            "batch norm, no skip": Asked(
                answers.SIGNAL, RunConfig.arranged("plain + norm", norm="batch norm", **DEEP), {"step": 0}
            ),
            "batch norm, skips": Asked(answers.SIGNAL, RunConfig(norm="batch norm", **DEEP), {"step": 0}),  # type: ignore[arg-type]
            "no norm, no skip": Asked(
                answers.SIGNAL, RunConfig.arranged("plain", init="orthogonal", **DEEP), {"step": 0}
            ),
        },
        _explodes,
    ),
    Card(
        "batch-norm-momentum",
        "batch norm",
        "Momentum 0.1 keeps a tenth of the old statistics, and batch norm does the same in training and at inference.",
        "In torch 0.1 is the weight of the new batch, 0.9 in the sense of TensorFlow. The variance that is kept is "
        "unbiased, the one "
        "divided by is not; a batch of one is an error, a batch of two becomes ±1; use needs `model.eval()`.",
        BATCH | TORCH,
        "torch's own layer on batches of eight, two and one.",
        {"torch": Asked(answers.BATCH_NORM_MEMORY)},
        _memory,
    ),
    Card(
        "batch-norm-per-token",
        "batch norm",
        "Batch norm normalises each token.",
        "Its statistics are taken over batch and positions: `BatchNorm1d` on (B, d, T). Padding and later tokens enter "
        "them.",
        BATCH | TORCH,
        "A later token, then a token of another sequence is changed: how far does the first token's result move?",
        {"torch": Asked(answers.WHO_IS_SEEN)},
        _per_token,
    ),
    Card(
        "covariate-shift",
        "batch norm",
        "Norm layers remove covariate shift.",
        "Two things share the name. A shift between training and inference stays: batch norm at inference divides by "
        "what it remembers. The shift between layers was the first explanation of why batch norm helps, and later work "
        "disputes it.",
        BATCH | arxiv(How_does_batch_norm_help="1805.11604"),
        "256 tokens are seen in training; at inference one feature has moved by 3, then all of them.",
        {"numbers": Computed("shifted")},
        _shift,
    ),
]
