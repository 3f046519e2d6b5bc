"""What nets that are trained on few samples answer."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Overfitting:
    """Nets with each of K norms and S seeds, trained on few samples and measured at F steps."""

    steps: np.ndarray  # (F,)
    train: np.ndarray  # loss on these samples in eval mode, (K, S, F)
    held_out: np.ndarray  # held-out loss in eval mode, (K, S, F)
    accuracy: np.ndarray  # held-out accuracy, (K, S, F)
    sharpness: np.ndarray  # largest eigenvalue of the Hessian on all samples at the end, (K, S)
    rise: np.ndarray  # median rise of the loss along random filter-normalised directions at the end, (K, S)


FEW_SAMPLES = Question("few samples", Overfitting)
