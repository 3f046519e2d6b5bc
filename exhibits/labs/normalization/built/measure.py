"""torch's own layer norm of a row of numbers."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from exhibits.labs.normalization.built.answer import LAYER_NORM, TorchNormed


def layer_norm(row: Sequence[float], *, eps: float, gain: float = 1.0, bias: float = 0.0) -> TorchNormed:
    """torch's layer norm of one `row` in float64, with every weight set to `gain` and every bias to `bias`.

    ValueError unless the row has 2 to 400 numbers.
    """
    x = torch.tensor(row, dtype=torch.float64)
    if x.ndim != 1 or not 1 < len(x) <= 400:
        raise ValueError(f"a row has 2 to 400 numbers, not the shape {tuple(x.shape)}")
    weight, shift = torch.full_like(x, float(gain)), torch.full_like(x, float(bias))
    return TorchNormed(F.layer_norm(x, x.shape, weight, shift, eps=float(eps)).numpy())


MEASURES = {LAYER_NORM: layer_norm}
EXAMPLES = {LAYER_NORM: {"row": [1.0, 2.0, 4.0], "eps": 1e-5}}
