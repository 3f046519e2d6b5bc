"""`python -m models.service.record`: computes the default network before training and writes it where `recorded` reads it."""

from models.service.messages import packed
from models.service.recorded import FILE
from models.service.wire import send
from models.spec import RunConfig
from models.training import profile_at_init


def main() -> None:
    """Writes the recording."""
    cfg = RunConfig()
    with FILE.open("wb") as stream:
        send(stream, {"query": cfg.to_query(), "trace": packed(profile_at_init(cfg))})


if __name__ == "__main__":
    main()
