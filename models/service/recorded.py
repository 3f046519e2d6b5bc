"""The logs of the default network before training, with and without residual and norm. No torch.

Pages show them while the trainer loads torch. `python -m models.service.record` writes them; a test compares them with
a fresh computation.
"""

from functools import cache
from pathlib import Path

from models.runlog import RunLog
from models.spec import RunConfig

RECORDED = tuple(
    RunConfig(residual=residual, norm=norm) for norm in (RunConfig().norm, "none") for residual in (True, False)
)
FOLDER = Path(__file__).with_name("recorded")


def log_of(cfg: RunConfig) -> Path:
    """Where the log of one of RECORDED lies."""
    return FOLDER / f"{'residual' if cfg.residual else 'no residual'}, {cfg.norm if cfg.norm != 'none' else 'no norm'}"


def recorded(cfg: RunConfig) -> RunLog | None:
    """The log of this configuration before training; None for all but RECORDED, and where it cannot be read."""
    return _read(cfg) if cfg in RECORDED else None


@cache
def _read(cfg: RunConfig) -> RunLog | None:
    try:
        log = RunLog(log_of(cfg))
        return log if log.traces() else None
    except (ValueError, KeyError, TypeError):
        return None
