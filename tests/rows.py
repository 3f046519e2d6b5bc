"""A trace as the matrix of its rows."""

import numpy as np

from models.trace import SCALARS, Columns, Trace


def rows_of(trace: Trace) -> np.ndarray:
    """The matrix of rows (T, columns.width) that `trace_of` takes."""
    columns = Columns(trace.sites, trace.branches, trace.weight_grad_rms.shape[1])
    scalars = [getattr(trace, name)[:, None] for name in SCALARS]
    return np.concatenate(scalars + [getattr(trace, name) for name in columns.slices], axis=1).astype(
        np.float32, copy=False
    )
