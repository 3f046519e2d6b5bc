"""Cross-entropy of a batch, for one net or for stacked nets. Targets equal to NO_LOSS are ignored."""

import torch.nn.functional as F
from torch import Tensor

from models.tasks.base import NO_LOSS


def cross_entropy(logits_BTC: Tensor, y_BT: Tensor) -> Tensor:
    """Mean cross-entropy over all targets, ()."""
    return F.cross_entropy(logits_BTC.flatten(0, 1), y_BT.flatten(), ignore_index=NO_LOSS)


def cross_entropies(logits_KNC: Tensor, y_KN: Tensor) -> Tensor:
    """Mean cross-entropy over the targets of each seed, (K,)."""
    losses = F.cross_entropy(logits_KNC.flatten(0, 1), y_KN.flatten(), ignore_index=NO_LOSS, reduction="none")
    return losses.view(y_KN.shape).sum(1) / (y_KN != NO_LOSS).sum(1)
