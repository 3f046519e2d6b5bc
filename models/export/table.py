"""A trace as a table of one row per step and site, in numbers that read back as the same float32."""

import numpy as np

from models.trace import Trace

COLUMNS = (
    "step",
    "site",
    "act_rms",
    "grad_rms",
    "branch_rms",
    "weight_grad_rms",
    "loss",
    "lr",
    "grad_norm",
    "clip_factor",
)


def trace_csv(trace: Trace) -> str:
    """The CSV of a trace, with a header.

    loss, lr, grad_norm and clip_factor repeat for every site of a step. Some cells are empty: x0 has no branch, and a
    block's weight gradient is at its last site.
    """
    ends = _block_ends(trace.sites)
    act, grad, branch, weight = (
        _texts(series) for series in (trace.act_rms, trace.grad_rms, trace.branch_rms, trace.weight_grad_rms)
    )
    scalars = [_texts(series) for series in (trace.loss, trace.lr, trace.grad_norm, trace.clip_factor)]
    lines = [",".join(COLUMNS)]
    for row in range(len(trace)):
        step = ",".join(scalar[row] for scalar in scalars)
        for at, site in enumerate(trace.sites):
            own_branch = branch[row][at - 1] if at else ""
            own_weight = weight[row][ends[at]] if at in ends else ""
            lines.append(f"{trace.step[row]},{site},{act[row][at]},{grad[row][at]},{own_branch},{own_weight},{step}")
    return "\n".join(lines) + "\n"


def _block_ends(sites: tuple[str, ...]) -> dict[int, int]:
    """The index of every block by that of its last site."""
    blocks = [site.partition(".")[0] for site in sites]
    last = {block: at for at, block in enumerate(blocks) if at}
    return {at: index for index, at in enumerate(last.values())}


def _texts(series: np.ndarray) -> list:
    """Numbers as the shortest texts that read back as the same float32."""
    return series.astype(np.float32).astype("U").tolist()
