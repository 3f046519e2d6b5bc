"""Sentences on training with few samples: whether a norm reduces overfitting and flattens the loss."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number

CLEAR_FACTOR = 1.1  # from which losses or rises of the loss are said to differ
CLEAR_ACCURACY = 0.02  # difference from which accuracies are said to differ


def overfitting_sentence(norms: Sequence[str], held_out: np.ndarray, accuracy: np.ndarray) -> str:
    """Whether nets with a norm reach a lower held-out loss, seed by seed, than the first net, which has none.

    `held_out` and `accuracy` are by norm and seed, (K, S).
    """
    if not np.isfinite(held_out[0]).all():
        return _divergence_sentence(held_out)
    if not np.isfinite(held_out).all():
        return "A net with a norm diverged: nothing can be compared."
    better = held_out[0] > CLEAR_FACTOR * held_out[1:]
    if better.all():
        verdict = "lower with a norm for every seed"
    elif better.any():
        verdict = f"clearly lower with a norm in {int(better.sum())} of {better.size} pairs"
    else:
        verdict = "no lower with a norm"
    difference = float(np.abs(accuracy[1:].mean(1) - accuracy[0].mean()).max())
    differs = "hardly differs" if difference < CLEAR_ACCURACY else f"differs by up to {difference:.1%}"
    losses = [number(loss) for loss in held_out.mean(1)]
    accuracies = [f"{share:.1%}" for share in accuracy.mean(1)]
    return (
        f"The held-out loss ends {verdict}: {_with_norms(norms, losses)}. The accuracy {differs}: "
        f"{_with_norms(norms, accuracies)}."
    )


def flatness_sentence(norms: Sequence[str], rise: np.ndarray) -> str:
    """Whether the loss rises less around nets with a norm than around the first net, by norm and seed (K, S)."""
    if not np.isfinite(rise[0]).all():
        return _divergence_sentence(rise)
    mean = rise.mean(1)
    steeper = rise[0] > CLEAR_FACTOR * rise[1:]
    if steeper.all():
        ratios = mean[0] / mean[1:]
        low, high = number(ratios.min(), 2), number(ratios.max(), 2)
        verdict = f"rises less with a norm, by a factor of {low if low == high else f'{low} to {high}'}"
    elif steeper.any():
        verdict = f"rises clearly less with a norm in {int(steeper.sum())} of {steeper.size} pairs"
    else:
        verdict = "rises no less with a norm"
    return f"Beside the net the loss {verdict}: {_with_norms(norms, [number(value) for value in mean])}."


def _divergence_sentence(values: np.ndarray) -> str:
    """That some nets without a norm diverged, from numbers (K, S) that are not finite for them."""
    nets = values.shape[1]
    diverged = nets - int(np.isfinite(values[0]).sum())
    if np.isfinite(values[1:]).all():
        others = "and none with a norm: what a norm does here is let the net train at all"
    else:
        others = "and so did some with a norm"
    return (
        f"At this learning rate {diverged} of {nets} nets without a norm diverged, {others}. "
        "Take a smaller rate to compare the rest."
    )


def _with_norms(norms: Sequence[str], values: Sequence[str]) -> str:
    names = ["without one" if norm == "none" else norm for norm in norms]
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))
