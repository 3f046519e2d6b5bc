"""`python -m models.maps.record [key ...]`: recomputes prepared maps and checks, and writes their recordings."""

import json
import platform
import sys
import tempfile
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from models.maps.cells import Outcome
from models.maps.coordinates import measure
from models.maps.prepared import CHECKS, CHECKS_KEY, COMMAND, PREPARED, file_of
from models.maps.store import MapStore
from models.maps.work import compute_missing


def main(keys: list[str]) -> None:
    """Records the prepared maps with these keys (CHECKS_KEY: the coordinate checks), or all."""
    for key in keys or [*PREPARED, CHECKS_KEY]:
        if key == CHECKS_KEY:
            write_checks({check.to_json(): measure(check, scheduler="").size for check in CHECKS.values()})
            continue
        with tempfile.TemporaryDirectory() as folder:
            store = MapStore(PREPARED[key].spec, Path(folder))
            for count, _ in enumerate(compute_missing(store), start=1):
                print(f"{key}: {count} units", file=sys.stderr)
            write(key, store.outcomes())


def write(key: str, outcomes: list[Outcome]) -> None:
    """Writes a recording, one run per line."""
    provenance = {"digest": PREPARED[key].spec.digest, **_provenance()}
    head = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in provenance.items())
    runs = ",\n".join(
        json.dumps(run.to_dict()) for run in sorted(outcomes, key=lambda run: (run.arrangement, run.y, run.x, run.seed))
    )
    file_of(key).write_text("{\n" + head + ',\n"runs": [\n' + runs + "\n]\n}\n", encoding="utf-8")


def write_checks(sizes: Mapping[str, Any]) -> None:
    """Writes the recording of all checks, one check per line."""
    head = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in _provenance().items())
    lines = ",\n".join(f"{json.dumps(check)}: {json.dumps(_rounded(size))}" for check, size in sizes.items())
    file_of(CHECKS_KEY).write_text("{\n" + head + ',\n"checks": {\n' + lines + "\n}}\n", encoding="utf-8")


def _rounded(size: Any) -> Any:
    return [_rounded(part) for part in size] if isinstance(size, list | tuple) else float(f"{size:.5g}")


def _provenance() -> dict[str, str]:
    """Command, versions and date of a recording."""
    return {
        "command": COMMAND,
        "torch": version("torch"),
        "python": platform.python_version(),
        "day": date.today().isoformat(),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
