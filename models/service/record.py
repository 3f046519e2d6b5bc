"""`python -m models.service.record`: records what pages show before the trainer is ready.

That is the default network before training, and what the net of the autoregression lab says after training.
"""

from models.instruments.generation import continuation
from models.service import spoken
from models.service.messages import packed
from models.service.recorded import FILE
from models.service.wire import send
from models.spec import RunConfig
from models.training import Run, profile_at_init
from models.training.replay import finished, still_of


def main() -> None:
    """Writes the recordings."""
    cfg = RunConfig()
    with FILE.open("wb") as stream:
        send(stream, {"query": cfg.to_query(), "trace": packed(profile_at_init(cfg))})
    cfg = spoken.opening()
    run = Run(cfg)
    run.advance(cfg.steps)
    value = finished(continuation(still_of(run), text=spoken.PROMPT, **spoken.SETTINGS))
    with spoken.FILE.open("wb") as stream:
        send(stream, {"query": cfg.to_query(), "value": packed(value), "loss": run.trace().loss})


if __name__ == "__main__":
    main()
