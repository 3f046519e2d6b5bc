"""Common errors about batch norm: exploding gradients, running statistics, what it averages over, covariate shift."""

from models import answers
from models.claims import numbers
from models.claims.card import (
    Asked,
    Card,
    Computed,
    Judgement,
    Values,
    arxiv,
    gradient,
    gradient_lines,
    in_words,
    untrained,
    verdict,
)
from models.insight.words import number
from models.spec import RunConfig

HEALTHY = 10.0  # a gradient that changes by less over depth has neither vanished nor exploded
LEAK = 1e-6
NEAR = 0.01  # tolerance around a claimed number
REMOVED = 0.1  # of a shift of 3: what is left below it counts as removed
BATCH = arxiv(Batch_norm="1502.03167")
TORCH = {"nn.BatchNorm1d": "https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html"}
DEEP: dict[str, object] = {"depth": 32, "width": 64}


def _explodes(values: Values) -> Judgement:
    found = {name: gradient(one) for name, one in values.items()}
    normed = [one for name, one in found.items() if "batch norm" in name]
    said = f"Gradient at the start of the stream over that at its end: {in_words(found)}"
    return Judgement(
        verdict([1 / HEALTHY < one < HEALTHY for one in normed]),
        f"{said}.",
        {"net": list(found), "gradient, start over end": list(found.values())},
        "if a residual bypasses the norm",
        gradient_lines(values),
    )


def _memory(values: Values) -> Judgement:
    found = values["torch"]
    said = (
        f"With momentum {found.momentum:g} the old mean has a weight of {found.kept:.3f} after one batch; the stored "
        f"variance is the {'unbiased' if found.unbiased else 'biased'} one; a batch of one is "
        f"{'an error' if found.refused else 'accepted'}, a batch of two comes out as ±{found.pair:.4f}; without eval "
        f"mode the result differs by up to {number(found.eval)}."
    )
    fates = [abs(found.kept - found.momentum) < NEAR, not found.unbiased, not found.refused, found.eval < LEAK]
    table = {
        "what": [
            "weight of the old mean",
            "unbiased variance stored",
            "batch of one",
            "batch of two",
            "training against eval",
        ],
        "found": [
            f"{found.kept:.4f}",
            "yes" if found.unbiased else "no",
            found.refused or "no error",
            f"±{found.pair:.4f}",
            number(found.eval, 4),
        ],
    }
    return Judgement(verdict(fates), said, table, "if the convention is stated and the mode is the same")


def _per_token(values: Values) -> Judgement:
    found = values["torch"]
    at = found.norm.index("BatchNorm1d on (B, D, T)")
    own = found.norm.index("LayerNorm(D)")
    future, other = found.future[at], found.neighbour[at]
    said = (
        f"After batch norm the first token moves by {number(future)} when a later token changes and by "
        f"{number(other)} when "
        f"another sequence does; after layer norm by {number(found.future[own])} and {number(found.neighbour[own])}."
    )
    table = {"norm": found.norm, "last token changed": found.future, "other sequence changed": found.neighbour}
    return Judgement(verdict([future <= LEAK, other <= LEAK]), said, table, "if nothing but the token itself changes")


def _shift(values: Values) -> Judgement:
    found = values["numbers"]
    left = {
        "batch norm at inference, one feature shifted": abs(found["batch norm"][1] - found["batch norm"][0]),
        "layer norm, one feature shifted": abs(found["layer norm"][1] - found["layer norm"][0]),
        "layer norm, all features shifted equally": found["token shift"],
    }
    said = "What is left of a shift of 3 between training and inference: " + "; ".join(
        f"{k} {number(v, 2)}" for k, v in left.items()
    )
    table = {"case": list(left), "shift left": list(left.values())}
    return Judgement(
        verdict([one < REMOVED for one in left.values()]),
        f"{said}. A shift between layers during training is a different matter, not measured here.",
        table,
        "if all features of a token shift equally and the norm is per token",
    )


CARDS = [
    Card(
        "batch-norm-cures",
        "batch norm",
        "Batch norm fixes vanishing and exploding gradients.",
        "It keeps the size of the signal, not of the gradient: in a deep net without residuals the gradient grows "
        "exponentially on its way back. With residuals that bypass the norm (pre-norm) it grows like a root of depth; "
        "with batch norm after the add it still grows exponentially, by 6 % a block.",
        BATCH | arxiv(Mean_field_theory_of_batch_norm="1902.08129"),
        "Signal and gradient of 32 blocks before training, six seeds: batch norm without and with residuals, and a "
        "plain net; 64 blocks where the norm follows the add.",
        {
            "batch norm, no residual": untrained(RunConfig.arranged("plain + norm", norm="batch norm", **DEEP)),
            "batch norm, pre-norm": untrained(RunConfig(norm="batch norm", **DEEP)),  # type: ignore[arg-type]
            "batch norm after the add": untrained(
                RunConfig.arranged("post-norm", norm="batch norm", **DEEP | {"depth": 64})
            ),
            "no norm, no residual": untrained(RunConfig.arranged("plain", init="orthogonal", **DEEP)),
        },
        _explodes,
    ),
    Card(
        "batch-norm-momentum",
        "batch norm",
        "Momentum 0.1 keeps a tenth of the old statistics, and batch norm does the same in training and at inference.",
        "In torch 0.1 is the weight of the new batch (0.9 by TensorFlow's convention). The stored variance is "
        "unbiased, the one divided by is not; a batch of one is an error, a batch of two becomes ±1; inference needs "
        "`model.eval()`.",
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
        "Changes a later token, then a token of another sequence: how far does the first token's result move?",
        {"torch": Asked(answers.WHO_IS_SEEN)},
        _per_token,
    ),
    Card(
        "covariate-shift",
        "batch norm",
        "Norm layers remove covariate shift.",
        "Two things share the name. A shift between training and inference stays: batch norm at inference uses "
        "stored statistics. The shift between layers was the first explanation of why batch norm helps, and later "
        "work disputes it.",
        BATCH | arxiv(How_does_batch_norm_help="1805.11604"),
        "Training sees 256 tokens; at inference one feature is shifted by 3, then all of them.",
        {"numbers": Computed(numbers.shifted)},
        _shift,
    ),
]
