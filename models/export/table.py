"""A trace as CSV, one row per step and site; the numbers read back as the same float32."""

from collections.abc import Mapping, Sequence

import numpy as np

from models.trace import SCALARS, Trace

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
    """CSV of a trace, with a header.

    loss, lr, grad_norm and clip_factor repeat for every site of a step; the columns after them exist only at the steps
    of frames. Empty cells: x0 has no branch, figures of a block stand at its last site, and the row after the last
    update has neither a learning rate nor an update.
    """
    rows, sites = trace.act_rms.shape
    cells = {name: np.full((rows, sites), "", object) for name in COLUMNS[2:]}
    block_ends = _last_sites(trace.sites)
    has_update = trace.lr > 0
    cells["act_rms"][:] = _texts(trace.act_rms)
    cells["grad_rms"][:] = _texts(trace.grad_rms)
    cells["branch_rms"][:, 1:] = _texts(trace.branch_rms)
    cells["weight_grad_rms"][:, block_ends] = _texts(trace.weight_grad_rms)
    for name in SCALARS:
        cells[name][:] = _texts(getattr(trace, name))[:, None]
    cells["lr"][~has_update] = ""
    for frame in trace.frames:
        for row in np.flatnonzero(trace.step == frame.step):
            cells["sample_cosine"][row] = _texts(frame.sample_cosine)
            cells["update_to_weight"][row, block_ends] = _texts(frame.update_to_weight) if has_update[row] else ""
            cells["dead_units"][row, block_ends] = _texts(frame.dead_units) if len(frame.dead_units) else ""
            cells["held_out_loss"][row], cells["held_out_accuracy"][row] = _texts(
                np.array([frame.held_out_loss, frame.held_out_accuracy])
            )
    step, site = np.repeat(trace.step, sites).astype(str), np.tile(trace.sites, rows)
    lines = zip(step, site, *(column.flat for column in cells.values()), strict=True)
    return "\n".join([",".join(COLUMNS), *map(",".join, lines)]) + "\n"


def comparison_csv(runs: Mapping[str, Sequence[Trace]]) -> str:
    """CSV of several runs, whose rows start with the run's name and the index of its seed."""
    lines = [",".join(("run", "seed", *COLUMNS))]
    for name, traces in runs.items():
        for seed, trace in enumerate(traces):
            lines += [f"{name},{seed},{line}" for line in trace_csv(trace).splitlines()[1:]]
    return "\n".join(lines) + "\n"


def _last_sites(sites: tuple[str, ...]) -> list[int]:
    """Index of each block's last site."""
    blocks = [site.partition(".")[0] for site in sites]
    return list({block: index for index, block in enumerate(blocks) if index}.values())


def _texts(series: np.ndarray) -> np.ndarray:
    """Shortest texts that read back as the same float32."""
    return series.astype(np.float32).astype("U").astype(object)
