"""Instrumented training: runs with their rows, frames and divergences, and replays."""

from addnorm.probe import probe_outputs
from models.training.batched import SeedRuns
from models.training.device import available_devices, resolve_device
from models.training.loss import cross_entropy
from models.training.modes import preserve_buffers
from models.training.optimizers import OPTIMIZERS, build_optimizer
from models.training.replay import Replays, Snapshot, Work, chain, result_of, snapshot_of
from models.training.run import Run, profile_at_init

__all__ = [
    "OPTIMIZERS",
    "Replays",
    "Run",
    "SeedRuns",
    "Snapshot",
    "Work",
    "available_devices",
    "build_optimizer",
    "chain",
    "cross_entropy",
    "preserve_buffers",
    "probe_outputs",
    "profile_at_init",
    "resolve_device",
    "result_of",
    "snapshot_of",
]
