"""Common errors about initialisation: factors per layer, what He's preserves, torch's copies, dead units."""

import numpy as np

from models import answers
from models.claims.card import (
    Asked,
    Card,
    Judgement,
    Trained,
    Values,
    arxiv,
    gradient_lines,
    in_words,
    lengths,
    size_lines,
    untrained,
    verdict,
)
from models.insight.theory import rate
from models.insight.words import number
from models.spec import RunConfig

CLOSE = 0.05  # relative difference up to which two factors count as equal
KEPT = 2.0  # factor up to which a mean square counts as preserved
DEAD = 0.1  # share of dead units above which something has killed them
TOO_LARGE = "pre-norm, 4 blocks, 40 steps"
DEEP: dict[str, object] = {"depth": 16, "width": 64, "layers_per_branch": 1}


def _quarter(values: Values) -> Judgement:
    found = {name: 1 / rate(lengths(one)) for name, one in values.items()}
    claimed = {name: 0.25 if name.startswith("sigmoid") else 1.0 for name in found}
    return Judgement(
        verdict([abs(one / claimed[name] - 1) < CLOSE for name, one in found.items()]),
        f"Factor of the gradient per layer on its way back: {in_words(found)}.",
        {"net": list(found), "factor per layer": list(found.values())},
        "if the net has ReLU and He's initialisation"
        if abs(found["relu, he"] - 1) < CLOSE
        else "if the weights are chosen for it",
        gradient_lines(values),
    )


def _he(values: Values) -> Judgement:
    each = {
        name: np.asarray(one.mean_square)[:, -1] / np.asarray(one.mean_square)[:, 0] for name, one in values.items()
    }
    said = "; ".join(
        f"{name}: {number(one.min())} to {number(one.max())}, geometric mean {number(np.exp(np.log(one).mean()))}"
        for name, one in each.items()
    )
    table = {
        "net": list(each),
        **{
            what: [float(of(one)) for one in each.values()]
            for what, of in (("least", np.min), ("mean", np.mean), ("most", np.max))
        },
    }
    kept = [bool(1 / KEPT < np.exp(np.log(one).mean()) < KEPT) for one in each.values()]
    return Judgement(
        verdict(kept),
        f"Mean square at the end over that at the start, six seeds: {said}.",
        table,
        "if the net is far wider than deep, and on average over seeds",
        size_lines(values),
    )


def _copies(values: Values) -> Judgement:
    found = dict(zip(values["torch"].names, values["torch"].apart, strict=True))
    return Judgement(
        verdict([found["nn.TransformerEncoder"] > 0]),
        f"RMS difference between the first layer and the most similar other one: {in_words(found)}.",
        {"encoder": list(found), "difference": list(found.values())},
    )


def _dying(values: Values) -> Judgement:
    ends = {name: -1 if name == TOO_LARGE else 0 for name in values}
    dead = {name: np.asarray(one.frames[ends[name]].dead_units, float) for name, one in values.items()}
    most = {name: float(one.max()) for name, one in dead.items()}
    said = "; ".join(
        f"{name}: {one.mean():.0%} of all units, {most[name]:.0%} in the worst block" for name, one in dead.items()
    )
    table = {
        "net": list(dead),
        "dead, mean over blocks": [one.mean() for one in dead.values()],
        "most": list(most.values()),
    }
    fates = [dead["plain, 32 blocks"].mean() < DEAD, dead[TOO_LARGE].mean() > DEAD]
    return Judgement(
        verdict(fates),
        f"Units that output 0 for all of a fixed set of 128 digits, before training unless steps are named: {said}.",
        table,
        "if the units were alive before training",
    )


CARDS = [
    Card(
        "quarter",
        "initialisation",
        "Sigmoid gradients shrink by 1/4 per layer; ReLU's do not.",
        "1/4 is an upper bound for one factor with a weight up to 1. With Xavier initialisation the measured factor "
        "is smaller still; ReLU with Xavier shrinks by sqrt(1/2), with torch's default weights by sqrt(1/6).",
        {"Glorot & Bengio 2010": "https://proceedings.mlr.press/v9/glorot10a.html"}
        | arxiv(Delving_deep_into_rectifiers="1502.01852"),
        "The gradient's length before training, six seeds, 16 one-layer blocks without residual or norm.",
        {
            name: untrained(
                RunConfig.arranged("plain", activation=name.split(",")[0], init=name.split(", ")[1], **DEEP)
            )
            for name in ("sigmoid, xavier", "relu, xavier", "relu, torch", "relu, he")
        },
        _quarter,
    ),
    Card(
        "copies",
        "initialisation",
        "The layers of `nn.TransformerEncoder` start with different weights, so mean-field results can be checked on "
        "it.",
        "It deep-copies one layer: all layers start equal. Build each separately, or initialise each again.",
        {"nn.TransformerEncoder": "https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html"},
        "Six layers as torch stacks them, and six initialised one by one.",
        {"torch": Asked(answers.COPIES)},
        _copies,
    ),
    Card(
        "he-keeps",
        "initialisation",
        "He's initialisation preserves the variance.",
        "It preserves the mean over all possible weights, to which a few large outcomes contribute most. A typical "
        "narrow deep net loses most of the variance, and one seed may be off by a factor of ten or more. A net far "
        "wider than deep keeps it: its seeds scatter around 1 (here from 0.42 to 2.6), some of them off by more than a "
        "factor of 2.",
        arxiv(Delving_deep_into_rectifiers="1502.01852", Products_of_many_random_matrices="1812.05994"),
        "A narrow and a wide ReLU net of 32 one-layer blocks, six seeds each; kept if their geometric mean is within a "
        "factor of 2 of 1.",
        {
            f"width {width}": untrained(
                RunConfig.arranged("plain", init="he", layers_per_branch=1, depth=32, width=width)
            )
            for width in (16, 512)
        },
        _he,
    ),
    Card(
        "dying-relu",
        "initialisation",
        "Dead ReLU units come from a learning rate that is too large.",
        "Large steps do kill units that were alive. But in a deep plain net many are dead for the whole batch before "
        "the first step: all inputs point in one direction, so a unit responds to all of them or to none.",
        arxiv(Dying_ReLU_and_initialization="1903.06733"),
        "Dead units before training in a plain net and in pre-norm, and in pre-norm after 40 steps of Adam at a "
        "learning rate of 0.3.",
        {
            "plain, 32 blocks": Trained(RunConfig.arranged("plain", init="he", depth=32, width=64, steps=1)),
            "pre-norm, 32 blocks": Trained(RunConfig.arranged("pre-norm", depth=32, width=64, steps=1)),
            TOO_LARGE: Trained(RunConfig.arranged("pre-norm", depth=4, width=64, steps=40, optimizer="adam", lr=0.3)),
        },
        _dying,
    ),
]
