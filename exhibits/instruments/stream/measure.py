"""Growth of the stream, and size and direction of each branch (ShortGPT 2403.03853; Gromov 2403.17887)."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from exhibits.instruments.stream.answer import STREAM, Stream
from models.instruments import on_snapshot
from models.instruments.stream import rms, stream_and_branches
from models.training import Snapshot


def stream(snapshot: Snapshot) -> Stream:
    """Sizes and cosines of the stream and its branches on the step's batch."""
    points, branches = stream_and_branches(snapshot)
    before, after = points[:-1], points[1:]
    return Stream(
        stream_rms=_numbers([rms(x) for x in points]),
        branch_rms=_numbers([rms(f) for f in branches]),
        share=_numbers([rms(f) / rms(x) for f, x in zip(branches, before, strict=True)]),
        neighbour_cosine=_numbers([cosine(x, y) for x, y in zip(before, after, strict=True)]),
        branch_cosine=_numbers([cosine(f, x) for f, x in zip(branches, before, strict=True)]),
    )


def cosine(x: Tensor, y: Tensor) -> Tensor:
    """Mean cosine over tokens between two streams (..., D); NaN if every token is 0 in one of them."""
    lengths = x.norm(dim=-1) * y.norm(dim=-1)
    nonzero = lengths > 0
    if not nonzero.any():
        return lengths.new_tensor(torch.nan)
    return F.cosine_similarity(x[nonzero], y[nonzero], dim=-1, eps=0.0).mean()


def _numbers(values: list[Tensor]) -> np.ndarray:
    return torch.stack(values).float().cpu().numpy()


MEASURES = {STREAM: on_snapshot(stream)}
