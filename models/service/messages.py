"""Traces, frames and columns as what the wire carries, and back."""

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np

from models.service.wire import Message
from models.spec import RunConfig
from models.trace import SCALARS, Columns, Divergence, Frame, Trace, trace_of


@lru_cache(maxsize=4096)
def key_of(cfg: RunConfig) -> str:
    """The identity of a run: its link. Equal configurations have equal links, in every process."""
    return urlencode(cfg.to_query())


def tape_key(cfg: RunConfig, seeds: int = 1) -> str:
    """The identity of a tape: that of its run, and how many seeds it holds."""
    return key_of(cfg) if seeds == 1 else f"{key_of(cfg)}#{seeds}"


def config_from(query: Mapping[str, str]) -> RunConfig:
    """The configuration of a link that `to_query` wrote. ValueError when it is another."""
    cfg, notes = RunConfig.from_query(query)
    if notes:
        raise ValueError("; ".join(notes))
    return cfg


def columns_message(columns: Columns) -> Message:
    """Columns as plain lists."""
    return {"sites": list(columns.sites), "branches": list(columns.branches), "depth": columns.depth}


def columns_from(message: Message) -> Columns:
    """The columns of a message."""
    return Columns(tuple(message["sites"]), tuple(message["branches"]), message["depth"])


def frame_message(frame: Frame) -> Message:
    """A frame as a dict of its fields."""
    return {part.name: getattr(frame, part.name) for part in fields(frame)}


def frame_from(message: Message) -> Frame:
    """The frame of a message."""
    return Frame(**message)


def divergence_message(divergence: Divergence | None) -> Message | None:
    """A divergence as a dict of its fields."""
    return None if divergence is None else dict(vars(divergence))


def divergence_from(message: Message | None) -> Divergence | None:
    """The divergence of a message."""
    return None if message is None else Divergence(**message)


def trace_message(trace: Trace) -> dict[str, Any]:
    """A whole trace: its rows as one (T, width) matrix, columns, frames and divergence."""
    columns = Columns(trace.sites, trace.branches, trace.weight_grad_rms.shape[1])
    scalars = [getattr(trace, name)[:, None] for name in SCALARS]
    vectors = [getattr(trace, name) for name in columns.slices]
    return {
        "columns": columns_message(columns),
        "rows": np.concatenate(scalars + vectors, axis=1).astype(np.float32, copy=False),
        "frames": [frame_message(frame) for frame in trace.frames],
        "divergence": divergence_message(trace.divergence),
    }


def trace_from(value: Mapping[str, Any]) -> Trace:
    """The trace of a message, such as the answer to the question "profile"."""
    frames = [frame_from(packed) for packed in value["frames"]]
    return trace_of(columns_from(value["columns"]), value["rows"], frames, divergence_from(value["divergence"]))
