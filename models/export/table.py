"""A trace as a table of one row per step and site, in numbers that read back as the same float32."""

from collections.abc import Mapping, Sequence

import numpy as np

from models.trace import Frame, Trace

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
    "sample_cosine",
    "update_to_weight",
    "dead_units",
    "held_out_loss",
    "held_out_accuracy",
)


def trace_csv(trace: Trace) -> str:
    """The CSV of a trace, with a header.

    loss, lr, grad_norm and clip_factor repeat for every site of a step; the columns after them are measured only at the
    steps of frames. Some cells are empty: x0 has no branch, what belongs to a block is at its last site, and the row
    after the last update has neither a learning rate nor an update of its own.
    """
    ends = _block_ends(trace.sites)
    act, grad, branch, weight = (
        _texts(series) for series in (trace.act_rms, trace.grad_rms, trace.branch_rms, trace.weight_grad_rms)
    )
    scalars = [_texts(series) for series in (trace.loss, trace.lr, trace.grad_norm, trace.clip_factor)]
    updated = trace.lr > 0
    scalars[1] = [rate if there else "" for rate, there in zip(scalars[1], updated, strict=True)]
    frames = {frame.step: frame for frame in trace.frames}
    lines = [",".join(COLUMNS)]
    for row in range(len(trace)):
        step = ",".join(scalar[row] for scalar in scalars)
        seen = _seen(frames.get(int(trace.step[row])), len(trace.sites), ends, updated=bool(updated[row]))
        for at, site in enumerate(trace.sites):
            own_branch = branch[row][at - 1] if at else ""
            own_weight = weight[row][ends[at]] if at in ends else ""
            numbers = f"{act[row][at]},{grad[row][at]},{own_branch},{own_weight},{step},{seen[at]}"
            lines.append(f"{trace.step[row]},{site},{numbers}")
    return "\n".join(lines) + "\n"


def comparison_csv(runs: Mapping[str, Sequence[Trace]]) -> str:
    """The tables of several runs as one, each row behind its run and the number of its seed, from 0."""
    lines = [",".join(("run", "seed", *COLUMNS))]
    for name, traces in runs.items():
        for seed, trace in enumerate(traces):
            lines += [f"{name},{seed},{line}" for line in trace_csv(trace).splitlines()[1:]]
    return "\n".join(lines) + "\n"


def _seen(frame: Frame | None, sites: int, ends: dict[int, int], *, updated: bool) -> list[str]:
    """The last five cells of a step's rows, site by site."""
    if frame is None:
        return [",,,,"] * sites
    cosine, update, dead = (_texts(one) for one in (frame.sample_cosine, frame.update_to_weight, frame.dead_units))
    update = update if updated else [""] * len(update)
    held_out = ",".join(_texts(np.array([frame.held_out_loss, frame.held_out_accuracy])))
    blocks = [ends.get(at, -1) for at in range(sites)]
    own = ((update[block] if block >= 0 else "", dead[block] if block >= 0 and dead else "") for block in blocks)
    return [f"{cosine[at]},{','.join(cells)},{held_out}" for at, cells in enumerate(own)]


def _block_ends(sites: tuple[str, ...]) -> dict[int, int]:
    """The index of every block by that of its last site."""
    blocks = [site.partition(".")[0] for site in sites]
    last = {block: at for at, block in enumerate(blocks) if at}
    return {at: index for index, at in enumerate(last.values())}


def _texts(series: np.ndarray) -> list:
    """Numbers as the shortest texts that read back as the same float32."""
    return series.astype(np.float32).astype("U").tolist()
