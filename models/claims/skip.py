"""Common errors about the residual and about branches that start at 0."""

import numpy as np

from models import answers
from models.claims.card import (
    Asked,
    Card,
    Judgement,
    Trained,
    Values,
    arxiv,
    geometric_mean,
    gradient,
    gradient_lines,
    in_words,
    size_lines,
    untrained,
    verdict,
)
from models.insight.outcome import final_loss, gradient_change, likeness
from models.insight.theory import rate
from models.insight.words import change_in_words, factor, number
from models.lessons.findings import DIGITS, learned
from models.spec import RunConfig

UNCHANGED = 2.0  # factor over depth up to which a gradient counts as unchanged
DOUBLE = 0.05  # relative distance from 2 up to which a factor per block is a doubling
LOOKS_LEVEL = 1.0  # decades over depth up to which a gradient looks level
NORMED = ("layer norm, no residual", "batch norm, no residual")  # the nets that the claim about norm alone concerns
DEEP: dict[str, object] = {"depth": 32, "width": 64}
SHALLOWER: dict[str, object] = {"depth": 20, "width": 64, "steps": 150}
CLOSED: dict[str, object] = {"depth": 8, "width": 32, "batch": 32, "steps": 3}
BRANCHES: dict[str, tuple[str, dict[str, object]]] = {
    "ReZero": ("ReZero", {}),
    "zero last": ("pre-norm", {"init": "zero last"}),
}
HE = arxiv(Deep_residual_learning="1512.03385", Identity_mappings="1603.05027")


def _unchanged(values: Values) -> Judgement:
    found = {name: gradient(one) for name, one in values.items()}
    return Judgement(
        verdict([1 / UNCHANGED < one < UNCHANGED for one in found.values()]),
        f"Gradient at the start of the stream over that at its end: {in_words(found)}.",
        {"net": list(found), "gradient, start over end": list(found.values())},
        "if the norms cancel what the branches add",
        gradient_lines(values),
    )


def _trains(values: Values) -> Judgement:
    ends = {name: final_loss(one) for name, one in values.items()}
    normed = [learned(values[name], DIGITS) for name in NORMED]
    return Judgement(
        verdict(normed),
        f"Mean loss of the last twenty of 150 steps, 20 blocks: {in_words(ends)}. Chance is {DIGITS:.2f}.",
        {"net": list(ends), "loss": list(ends.values())},
        "if the norm is batch norm, and the net is not much deeper",
    )


def _doubles(values: Values) -> Judgement:
    found = {name: rate(geometric_mean(one.mean_square)) for name, one in values.items()}
    gains = {name: float(np.mean(one.v_f)) for name, one in values.items()}
    said = "; ".join(f"{name}: v = {number(gains[name])}, factor {number(found[name])}" for name in found)
    return Judgement(
        verdict([abs(one - 2) < 2 * DOUBLE for one in found.values()]),
        f"Mean square of the stream by block, without a norm: {said}. The law is 1 + v.",
        {"weights": list(found), "v of a branch": list(gains.values()), "factor per block": list(found.values())},
        "if a branch's output is as large as its input (v = 1)",
        size_lines(values),
    )


def _gates(values: Values) -> Judgement:
    found = values["parts"].rms
    still = {name: [part for part, size in found[name].items() if size == 0] for name in BRANCHES}
    later = {name: float(np.min(values[name].weight_grad_rms[1])) for name in BRANCHES}
    said = "; ".join(
        f"{name}: none for {', '.join(still[name]) or 'no part'}; from step 1 on at least {number(later[name], 1)} in "
        "every "
        "block"
        for name in BRANCHES
    )
    parts = list(dict.fromkeys(part for name in BRANCHES for part in found[name]))
    table = {"RMS of the first gradient of": parts} | {
        name: [found[name].get(part, "-") for part in parts] for name in BRANCHES
    }
    return Judgement(verdict([not still[name] for name in BRANCHES]), f"Gradient at step 0. {said}.", table)


def _one_chart(values: Values) -> Judgement:
    found = {
        name: (
            gradient_change(one),
            likeness(one),
            float(np.ptp(np.log10(one.weight_grad_rms[0]))),
            learned(one, DIGITS),
        )
        for name, one in values.items()
    }
    said = "; ".join(
        f"{name}: {change_in_words('the stream gradient', change, 'on its way back')}, weight gradients differ by up "
        f"to {factor(spread)} times, the sample cosine is {alike:.2f}, it {'learns' if fate else 'does not learn'}"
        for name, (change, alike, spread, fate) in found.items()
    )
    table = {
        "net": list(found),
        "stream gradient, start over end": [10 ** one[0] for one in found.values()],
        "weight gradients, largest over least": [10 ** one[2] for one in found.values()],
        "sample cosine at the end": [one[1] for one in found.values()],
        "last loss": [final_loss(one) for one in values.values()],
    }
    # The claim: a level gradient means that the net learns, any other that it does not.
    fates = [(abs(change) < LOOKS_LEVEL) == fate for change, _, _, fate in found.values()]
    return Judgement(verdict(fates), f"{said}.", table, "if sample cosine and weight gradients are read with it")


