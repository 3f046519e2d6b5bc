"""`python -m models.maps.record [key ...]`: computes prepared maps anew and writes the files of their recordings."""

import json
import platform
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

from models.maps.cells import Outcome
from models.maps.prepared import COMMAND, PREPARED, file_of
from models.maps.store import MapStore
from models.maps.work import work


def main(keys: list[str]) -> None:
    """Records the prepared maps with these keys, or all."""
    for key in keys or PREPARED:
        with tempfile.TemporaryDirectory() as folder:
            store = MapStore(PREPARED[key].spec, Path(folder))
            for count, _ in enumerate(work(store), start=1):
                print(f"{key}: {count} units", file=sys.stderr)
            write(key, store.outcomes())


def write(key: str, outcomes: list[Outcome]) -> None:
    """Writes a recording, one run per line."""
    about = {
        "digest": PREPARED[key].spec.digest,
        "command": COMMAND,
        "torch": version("torch"),
        "python": platform.python_version(),
        "day": date.today().isoformat(),
    }
    head = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in about.items())
    runs = ",\n".join(
        json.dumps(run.packed()) for run in sorted(outcomes, key=lambda run: (run.arrangement, run.y, run.x, run.seed))
    )
    file_of(key).write_text("{\n" + head + ',\n"runs": [\n' + runs + "\n]\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
