"""The logs of the default network before training, with and without residual and norm. No torch.

Pages show them while the trainer loads torch. `python -m models.service.record` writes them; a test compares them with
a fresh computation.
"""

from functools import cache
from pathlib import Path

from models.runlog import RunLog
from models.spec import RunConfig
from models.trace import Trace

RECORDED = tuple(
    RunConfig(residual=residual, norm=norm) for norm in (RunConfig().norm, "none") for residual in (True, False)
)
FOLDER = Path(__file__).with_name("recorded")


def log_of(cfg: RunConfig) -> Path:
    """Where the log of one of RECORDED lies."""
    return FOLDER / f"{'residual' if cfg.residual else 'no residual'}, {cfg.norm if cfg.norm != 'none' else 'no norm'}"


def recorded(cfg: RunConfig) -> Trace | None:
    """Row 0 and frame 0 of this configuration's run; None for all but RECORDED, and where its log cannot be read."""
    return _read(cfg) if cfg in RECORDED else None


@cache
def _read(cfg: RunConfig) -> Trace | None:
    try:
        return next(iter(RunLog(log_of(cfg)).before()), None)
    except (ValueError, KeyError, TypeError):
        return None
