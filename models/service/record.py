"""`python -m models.service.record`: records what pages show before the trainer is ready.

That is the default network before training, with and without residual and norm, and what the net of the autoregression
lab writes after training.
"""

import shutil

import torch

from models.runlog import RunLog
from models.service import spoken
from models.service.messages import packed
from models.service.recorded import FOLDER, RECORDED, log_of
from models.service.wire import line_of
from models.training import Run
from models.training.logged import opening


def main() -> None:
    """Writes the recordings."""
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    for cfg in RECORDED:
        head, rows, events = opening(cfg, 1)
        log = RunLog(log_of(cfg))
        log.begin(head)
        log.append(rows, events)
    cfg = spoken.opening()
    run = Run(cfg)
    run.advance(cfg.steps)
    trace = run.trace()
    spoken.FILE.write_bytes(line_of({"query": cfg.to_query(), "frame": packed(trace.frames[-1]), "loss": trace.loss}))


if __name__ == "__main__":
    main()
