"""What visitors of one server wait for: `python -m tests.load` measures all but the long parts, `... lecture` this one."""

import argparse
import sys
from functools import partial

from benchmarks.__main__ import main
from tests.load import classroom, controls, eye, first_chart, lecture, redraws, soak

PARTS = {
    "classroom": classroom.classroom,
    "own runs": classroom.own_runs,
    "controls": controls.controls,
    "startup": controls.startup,
    "browser": first_chart.browser,
    "eye": eye.eye,
    "player": redraws.player,
    "press": redraws.press,
    "deep": redraws.deep,
    "log": redraws.log,
    "soak": soak.soak,
    "lecture": lecture.lecture,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--minutes", type=float, default=15.0, help="how long the soak lasts")
    given, rest = parser.parse_known_args()
    sys.exit(main(rest, PARTS | {"soak": partial(soak.soak, given.minutes)}, long=("soak", "log", "lecture")))
