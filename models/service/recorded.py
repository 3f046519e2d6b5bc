"""The logs of the default network before training, with and without residual and norm. No torch.

Pages show them while the trainer loads torch. `python -m models.service.record` writes them; a test compares them with
a fresh computation.
"""

from functools import cache
from pathlib import Path

from models.runlog import RunLog
from models.spec import RunConfig

RECORDED_CONFIGS = tuple(
    RunConfig(residual=residual, norm=norm) for norm in (RunConfig().norm, "none") for residual in (True, False)
)
FOLDER = Path(__file__).with_name("recorded")


def log_folder(cfg: RunConfig) -> Path:
    """The folder of the log of one of RECORDED_CONFIGS."""
    residual = "residual" if cfg.residual else "no residual"
    return FOLDER / f"{residual}, {cfg.norm if cfg.norm != 'none' else 'no norm'}"


def recorded_log(cfg: RunConfig) -> RunLog | None:
    """The log of this configuration before training; None if it was not recorded or cannot be read."""
    return _read(cfg) if cfg in RECORDED_CONFIGS else None


@cache
def _read(cfg: RunConfig) -> RunLog | None:
    try:
        log = RunLog(log_folder(cfg), mends=False)
        return log if log.traces() else None
    except ValueError:
        return None
