"""`python -m models.maps.record [key ...]`: computes the
prepared maps anew and writes what `prepared.recording` reads.
"""

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
    """Records each of the maps of these keys, or all."""
    for key in keys or PREPARED:
        with tempfile.TemporaryDirectory() as folder:
            store = MapStore(PREPARED[key].spec, Path(folder))
            for count, _ in enumerate(work(store), start=1):
                print(f"{key}: {count} units", file=sys.stderr)
            write(key, store.outcomes())


def write(key: str, outcomes: list[Outcome]) -> None:
    """The recording as a file, one run a line."""
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
