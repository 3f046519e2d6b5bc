"""Training that is watched: Run, its probes, rows, frames and divergence."""

from addnorm.probe import Probe, watching
from models.trace import Columns, Divergence, Frame, Trace
from models.training.batched import SeedRuns, seed_traces
from models.training.device import available_devices, resolve_device
from models.training.frames import mean_cosine, statistics_kept
from models.training.optimizers import OPTIMIZERS, build_optimizer
from models.training.replay import Replays, Still, Work, finished, still_of
from models.training.run import Run, cross_entropy, profile_at_init

__all__ = [
    "OPTIMIZERS",
    "Columns",
    "Divergence",
    "Frame",
    "Probe",
    "Replays",
    "Run",
    "SeedRuns",
    "Still",
    "Trace",
    "Work",
    "available_devices",
    "build_optimizer",
    "cross_entropy",
    "finished",
    "mean_cosine",
    "profile_at_init",
    "resolve_device",
    "seed_traces",
    "statistics_kept",
    "still_of",
    "watching",
]
