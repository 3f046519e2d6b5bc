"""Visitors who press anything, at random, for as long as you like: what they found, and how to reproduce it."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.browser.chromium import MISSING, chromium
from tests.load.server import serving
from tests.walk.tabs import Manner
from tests.walk.visitor import REST, Visitor


def main(arguments: list[str]) -> int:
    """Walks once per seed; 1 if anything was found."""
    asked = _asked(arguments)
    manner = Manner(asked.phone, asked.keyboard, asked.dark, asked.slow, asked.tabs)
    found = 0
    with chromium() as browser, TemporaryDirectory() as folder, serving(log=Path(folder) / "log") as server:
        if browser is None:
            print(MISSING)
            return 2
        server.wait_for(b'"ready"')
        for seed in asked.seeds:
            kill = server.kill_worker if asked.kill else None
            shots = asked.shots and _folder(asked.shots / str(seed))
            visitor = Visitor(browser, server.url, Random(seed), manner, kill, shots, REST * (3 if asked.slow else 1))
            visitor.walk(_until(time.monotonic() + asked.seconds))
            print(f"seed {seed}{_said(arguments)}\n{visitor}", flush=True)
            found += len(visitor.findings)
        errors = [line for line in (Path(folder) / "log").read_text().splitlines() if " ERROR " in line]
        print(
            "\n".join(dict.fromkeys(line.partition(" ERROR ")[2] for line in errors)) or "no error in the server's log"
        )
    return int(found > 0 or bool(errors))


def _asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.walk", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="a walk each")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long each lasts")
    parser.add_argument("--phone", action="store_true", help="a narrow window, and fingers")
    parser.add_argument("--keyboard", action="store_true", help="Tab and keys alone")
    parser.add_argument("--dark", action="store_true", help="the dark theme")
    parser.add_argument("--slow", action="store_true", help="2 Mbit/s and 300 ms")
    parser.add_argument("--tabs", action="store_true", help="now and then a second tab")
    parser.add_argument("--kill", action="store_true", help="the trainer is killed now and then (Linux)")
    parser.add_argument("--shots", type=Path, help="a folder for a picture of every finding")
    return parser.parse_args(arguments)


def _until(end: float) -> Callable[[int], bool]:
    """Whether there is time left (`time.monotonic`)."""
    return lambda _: time.monotonic() < end


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _said(arguments: list[str]) -> str:
    """The options of a walk that are needed to repeat it."""
    plain = [word for word in arguments if word in ("--phone", "--keyboard", "--dark", "--slow", "--tabs", "--kill")]
    return "".join(f" {word}" for word in plain)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
