"""`python -m benchmarks` runs all parts, `python -m benchmarks probe load` some. Nothing else should use the machine."""

import sys
from collections.abc import Callable

from benchmarks import browser, classroom, cost, instruments, maps, seeds, serving, training
from benchmarks.report import Figure, heading, machine, show

# Each takes its sizes as keywords, so that a test can run it small, and returns figures.
BENCHMARKS: dict[str, Callable[[], list[Figure]]] = {
    "probe": training.probe,
    "hooks": training.hooks,
    "watched": serving.watched,
    "load": classroom.load,
    "controls": serving.controls,
    "startup": serving.startup,
    "browser": browser.browser,
    "budget": cost.budget,
    "seeds": seeds.seeds_gain,
    "instruments": instruments.instruments,
    "maps": maps.maps,
}


def main(names: list[str]) -> int:
    """Runs the named parts, or all; 2 for a name that there is not."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}.")
        return 2
    print(machine())
    print(heading())
    for name in names or BENCHMARKS:
        for figure in BENCHMARKS[name]():
            print(show(name, figure), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
