"""The browser's arithmetic beside Python's: the same ranges, ticks and thinned lines; and the playhead, second by second."""

import json
import subprocess
from itertools import product
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

from components.depth_charts import log_range
from components.figures import decades_axis, decimate
from components.stage.files import FOLDER

NODE = which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node on this machine")
HERE = Path(__file__).parent


def run(code: str, **given: Any) -> Any:
    """What a piece of JavaScript says, given some values; the stage's modules are at hand by their names."""
    names = {"bind": "bind.js", "playhead": "playhead.js", "tape": "tape.js"}
    imports = "".join(f'import * as {name} from "{(FOLDER / file).as_uri()}"\n' for name, file in names.items())
    values = "".join(f"const {name} = {json.dumps(value)}\n" for name, value in given.items())
    script = f"{imports}{values}const said = (() => {{ {code} }})()\nconsole.log(JSON.stringify(said))"
    assert NODE is not None
    done = subprocess.run([NODE, "--input-type=module", "-e", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_long_line_is_thinned_as_python_thins_it():
    values = np.random.default_rng(1).normal(size=5003).round(6)
    assert run("return bind.decimate(Float64Array.from(values))", values=values.tolist()) == decimate(values).tolist()


def test_a_gap_in_a_line_is_neither_its_least_nor_its_greatest():
    values = np.sin(np.arange(2000) / 50)
    values[::7] = np.nan
    sent = [None if np.isnan(value) else value for value in values.tolist()]
    thinned = run("return bind.decimate(Float64Array.from(values, (v) => v ?? NaN))", values=sent)
    assert set(thinned) == set(decimate(values).tolist())


def test_a_held_axis_is_that_of_python():
    all_values = [[1.0], [0.3, 7e4], [1e-30, 1e30], [0.0], [], [2e-5, 3e-5, 0.0]]
    cases = list(product([None, [-2.0, 3.0], [-9.5, -7.5]], all_values))
    code = """
    return cases.map(([previous, values]) => {
      const [low, high] = bind.logRange(previous, values)
      return [low, high, bind.powers(low, high).map((one) => 10 ** one)]
    })
    """
    for (previous, values), (low, high, ticks) in zip(cases, run(code, cases=cases), strict=True):
        assert (low, high) == log_range(tuple(previous) if previous else None, np.array(values))
        assert ticks == pytest.approx(decades_axis(low, high)["tickvals"])


def test_a_loss_is_written_as_python_writes_it():
    values = [0.186, 2.0, 12.345, 999.4, 999.9, 1234.0, 0.00012345, 0.000012345, 1e-30, 6e22, 0.0, 100.0]
    assert run("return values.map(tape.brief)", values=values) == [f"{value:.3g}" for value in values]


PLAY = """
const head = new playhead.Playhead(last, speed)
head.play(0)
const places = []
for (let frame = 1; frame <= seconds * 60; frame++) {
  const time = frame / 60
  const tapes = lengths(time)
  head.tick(time, playhead.reach(tapes))
  places.push(head.position)
}
return { places, playing: head.playing, ended: head.ended, wanted: head.wanted(), shown: head.shown }
"""


def play(lengths: str, *, last: int = 300, seconds: float = 10, speed: str = "full speed") -> dict[str, Any]:
    """Sixty frames a second of a playhead over tapes whose lengths are a JavaScript function of the time."""
    return run(f"const lengths = (time) => {lengths}\n{PLAY}", last=last, seconds=seconds, speed=speed)


def test_a_finished_tape_is_played_in_six_to_ten_seconds_at_an_even_pace():
    played = play("[{ length: 301, over: true }]", seconds=10)
    ends = played["places"].index(300) / 60
    assert 6 <= ends <= 10
    moves = np.diff(played["places"][: int(ends * 60)])
    assert moves.max() < 1.01 * moves.min()
    assert (played["playing"], played["ended"], played["shown"]) == (False, True, 300)


def test_a_short_tape_is_no_slow_motion():
    assert 0.9 < play("[{ length: 41, over: true }]", last=40)["places"].index(40) / 60 < 1.3


def test_rows_that_come_in_bursts_are_shown_at_an_even_pace():
    """Ten rows every half a second; once the pace is known, no frame waits and none leaps."""
    played = play("[{ length: 10 * Math.floor(time * 2) + 10, over: false }]", last=3000, seconds=12)
    moves = np.diff(played["places"])[4 * 60 :]
    assert moves.min() > 0
    assert moves.max() < 3.5 * np.mean(moves)
    behind = 10 * np.floor(np.arange(1, 721) / 30) + 9 - np.array(played["places"])
    assert behind[240:].max() < 30  # a second and a half of rows


def test_a_playhead_never_passes_the_rows_that_are_there():
    played = play("[{ length: Math.floor(time * 3), over: false }]", seconds=5, speed="25 steps/s")
    rows = np.maximum(0, np.floor(np.arange(1, 301) / 60 * 3 + 1e-9) - 1)
    assert (np.array(played["places"]) <= rows).all()
    assert played["playing"]


def test_the_slowest_run_that_goes_on_sets_the_pace_and_one_that_has_ended_holds_nobody_back():
    tapes = "[{ length: 5, over: true }, { length: 80, over: false }, { length: 40, over: false }]"
    assert run(f"return playhead.reach({tapes})") == {"there": 39, "over": False}


def test_when_all_runs_have_ended_the_playhead_stops_at_the_longest_end():
    tapes = "[{ length: 5, over: true }, { length: 80, over: true }]"
    assert run(f"return playhead.reach({tapes})") == {"there": 79, "over": True}
    played = play(tapes, last=300, seconds=4)
    assert (played["shown"], played["ended"], played["playing"]) == (79, True, False)


def test_a_slow_playhead_asks_for_a_few_seconds_of_rows_and_a_resting_one_for_none():
    played = play("[{ length: 301, over: false }]", seconds=2, speed="5 steps/s")
    assert 10 < played["wanted"] <= 10 + 5 * 6 + 2
    assert run("const head = new playhead.Playhead(9); return head.wanted()") == 0
    assert run("const head = new playhead.Playhead(9); head.seek(3); return head.wanted()") == 4


def test_play_from_the_end_begins_again():
    code = """
    const head = new playhead.Playhead(9)
    head.seek(end)
    head.play(0)
    head.tick(0, { there: end, over: true })
    return [head.position, head.playing]
    """
    assert [run(code, end=end) for end in (9, 4)] == [[0, True], [0, True]]


TAPE = """
const track = (name, start, width) => ({ name, start, width })
const header = { last: 9, seeds: 1, width: 4, tracks: [track("loss", 0, 1), track("act_rms", 1, 3)] }
const one = new tape.Tape({ link: "", seeds: 1, last: 9 })
one.describe(header)
"""


def test_a_tape_takes_rows_in_any_pieces_and_never_past_a_gap():
    code = """
    one.put(0, 2, Float32Array.of(3, 1, 10, 0, 2, 100, 1000, 5))
    one.put(4, 1, Float32Array.of(9, 9, 9, 9))
    one.put(1, 2, Float32Array.of(2, 100, 1000, 5, 1, 1, 1, 1))
    return [one.length, one.have, one.number("loss", 2), [...one.vector("act_rms", 1)]]
    """
    assert run(TAPE + code) == [3, 3, 1, [100, 1000, 5]]


def test_between_two_rows_points_move_by_factors_and_a_zero_stays_until_the_next_row():
    code = """
    one.put(0, 2, Float32Array.of(3, 1, 10, 0, 2, 100, 1000, 5))
    return [...one.vector("act_rms", 0.5)]
    """
    assert run(TAPE + code) == pytest.approx([10, 100, 0])


def test_a_sentence_holds_until_the_next_and_has_the_numbers_of_the_row_shown():
    code = """
    one.put(0, 3, Float32Array.of(3, 0, 0, 0, 2.5, 0, 0, 0, 1.23456, 0, 0, 0))
    one.say({ loss: [[0, "Step {step}: loss {loss}."], [2, "Step {step}: loss {loss}; it learns."]] })
    return [0, 1, 2].map((row) => one.sentence("loss", row))
    """
    assert run(TAPE + code) == ["Step 0: loss 3.", "Step 1: loss 2.5.", "Step 2: loss 1.23; it learns."]


NOW = TAPE + "const now = (more) => ({ tapes: [one], position: 0, shown: 0, row: 0, furthest: 0, playing: false, ...more })\n"
ROW = {"type": "scatter", "name": "step {step}", "x": [0, 1, 2], "text": ["x0", "b01", "b02"]}
ROW |= {"bind": {"of": "row", "track": "act_rms", "run": 0, "seed": 0, "fold": "", "log": True, "against": None}}
PROFILE = {"data": [ROW], "layout": {"yaxis": {"type": "log"}, "bind": {"y": "log", "line": ""}}}


def test_zero_and_what_is_not_finite_are_marked_at_the_edges_of_a_log_axis():
    code = """
    one.put(0, 1, Float32Array.of(3, 1, 0, Infinity))
    return bind.filled(figure, now({}), {})
    """
    drawn = run(NOW + code, figure=PROFILE)
    line, zero, lost = drawn["data"]
    low, high = drawn["layout"]["yaxis"]["range"]
    assert (line["name"], line["y"]) == ("step 0", [1, None, None])
    assert (zero["name"], zero["x"], zero["customdata"], zero["text"]) == ("exactly 0", [1], ["0"], ["b01"])
    assert (lost["name"], lost["x"], lost["customdata"]) == ("not finite", [2], ["inf"])
    assert 10**low < zero["y"][0] < 10 ** (low + 0.1)
    assert 10 ** (high - 0.1) < lost["y"][0] < 10**high


def test_a_held_range_grows_and_never_shrinks():
    code = """
    one.put(0, 2, Float32Array.of(3, 1, 10, 1000000, 3, 1, 1, 1))
    const held = {}
    return [0, 1].map((position) => bind.filled(figure, now({ position, shown: position }), held).layout.yaxis.range)
    """
    first, second = run(NOW + code, figure=PROFILE)
    assert first == second
    assert first[1] > 6


SHARE = {"type": "scatter", "name": "a line", "x": [0, 1], "text": ["b01", "b02"]}
SHARE |= {"bind": {"of": "ratio", "track": "branch", "over": "act_rms", "run": 0, "seed": 0}}
SHARES = {"data": [SHARE], "layout": {"yaxis": {}, "bind": {"y": "linear", "line": ""}}}
BRANCHED = """
const track = (name, start, width) => ({ name, start, width })
const one = new tape.Tape({ link: "", seeds: 1, last: 9 })
one.describe({ last: 9, seeds: 1, width: 5, tracks: [track("act_rms", 0, 3), track("branch", 3, 2)] })
const draw = (position, held = {}) =>
  bind.filled(figure, { tapes: [one], position, shown: Math.floor(position), row: 0, furthest: 0, playing: false }, held)
"""


def test_a_ratio_goes_element_by_element_as_far_as_both_go_and_moves_with_the_playhead():
    code = """
    const empty = draw(0).data
    one.put(0, 2, Float32Array.of(2, 4, 9, 1, 1, 2, 16, 9, 4, 4))
    return [empty, draw(0), draw(0.5).data[0].y, draw(7).data[0].y]
    """
    empty, first, between, after = run(BRANCHED + code, figure=SHARES)
    assert empty == []
    (line,) = first["data"]
    assert (line["x"], line["text"], line["y"]) == ([0, 1], ["b01", "b02"], [0.5, 0.25])
    assert between == pytest.approx([1, 0.25])
    assert after == [2, 0.25]


def test_a_linear_axis_has_0_and_all_values_with_room_and_never_shrinks():
    code = """
    one.put(0, 3, Float32Array.of(2, 4, 9, 0, 0, 2, 4, 9, 1, -4, 2, 4, 9, 1, 1))
    const held = {}
    return [0, 1, 2].map((row) => draw(row, held).layout.yaxis.range)
    """
    nothing, first, then = run(BRANCHED + code, figure=SHARES)
    assert nothing == [-0.03, 1.05]
    assert first == pytest.approx([-1.09, 0.59])
    assert then == first


def test_what_has_no_value_is_marked_at_the_lower_edge_of_a_linear_axis():
    code = """
    one.put(0, 1, Float32Array.of(0, 4, 9, 0, 2))
    return draw(0)
    """
    drawn = run(BRANCHED + code, figure=SHARES)
    line, lost = drawn["data"]
    assert line["y"] == [None, 0.5]
    assert (lost["name"], lost["text"], lost["customdata"]) == ("no value", ["b01"], ["nan"])
    assert lost["y"] == [drawn["layout"]["yaxis"]["range"][0]]


def test_a_line_over_the_steps_ends_at_the_furthest_and_has_the_step_shown_exactly():
    trace = {"type": "scatter", "name": "training"}
    trace |= {"bind": {"of": "past", "track": "loss", "run": 0, "seed": 0, "fold": "", "log": False, "against": None}}
    figure = {"data": [trace], "layout": {"yaxis": {}, "bind": {"y": "loss", "line": "line", "chance": 2.3}}}
    code = """
    one.last = 3999
    const rows = new Float32Array(4 * 4000)
    for (let row = 0; row < 4000; row++) rows[4 * row] = 1 + ((row * 7919) % 1000) / 1000
    one.put(0, 4000, rows)
    const { data, layout } = bind.filled(figure, now({ position: 1234, shown: 1234, row: 1234, furthest: 2999 }), {})
    return [data[0].x, data[0].y[data[0].x.indexOf(1234)], rows[4 * 1234], layout.shapes.map((shape) => shape.x0)]
    """
    steps, drawn, there, shapes = run(NOW + code, figure=figure)
    assert len(steps) <= 301
    assert (steps[0], steps[-1]) == (0, 2999)
    assert drawn == there
    assert shapes == [1234]
