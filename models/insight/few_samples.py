"""The sentences on training with few samples: whether a norm means less overfitting, and a flatter loss."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number

CLEAR = 1.1  # factor from which losses or rises are said to differ
POINTS = 0.02  # accuracy from which accuracies are said to differ


def generalises(norms: Sequence[str], held_out: np.ndarray, accuracy: np.ndarray) -> str:
    """Whether the first net, without a norm, has a higher held-out loss than the others, seed by seed, (K, S)."""
    if not np.isfinite(held_out[0]).all():
        return _lost(norms, held_out)
    if not np.isfinite(held_out).all():
        return "A net with a norm diverged: nothing can be compared."
    better = held_out[0] > CLEAR * held_out[1:]
    verdict = (
        "lower with a norm for every seed"
        if better.all()
        else "no lower with a norm"
        if not better.any()
        else f"clearly lower with a norm in {int(better.sum())} of {better.size} pairs"
    )
    apart = float(np.abs(accuracy[1:].mean(1) - accuracy[0].mean()).max())
    right = "hardly differs" if apart < POINTS else f"differs by up to {apart:.1%}"
    return (
        f"The held-out loss ends {verdict}: {_listed(norms, held_out.mean(1))}. The accuracy {right}: "
        f"{_listed(norms, accuracy.mean(1), percent=True)}."
    )


def flatter(norms: Sequence[str], rise: np.ndarray) -> str:
    """Whether the loss rises faster around the first net, without a norm, than around the others, (K, S)."""
    if not np.isfinite(rise[0]).all():
        return _lost(norms, rise)
    mean = rise.mean(1)
    steeper = rise[0] > CLEAR * rise[1:]
    if steeper.all():
        verdict = f"rises less with a norm, by a factor of {_range(mean[0] / mean[1:])}"
    elif steeper.any():
        verdict = f"rises clearly less with a norm in {int(steeper.sum())} of {steeper.size} pairs"
    else:
        verdict = "rises no less with a norm"
    return f"Beside the net the loss {verdict}: {_listed(norms, mean)}."


def _lost(norms: Sequence[str], values: np.ndarray) -> str:
    nets = values.shape[1]
    lost = nets - int(np.isfinite(values[0]).sum())
    others = "those with a norm did not" if np.isfinite(values[1:]).all() else "others too"
    return (
        f"At this learning rate {lost} of {nets} nets without a norm diverged, {others}: what a norm does "
        "here is to let the net train at all. Take a smaller rate to compare the rest."
    )


def _range(values: np.ndarray) -> str:
    low, high = number(values.min(), 2), number(values.max(), 2)
    return low if low == high else f"{low} to {high}"


def _listed(norms: Sequence[str], values: np.ndarray, *, percent: bool = False) -> str:
    names = ("without one" if norm == "none" else norm for norm in norms)
    return ", ".join(
        f"{name} {value:.1%}" if percent else f"{name} {number(value)}"
        for name, value in zip(names, values, strict=True)
    )
