"""Common errors about layer norm and RMS norm: what they compute, over what, and what they preserve."""

import numpy as np

from models import answers
from models.claims import numbers
from models.claims.card import FAILS, HOLDS, PARTLY, Asked, Card, Computed, Judgement, Values, arxiv, verdict
from models.insight.words import number

SAME = 1e-3  # relative difference up to which two results count as the same
EXACT = 1e-4  # the same for two formulas claimed to be equal
LEAK = 1e-6  # a result that moves by less does not depend on what was changed
DOMINATES = 0.9  # share of the sum of squares from which one feature holds nearly all of it
LAYER = arxiv(Layer_norm="1607.06450")
TORCH_LAYER = {"nn.LayerNorm": "https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html"}
TORCH_RMS = {"nn.RMSNorm": "https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html"}


def _by_hand(values: Values) -> Judgement:
    found = values["torch"]
    sizes, short = found.features, np.asarray(found.short)
    law = [1 - float(np.sqrt((size - 1) / size)) for size in sizes]
    said = (
        f"The norm by hand is {short[0]:.1%} too short with {sizes[0]} features and {short[-1]:.2%} with {sizes[-1]}; "
        f"1 - sqrt((d - 1) / d) says {law[0]:.1%} and {law[-1]:.2%}."
    )
    table = {"features": sizes, "too short, measured": short, "1 - sqrt((d - 1) / d)": law}
    return Judgement(verdict((np.abs(short) < EXACT).tolist()), said, table, "if there are very many features")


def _spread(values: Values) -> Judgement:
    found = values["numbers"]
    given, out = found["given"], found["biased"]
    everything = [*out, found["gain"], found["unbiased"]]
    said = (
        f"Spread {given[0]:g} comes out as {out[0]:.4f}, but spread {given[-1]:g} as {out[-1]:.3f}; with a gain of 2 "
        f"it is {found['gain']:.3f}; and the unbiased deviation of four normalised features is "
        f"{found['unbiased']:.3f}."
    )
    cases = [*(f"spread {one:g}" for one in given), "gain 2, bias 1", "spread 1, four features, unbiased"]
    return Judgement(
        verdict([abs(one - 1) < SAME for one in everything]),
        said,
        {"token": cases, "deviation after layer norm": everything},
        "if the variance is far above eps, it is measured before gain and bias, and the deviation is the biased one",
    )


def _over_what(values: Values) -> Judgement:
    found = values["torch"]
    seen = dict(zip(found.norm, zip(found.future, found.neighbour, strict=True), strict=True))
    own, joint = seen["LayerNorm(D)"], seen["LayerNorm([T, D])"]
    said = (
        f"A change in the last token moves the first one by {number(own[0])} in LayerNorm(D) and by "
        f"{number(joint[0])} in "
        f"LayerNorm([T, D]), which sees the future; a change in another sample moves them by {number(own[1])} and "
        f"{number(joint[1])}."
    )
    # Tests both forms of the claim: over the batch, and over a whole sequence without harm.
    fates = [own[1] > LEAK, joint[1] > LEAK, joint[0] <= LEAK]
    table = {"norm": list(seen), "last token changed": found.future, "other sample changed": found.neighbour}
    return Judgement(verdict(fates), said, table, "if it is taken over earlier tokens only")


def _rms(values: Values) -> Judgement:
    numbers, small = values["numbers"], values["torch"]
    apart, lost = numbers["apart"], numbers["lost"]
    ratio = small.rms / small.layer
    fates = [apart["with its mean"] < SAME, apart["centred"] < SAME, abs(ratio - 1) < SAME]
    said = (
        f"On a token with a mean the two differ by {number(apart['with its mean'])}, on the same token centred by "
        f"{number(apart['centred'], 1)}; RMS norm discards {lost['rms norm']} direction, layer norm "
        f"{lost['layer norm']}. "
        f"With torch's defaults a centred token of RMS {small.given:.0e} leaves RMS norm (eps {number(small.rms_eps)}) "
        f"with {small.rms:.3f} and layer norm (eps {small.layer_eps:.0e}) with {small.layer:.4f}."
    )
    table = {
        "case": ["token with a mean", "centred token", "RMS norm of a tiny token", "layer norm of a tiny token"],
        "number": [*apart.values(), small.rms, small.layer],
        "what it is": ["largest difference", "largest difference", "RMS after", "RMS after"],
    }
    return Judgement(verdict(fates), said, table, "if the token is centred and both have the same eps")


