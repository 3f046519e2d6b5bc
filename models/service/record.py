"""`python -m models.service.record`: records what pages show before the trainer is ready.

That is the default network before training, with and without residual and norm, and what the net of the autoregression
lab writes after training.
"""

from models.service import spoken
from models.service.messages import packed
from models.service.recorded import FILE, RECORDED
from models.service.wire import send
from models.training import Run, profile_at_init


def main() -> None:
    """Writes the recordings."""
    runs = [{"query": cfg.to_query(), "trace": packed(profile_at_init(cfg))} for cfg in RECORDED]
    with FILE.open("wb") as stream:
        send(stream, {"runs": runs})
    cfg = spoken.opening()
    run = Run(cfg)
    run.advance(cfg.steps)
    trace = run.trace()
    with spoken.FILE.open("wb") as stream:
        send(stream, {"query": cfg.to_query(), "frame": packed(trace.frames[-1]), "loss": trace.loss})


if __name__ == "__main__":
    main()
