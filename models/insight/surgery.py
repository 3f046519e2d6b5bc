"""What an operation on a trained net cost, in sentences."""

import numpy as np

CHEAP = 0.01  # of loss, below which a lesion counts as costing nothing

DONE = {
    "skip": "Taking out block {block}",
    "silence": "Silencing the branches of block {block}",
    "remove norm": "Removing the norms of block {block}",
    "swap": "Swapping blocks {block} and {other}",
}


def surgery_sentence(operation: str, block: int, other: int, loss: list[float], accuracy: list[float]) -> str:
    """One operation with the held-out loss and accuracy before and after it."""
    done = DONE[operation].format(block=block, other=other)
    if not np.isfinite(loss[1]):
        return f"{done} leaves no finite loss; before it was {loss[0]:.3g}."
    change = loss[1] - loss[0]
    moved = (
        "leaves the held-out loss at" if abs(change) < CHEAP else "raises the held-out loss to" if change > 0 else "lowers it to"
    )
    return f"{done} {moved} {loss[1]:.3g} from {loss[0]:.3g}; accuracy {accuracy[0]:.1%} before, {accuracy[1]:.1%} after."


def lesion_sentence(whole: float, skip: np.ndarray) -> str:
    """Which block is needed the most and the least, and how many are hardly needed, from the losses without each (depth,)."""
    cost = skip - whole
    if np.isnan(cost).any() or not np.isfinite(whole):
        return "Some losses are not numbers, so the blocks cannot be ranked."
    most, least, cheap = int(cost.argmax()), int(cost.argmin()), int((cost < CHEAP).sum())
    return (
        f"The net needs block {most + 1} the most ({cost[most]:+.3g} of loss without it) and block {least + 1} the least "
        f"({cost[least]:+.3g}); {cheap} of {len(cost)} can each be taken out for less than {CHEAP:g}."
    )
