"""Common errors about training: comparing at one learning rate, and what warm-up is for."""

import numpy as np

from models.claims.card import Card, Judgement, Trained, Values, arxiv, in_words, verdict
from models.insight.outcome import final_loss
from models.lessons.findings import DIGITS, learned
from models.spec import RunConfig

CLOSE = 0.1  # losses this close are a draw
ADAM: dict[str, object] = {"optimizer": "adam", "depth": 12, "width": 32, "batch": 32, "steps": 150}
RATES = (0.001, 0.01)
PAIR = ("pre-norm", "post-norm")


def _one_rate(values: Values) -> Judgement:
    ends = {name: final_loss(one) for name, one in values.items()}
    gaps = [ends[f"{PAIR[1]}, {rate:g}"] - ends[f"{PAIR[0]}, {rate:g}"] for rate in RATES]
    signs = [0 if abs(gap) < CLOSE else int(np.sign(gap)) for gap in gaps]
    return Judgement(
        verdict([signs[0] == signs[1]]),
        f"Mean loss of the last twenty of 150 steps: {in_words(ends)}. The verdict at learning rate {RATES[0]:g} is "
        f"{_winner(signs[0])}, at "
        f"{RATES[1]:g} {_winner(signs[1])}.",
        {"net and learning rate": list(ends), "loss": list(ends.values())},
    )


def _winner(sign: int) -> str:
    return "a draw" if sign == 0 else f"{PAIR[0]} ahead" if sign > 0 else f"{PAIR[1]} ahead"


def _warm(values: Values) -> Judgement:
    fates = {name: learned(one, DIGITS) for name, one in values.items()}
    ends = {name: final_loss(one) for name, one in values.items()}
    learns = ["yes" if one else "no" for one in fates.values()]
    table = {"net": list(values), "loss": list(ends.values()), "learns": learns}
    failed = [name for name, one in fates.items() if name != WARMED and not one]
    return Judgement(
        verdict([name in failed for name in fates if name != WARMED]),
        f"Mean loss of the last twenty of 150 steps, chance {DIGITS:.2f}: {in_words(ends)}.",
        table,
        f"if the net is {' or '.join(one.replace(', ', ' at a learning rate of ') for one in failed)}",
    )


_WARM: dict[str, object] = {"steps": 150}  # the same nets as in the lesson on warm-up, so that tapes are shared
_BY_ADAM: dict[str, object] = {"optimizer": "adam", "lr": 0.003}
WARMED = "post-norm, 0.003, warm-up"

CARDS = [
    Card(
        "one-learning-rate",
        "training",
        "Training at one shared learning rate shows which arrangement is better.",
        "Each has a range of learning rates in which it learns: at 0.001 pre-norm and post-norm reach the same loss, "
        "at 0.01 post-norm is far behind. Other arrangements, such as plain, differ at 0.001 already.",
        arxiv(On_layer_normalization_in_the_transformer="2002.04745", DeepNet="2203.00555"),
        "Pre-norm and post-norm, 12 blocks, with Adam at two learning rates.",
        {f"{name}, {rate:g}": Trained(RunConfig.arranged(name, lr=rate, **ADAM)) for rate in RATES for name in PAIR},
        _one_rate,
    ),
    Card(
        "warm-up",
        "training",
        "Deep nets trained with Adam need a warm-up.",
        "At a learning rate of 0.003 post-norm of 32 blocks does not learn without one and pre-norm does; at 0.001 "
        "post-norm learns too. So arrangement and rate decide. The reason often given, the variance of Adam's first "
        "steps (RAdam), is not varied here. Large pre-norm models are still warmed up in practice.",
        arxiv(RAdam="1908.03265", On_layer_normalization_in_the_transformer="2002.04745"),
        "Four nets of 32 blocks learn the digits with Adam, one of them with a warm-up of 60 steps.",
        {
            "pre-norm, 0.003": Trained(RunConfig.arranged("pre-norm", **_BY_ADAM, **_WARM)),
            "post-norm, 0.003": Trained(RunConfig.arranged("post-norm", **_BY_ADAM, **_WARM)),
            WARMED: Trained(RunConfig.arranged("post-norm", warmup=60, **_BY_ADAM, **_WARM)),
            "post-norm, 0.001": Trained(RunConfig.arranged("post-norm", **(_BY_ADAM | {"lr": 0.001}), **_WARM)),
        },
        _warm,
    ),
]