def _dominated(values: Values) -> Judgement:
    found = values["numbers"]
    after, share, bound = found["after"], found["share"], found["bound"]
    said = (
        f"A feature {found['times'][-1]:,.0f} times larger comes out at {after[-1]:.3f}, only "
        f"{number(bound - after[-1], 1)} "
        f"below the bound sqrt(d - 1), and holds {share[-1]:.1%} of the sum of squares, which is "
        f"{found['sum'][-1]:.1f} for any input."
    )
    table = {"times larger": found["times"], "that feature after layer norm": after, "its share of the squares": share}
    return Judgement(
        HOLDS if share.max() < 0.5 else PARTLY if share.max() < DOMINATES else FAILS,
        said,
        table,
        "if that feature is not too large",
    )


CARDS = [
    Card(
        "by-hand",
        "norms",
        "`(x - x.mean()) / (x.std() + eps)` is layer norm.",
        "`x.std()` divides by n - 1 and eps belongs inside the root: the result is shorter by "
        "1 - sqrt((d - 1) / d), 13.4 % at d = 4.",
        LAYER | TORCH_LAYER | {"Annotated Transformer": "https://nlp.seas.harvard.edu/annotated-transformer/"},
        "This line compared with nn.LayerNorm on 16 random tokens of 4 to 512 features.",
        {"torch": Asked(answers.BY_HAND)},
        _by_hand,
    ),
    Card(
        "spread-of-one",
        "norms",
        "Layer norm makes the standard deviation exactly 1.",
        "It makes the biased deviation sqrt(v / (v + eps)), before gain and bias: a token of deviation 0.003 comes out "
        "at 0.688.",
        LAYER,
        "One token of 64 features, stretched to three spreads, then with a gain, and four features by the unbiased "
        "deviation.",
        {"numbers": Computed(numbers.spreads)},
        _spread,
        "formula",
    ),
    Card(
        "over-the-batch",
        "norms",
        "Layer norm normalises over the batch, or over all tokens of a sequence at once.",
        "It normalises over the features of one token. `nn.LayerNorm([T, d])` takes a whole sequence and leaks later "
        "tokens into earlier ones.",
        LAYER | TORCH_LAYER,
        "Changes the last token of a sequence, then another sample: how far does the first token's result move?",
        {"torch": Asked(answers.WHO_IS_SEEN)},
        _over_what,
    ),
    Card(
        "rms-norm",
        "norms",
        "RMS norm is layer norm without the mean, so the result is the same.",
        "It is the same only for centred tokens and equal eps. Layer norm discards two directions, RMS norm one; "
        "torch's RMS norm uses the machine epsilon by default, 1.19e-7 in float32, so tiny tokens come out far "
        "larger than from layer norm.",
        arxiv(RMS_norm="1910.07467") | TORCH_RMS,
        "Both norms on a token with and without its mean, the rank of their Jacobians, and torch's defaults on tiny "
        "tokens.",
        {"numbers": Computed(numbers.rms_and_layer), "torch": Asked(answers.SMALL_TOKENS)},
        _rms,
    ),
    Card(
        "one-feature",
        "norms",
        "Layer norm stops one feature from dominating.",
        "It bounds a feature by sqrt(d - 1) and fixes the sum of squares; one feature can still hold nearly all of it.",
        LAYER,
        "A token of 64 features whose first is 1, 10 and 1,000 times larger.",
        {"numbers": Computed(numbers.outlier)},
        _dominated,
        "formula",
    ),
]