CARDS = [
    Card(
        "unchanged",
        "skip",
        "The residual lets the gradient through unchanged, so it cannot vanish.",
        "The identity term does not vanish, but the sum can explode: without a norm as $(1+v)^{L/2}$, where a branch "
        "returns $v$ of the gradient's mean square. And in post-norm every norm rescales the identity too.",
        HE | arxiv(On_layer_normalization_in_the_transformer="2002.04745"),
        "The gradient's length before training, six seeds, 32 blocks.",
        {
            "residual only": untrained(RunConfig.arranged("residual only", **DEEP)),
            "post-norm": untrained(RunConfig.arranged("post-norm", **DEEP)),
            "post-norm, one-layer branches": untrained(RunConfig.arranged("post-norm", layers_per_branch=1, **DEEP)),
            "pre-norm": untrained(RunConfig.arranged("pre-norm", **DEEP)),
        },
        _unchanged,
    ),
    Card(
        "norm-alone",
        "skip",
        "Normalisation alone lets you train deep nets.",
        "Layer norm alone does not: it keeps sizes, but all samples become alike. Batch norm alone does, up to some "
        "depth: it subtracts what the samples of a batch have in common. The plain nets in the ResNet paper used it "
        "and trained, but worse the deeper they were.",
        arxiv(Mean_field_theory_of_batch_norm="1902.08129", Deep_residual_learning="1512.03385"),
        "Four nets of 20 blocks with the same initial weights learn the digits for 150 steps.",
        {
            "layer norm, no residual": Trained(RunConfig.arranged("plain + norm", **SHALLOWER)),
            "batch norm, no residual": Trained(RunConfig.arranged("plain + norm", norm="batch norm", **SHALLOWER)),
            "no norm, no residual": Trained(RunConfig.arranged("plain", **SHALLOWER)),
            "layer norm and residual": Trained(RunConfig.arranged("pre-norm", **SHALLOWER)),
        },
        _trains,
    ),
    Card(
        "doubles",
        "skip",
        "The variance of a ResNet's activations doubles with every block.",
        "It grows by a factor of 1 + v per block, where v is the mean square that a branch makes of a unit input: it "
        "depends on the weights. This holds where a branch's output has mean 0, as after a second matrix; the mean of "
        "a single ReLU layer adds up, and with v = 1/2 its later blocks more than double. The RMS grows by the root. "
        "A token's features have a mean near 0, so their variance is their mean square.",
        HE | arxiv(Fixup="1901.09321"),
        "The stream before training, six seeds, 16 blocks, without a norm, for three sizes of weights.",
        {
            f"gain {gain:g}": untrained(RunConfig.arranged("residual only", init_gain=gain, depth=16, width=64))
            for gain in (0.5, 1.0, 1.189)
        },
        _doubles,
    ),
    Card(
        "zero-gates",
        "skip",
        "With ReZero or zero initialisation all weights get a gradient.",
        "At the first step no weight behind a closed gate does: its output is multiplied by 0, and only the block's "
        "gate moves. Where the last matrix of a branch starts at 0, that matrix has a gradient and those before it "
        "have none. Embedding and output head have one in both; from the second step on all weights do.",
        arxiv(ReZero="2003.04887", Fixup="1901.09321"),
        "8 blocks of ReZero, and of pre-norm with the last matrix of each branch at 0: the first gradient of every "
        "part, then two training steps.",
        {"parts": Asked(answers.CLOSED_BRANCHES)}
        | {
            name: Trained(RunConfig.arranged(arranged, **CLOSED, **extra))
            for name, (arranged, extra) in BRANCHES.items()
        },
        _gates,
    ),
    Card(
        "one-chart",
        "skip",
        "The chart of the stream's gradient shows whether a net is healthy: level is good.",
        "A net with level gradients may never learn, because all inputs end in the same direction; and a falling "
        "stream gradient may leave the weight gradients level. Read stream gradient, weight gradient and sample "
        "cosine together.",
        arxiv(Deep_information_propagation="1611.01232", Mean_field_theory_of_batch_norm="1902.08129"),
        "Three nets learn the digits for 150 steps; gradient and sample cosine are those before training.",
        {
            "post-norm, 64 blocks": Trained(RunConfig.arranged("post-norm", depth=64, width=32, batch=32, steps=150)),
            "plain, 12 blocks": Trained(RunConfig.arranged("plain", depth=12, width=32, batch=32, steps=150)),
            "pre-norm, 16 blocks": Trained(RunConfig.arranged("pre-norm", depth=16, width=32, batch=32, steps=150)),
        },
        _one_chart,
    ),
]
