"""`python -m benchmarks` runs all parts but the long ones; `python -m benchmarks probe stage` runs these two.

`python -m benchmarks walk --help`: visitors who press anything, and what they found. Meanwhile nothing else should use
the machine.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial

import torch

from benchmarks import (
    attack,
    browser,
    classroom,
    cost,
    eye,
    instruments,
    maps,
    remedies,
    seeds,
    serving,
    soak,
    stage,
    training,
    verdicts,
    walk,
    watch,
)
from benchmarks.report import Figure, heading, machine, show
from benchmarks.timing import default_step, stolen

# Each returns figures, and takes its sizes as arguments, so that a test can run it small.
BENCHMARKS: dict[str, Callable[[], Iterable[Figure]]] = {
    "probe": training.probe,
    "watch": watch.watch,
    "classroom": classroom.classroom,
    "controls": serving.controls,
    "startup": serving.startup,
    "browser": browser.browser,
    "eye": eye.eye,
    "stage": stage.stage,
    "deep": stage.deep,
    "tape": stage.tape,
    "budget": cost.budget,
    "seeds": seeds.seeds_gain,
    "instruments": instruments.instruments,
    "maps": maps.maps,
    "remedies": remedies.remedies,
    "verdicts": verdicts.verdicts,
    "soak": soak.soak,
    "attack": attack.attack,
}
LONG = ("soak", "verdicts", "tape", "attack")


def main(arguments: list[str]) -> int:
    """Runs the named parts, or all but the long ones. Returns 2 for an unknown name. A walk has options of its own."""
    if arguments[:1] == ["walk"]:
        return walk.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="part", help=", ".join(BENCHMARKS))
    parser.add_argument("--minutes", type=float, default=15.0, help="how long the soak lasts")
    chosen = parser.parse_args(arguments)
    names: list[str] = chosen.names
    parts = BENCHMARKS | {"soak": partial(soak.soak, chosen.minutes)}
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}.")
        return 2
    torch.set_num_threads(1)
    print(machine())
    print(heading())
    for name in names or [name for name in BENCHMARKS if name not in LONG]:
        before = stolen()
        for figure in parts[name]():
            print(show(name, figure), flush=True)
        print(show(name, _disturbed(before)), flush=True)
    return 0


def _disturbed(before: tuple[float, float]) -> Figure:
    """How far to trust the figures above: goals are for an otherwise idle machine, whose default step takes 10 ms."""
    (taken, whole), (taken_before, whole_before) = stolen(), before
    share = (taken - taken_before) / max(whole - whole_before, 1.0)
    return Figure(
        "processor time that the host gave to others", share, note=f"default step {default_step() * 1000:.0f} ms now"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
