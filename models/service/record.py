"""`python -m models.service.record`: records what pages show before the trainer is ready.

It records the default network before training, with and without residual and norm, and the text that the net of the
autoregression lab writes after training.
"""

import shutil

import torch

from models.runlog import RunLog
from models.service import recorded_text
from models.service.messages import packed
from models.service.recorded import FOLDER, RECORDED_CONFIGS, log_folder
from models.service.wire import line_of
from models.training import Run
from models.training.log_writer import log_opening


def main() -> None:
    """Writes the recordings."""
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    for cfg in RECORDED_CONFIGS:
        head, rows, events = log_opening(cfg, 1)
        log = RunLog(log_folder(cfg))
        log.begin(head)
        log.append(rows, events)
    cfg = recorded_text.first_config()
    run = Run(cfg)
    run.advance(cfg.steps)
    trace = run.trace()
    recording = {"query": cfg.to_query(), "frame": packed(trace.frames[-1]), "loss": trace.loss}
    recorded_text.FILE.write_bytes(line_of(recording))


if __name__ == "__main__":
    main()
