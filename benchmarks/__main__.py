"""`python -m benchmarks` measures all parts except the long ones; `python -m benchmarks probe seeds` only these two.

Nothing else should use the machine meanwhile. `python -m tests.load` measures the waits of a server's visitors.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch

from benchmarks import browser, cost, maps, papers, remedies, search, seeds, training, watch
from benchmarks.report import Figure, heading, machine, show
from benchmarks.timing import default_step_seconds, stolen_ticks
from tests.addnorm import families, findings
from tests.insight import verdicts

# Each returns figures; its sizes are arguments, so that a test can run it small.
BENCHMARKS: dict[str, Callable[[], Iterable[Figure]]] = {
    "probe": training.probe,
    "connections": training.connections,
    "watch": watch.watch,
    "budget": cost.budget,
    "seeds": seeds.seeds_gain,
    "maps": maps.maps,
    "remedies": remedies.remedies,
    "search": search.search,
    "verdicts": verdicts.verdicts,
    "findings": findings.findings,
    "families": families.families,
    "papers": papers.papers,
    "browser": browser.browser,
}
LONG = ("verdicts", "findings", "families", "papers")


def main(
    arguments: list[str], parts: Mapping[str, Callable[[], Iterable[Figure]]] = BENCHMARKS, long: Sequence[str] = LONG
) -> int:
    """Runs the named parts, or all except the long ones. Returns the exit code: 2 for an unknown name."""
    parser = argparse.ArgumentParser(description="Prints figures beside their goals.")
    parser.add_argument("names", nargs="*", metavar="part", help=", ".join(parts))
    names: list[str] = parser.parse_args(arguments).names
    unknown = [name for name in names if name not in parts]
    if unknown:
        print(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(parts)}.")
        return 2
    torch.set_num_threads(1)
    print(machine())
    print(heading())
    for name in names or [name for name in parts if name not in long]:
        ticks_before = stolen_ticks()
        for figure in parts[name]():
            print(show(name, figure), flush=True)
        print(show(name, _interference(ticks_before)), flush=True)
    return 0


def _interference(ticks_before: tuple[float, float]) -> Figure:
    """The share of processor time stolen by the host since then, and the present time of the default net's step.

    The goals are for an idle machine on which that step takes 10 ms.
    """
    stolen, total = stolen_ticks()
    stolen_before, total_before = ticks_before
    share = (stolen - stolen_before) / max(total - total_before, 1.0)
    return Figure(
        "processor time that the host gave to others",
        share,
        note=f"default step {default_step_seconds() * 1000:.0f} ms now",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
