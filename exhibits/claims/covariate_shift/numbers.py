"""Computes for the claim: Norm layers remove covariate shift."""

from typing import Any

import numpy as np

from models.labs.normalization import initial_running, normalise, updated_running


def shifted() -> dict[str, Any]:
    """Mean of feature 1 after each norm, in training and in inference on data where that feature is shifted by 3.

    `token shift`: largest change of layer norm's output if all features are shifted by 3.
    """
    rng = np.random.default_rng(31)
    training = rng.standard_normal((256, 8))
    inference = training + 3.0 * (np.arange(8) == 0)
    statistics = updated_running(initial_running(8), training, batches=100)
    outputs: dict[str, Any] = {}
    for name, settings in (("batch norm", {"running": statistics}), ("layer norm", {})):
        normed = [normalise(x, name, **settings).values for x in (training, inference)]  # type: ignore[arg-type]
        outputs[name] = tuple(float(values[:, 0].mean()) for values in normed)
    everywhere = normalise(training + 3.0, "layer norm").values - normalise(training, "layer norm").values
    return outputs | {"token shift": float(np.abs(everywhere).max())}
