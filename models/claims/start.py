"""Common errors about initialisation: factors per layer, what He's rule preserves, torch's copies, dead units."""

import numpy as np

from models import answers
from models.claims.card import (
    FAILS,
    HOLDS,
    PARTLY,
    Asked,
    Card,
    Lines,
    Outcome,
    Trained,
    Values,
    arxiv,
    lengths,
    middle,
    verdict,
)
from models.insight.theory import rate
from models.spec import RunConfig

CLOSE = 0.05  # relative difference up to which two factors are the same
KEPT = 2.0  # factor within which a mean square is preserved
DEAD = 0.1  # share of units that may be dead before training if the learning rate is to blame
DEEP: dict[str, object] = {"depth": 16, "width": 64, "layers_per_branch": 1}


def _signal(cfg: RunConfig) -> Asked:
    return Asked(answers.SIGNAL, cfg, {"step": 0})


def _quarter(values: Values) -> Outcome:
    found = {name: 1 / rate(lengths(one)) for name, one in values.items()}
    said = "; ".join(f"{name}: {one:.3f}" for name, one in found.items())
    claimed = {name: 0.25 if name.startswith("sigmoid") else 1.0 for name in found}
    return Outcome(
        verdict([abs(one / claimed[name] - 1) < CLOSE for name, one in found.items()]),
        f"Factor of the gradient per layer on its way back: {said}.",
        {"net": list(found), "factor per layer": list(found.values())},
        "it is ReLU with He's weights" if abs(found["relu, he"] - 1) < CLOSE else "the weights are chosen for it",
        Lines("Gradient over its end", "ratio", {name: lengths(one) for name, one in values.items()}),
    )


def _he(values: Values) -> Outcome:
    each = {
        name: np.asarray(one.mean_square)[:, -1] / np.asarray(one.mean_square)[:, 0] for name, one in values.items()
    }
    said = "; ".join(
        f"{name}: {one.min():.3g} to {one.max():.3g}, geometric mean {np.exp(np.log(one).mean()):.3g}"
        for name, one in each.items()
    )
    table = {
        "net": list(each),
        **{
            what: [float(of(one)) for one in each.values()]
            for what, of in (("least", np.min), ("mean", np.mean), ("most", np.max))
        },
    }
    lines = Lines(
        "Mean square of the stream", "mean square", {name: middle(one.mean_square) for name, one in values.items()}
    )
    kept = [bool(((one > 1 / KEPT) & (one < KEPT)).all()) for one in each.values()]
    return Outcome(
        verdict(kept),
        f"Mean square at the end over that at the start, six seeds: {said}.",
        table,
        "the net is wide for its depth",
        lines,
    )


def _copies(values: Values) -> Outcome:
    found = dict(zip(values["torch"].names, values["torch"].apart, strict=True))
    said = "; ".join(f"{name}: {one:.3g}" for name, one in found.items())
    return Outcome(
        verdict([found["nn.TransformerEncoder"] > 0]),
        f"RMS difference between the first layer and the one nearest to it: {said}.",
        {"encoder": list(found), "difference": list(found.values())},
    )


def _dying(values: Values) -> Outcome:
    dead = {name: np.asarray(one.frames[0].dead_units, float) for name, one in values.items()}
    most = {name: float(one.max()) for name, one in dead.items()}
    said = "; ".join(
        f"{name}: {one.mean():.0%} of all units, {most[name]:.0%} in the worst block" for name, one in dead.items()
    )
    table = {
        "net": list(dead),
        "dead, mean over blocks": [one.mean() for one in dead.values()],
        "most": list(most.values()),
    }
    plain = dead["plain, 32 blocks"]
    worst = HOLDS if plain.max() < DEAD / 10 else PARTLY if plain.mean() < DEAD else FAILS
    return Outcome(
        worst,
        f"Units that are 0 on all of a fixed set of 128 digits, before any step: {said}.",
        table,
        "the dead units are more than at the start",
    )


CARDS = [
    Card(
        "quarter",
        "initialisation",
        "Sigmoid gradients shrink by 1/4 per layer; ReLU's do not.",
        "1/4 is a bound for one factor with a weight up to 1. At Xavier's initialisation the measured factor is "
        "smaller still; ReLU "
        "with Xavier shrinks by sqrt(1/2), with torch's default weights by sqrt(1/6).",
        {"Glorot & Bengio 2010": "https://proceedings.mlr.press/v9/glorot10a.html"}
        | arxiv(Delving_deep_into_rectifiers="1502.01852"),
        "The gradient's length before training, six seeds, 16 one-layer blocks without skip and norm.",
        {
            name: _signal(RunConfig.arranged("plain", activation=name.split(",")[0], init=name.split(", ")[1], **DEEP))
            for name in ("sigmoid, xavier", "relu, xavier", "relu, torch", "relu, he")
        },
        _quarter,
    ),
    Card(
        "copies",
        "initialisation",
        "The layers of `nn.TransformerEncoder` start with weights of their own, so mean-field facts can be checked on "
        "it.",
        "It deep-copies one layer: all layers start the same. Build each anew, or draw its weights again.",
        {"nn.TransformerEncoder": "https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html"},
        "Six layers as torch stacks them, and six that were drawn one by one.",
        {"torch": Asked(answers.COPIES)},
        _copies,
    ),
    Card(
        "he-keeps",
        "initialisation",
        "He's initialisation preserves the variance.",
        "It preserves the mean over all weights, to which a few large nets contribute most. A typical narrow deep net "
        "loses most of it, and one seed may be off by a factor of ten and more; a net that is wide for its depth stays "
        "near the mean.",
        arxiv(Delving_deep_into_rectifiers="1502.01852", Products_of_many_random_matrices="1812.05994"),
        "A thin and a wide ReLU net of 32 one-layer blocks, six seeds each.",
        {
            f"width {width}": _signal(
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
        "In a deep plain net many units are dead for the whole batch before the first step: all inputs have become "
        "one direction, and "
        "a unit sees all of them or none.",
        arxiv(Dying_ReLU_and_initialization="1903.06733"),
        "Dead units of a plain net and of pre-norm before training.",
        {
            "plain, 32 blocks": Trained(RunConfig.arranged("plain", init="he", depth=32, width=64, steps=1)),
            "pre-norm, 32 blocks": Trained(RunConfig.arranged("pre-norm", depth=32, width=64, steps=1)),
        },
        _dying,
    ),
]
