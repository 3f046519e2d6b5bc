"""The browser's arithmetic: ranges, ticks and thinned lines; and the playhead, second by second."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from addnorm.player.charts import LIMITS, recorded_depth, recorded_loss, recorded_map
from addnorm.words import number
from components.charts import figures
from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series, depth_profile
from components.playground.presets import PRESETS
from models.insight.baseline import loss_of_guessing
from models.insight.fate import GROWN
from models.training import profile_at_init
from tests.addnorm.test_read import HEADER
from tests.addnorm.test_read import ROW as LINE
from tests.drawn import run


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.9])
def test_a_long_line_keeps_both_ends_and_every_spike_in_300_points(missing):
    random = np.random.default_rng(1)
    lines = []
    for length in (301, 1000, 5003):
        values = np.where(random.random(length) < missing, np.nan, random.normal(size=length))
        values[0] = 0.0
        values[int(random.integers(length))] = 1e9
        values[int(random.integers(length))] = -1e9
        lines.append(values)
    sent = [[None if np.isnan(value) else value for value in values.tolist()] for values in lines]
    code = "return lines.map((values) => bind.decimate(Float64Array.from(values, (v) => v ?? NaN)))"
    for values, kept in zip(lines, run(code, lines=sent), strict=True):
        assert len(kept) <= 300
        assert kept == sorted(set(kept))
        assert (kept[0], kept[-1]) == (0, len(values) - 1)
        assert np.nanmin(values[kept]) == np.nanmin(values)
        assert np.nanmax(values[kept]) == np.nanmax(values)


def test_a_held_axis_covers_the_data_spans_two_decades_never_shrinks_and_has_few_ticks():
    all_values = [[1.0], [0.3, 7e4], [1e-30, 1e30], [0.0], [], [2e-5, 3e-5, 0.0]]
    cases = list(product([None, [-2.0, 3.0], [-9.5, -7.5]], all_values))
    code = """
    return cases.map(([previous, values]) => {
      const [low, high] = bind.logRange(previous, values)
      return [low, high, bind.logRange([low, high], values), bind.powers(low, high)]
    })
    """
    for (previous, values), (low, high, again, ticks) in zip(cases, run(code, cases=cases), strict=True):
        assert high - low >= 2
        assert all(10**low < value < 10**high for value in values if value > 0)
        assert previous is None or (low <= previous[0] and high >= previous[1])
        assert again == [low, high]
        assert 2 <= len(ticks) <= 7
        assert len({*np.diff(ticks)}) == 1
        assert low <= ticks[0] <= ticks[-1] <= high


def test_the_stacks_of_all_presets_have_one_scale_and_a_net_that_leaves_it_a_wider_one():
    cfgs = [one.cfg for one in PRESETS.values()]
    for name, track in (("act", "act_rms"), ("grad", "grad_rms")):
        rows = [getattr(profile_at_init(cfg), track)[0].tolist() for cfg in cfgs]
        scales = run("return rows.map((row) => stack.scaleOf(name, row))", rows=rows, name=name)
        assert {tuple(scale) for scale in scales} == {tuple(scales[0])}
        low, high = run("return stack.scaleOf(name, row)", row=[1e-12, 1.0], name=name)
        assert (low < -12, high) == (True, scales[0][1])


SIZES = {
    0.186: "0.186",
    2.0: "2",
    12.345: "12.3",
    999.9: "1,000",
    63000.0: "63,000",
    999_400.0: "999,000",
    999_600.0: "10⁶",
    1.6e16: "1.6·10¹⁶",
    -3.2e9: "-3.2·10⁹",
    1e-5: "0.00001",
    1e-6: "0.000001",
    4.6e-9: "4.6·10⁻⁹",
    1e-30: "10⁻³⁰",
    0.0: "0",
}


def test_a_number_has_one_notation_in_python_and_in_the_browser():
    assert {value: number(value) for value in SIZES} == SIZES
    random = np.random.default_rng(0)
    values = [*SIZES, -0.0, *(10 ** random.uniform(-12, 12, 200) * random.choice([-1, 1], 200)).tolist()]
    for digits in (2, 3, 4):
        written = [number(value, digits) for value in values]
        assert run("return values.map((value) => tape.brief(value, digits))", values=values, digits=digits) == written
        for value, said in zip(values, written, strict=True):
            assert not re.search(r"\de[+-]?\d", said)
            sign, mantissa, power = re.fullmatch(r"(-?)([\d,.]*)·?(?:10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", said).groups()
            exponent = int((power or "0").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
            read = float(f"{sign}{mantissa.replace(',', '') or 1}") * 10.0**exponent
            assert read == pytest.approx(value, rel=0.5 * 10 ** (1 - digits), abs=0)


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


def test_it_stops_at_the_first_step_that_reaches_the_loss_and_not_again_at_an_earlier_one():
    code = """
    const head = new playhead.Playhead(9)
    const losses = [3, 2, 1, 0.5, 2, 0.4]
    head.play(0)
    head.position = at
    return [head.stopAt(before, have, target, (row) => losses[row]), head.playing, head.shown]
    """
    there = {"at": 5, "before": 0, "have": 6, "target": 1.0}
    assert run(code, **there) == [2, False, 2]
    assert run(code, **there | {"before": 3}) == [5, False, 5]
    assert run(code, **there | {"before": 3, "have": 5}) == [None, True, 5]
    assert run(code, **there | {"target": 0}) == [None, True, 5]


def test_time_in_which_a_page_was_hidden_or_paused_is_not_caught_up():
    code = """
    const head = new playhead.Playhead(900, "25 steps/s")
    const tape = { there: 900, over: true }
    head.play(0)
    head.tick(1000, tape)
    const hidden = head.shown
    head.pause()
    head.play(2000)
    head.tick(2000.1, tape)
    return [hidden, head.shown]
    """
    hidden, paused = run(code)
    assert hidden < 25
    assert paused <= hidden + 3


def test_a_tape_that_is_computed_again_moves_nobody_back():
    code = """
    const head = new playhead.Playhead(9)
    head.seek(7)
    head.play(0)
    head.tick(1, { there: 2, over: false })
    return head.shown
    """
    assert run(code) == 7


def test_whatever_is_pressed_the_row_stays_on_the_tape_and_the_wish_within_it():
    code = """
    return walks.map(([last, deeds]) => {
      const head = new playhead.Playhead(last)
      let now = 0
      return deeds.every(([name, seconds, number, over]) => {
        if (name === "tick") head.tick((now += seconds), { there: Math.min(number, last), over })
        else if (name === "play") head.play(now)
        else if (name === "speed") head.speed = Object.keys(playhead.SPEEDS)[number % 4]
        else head[name](number)
        const wanted = head.wanted()
        const onTape = head.shown >= 0 && head.shown <= head.furthest && head.furthest <= head.last
        return onTape && wanted >= 0 && wanted <= last + 1 && (wanted > head.shown || head.shown === 0)
      })
    })
    """
    rng = np.random.default_rng(0)
    names = ["tick"] * 6 + ["play", "play", "pause", "step", "reset", "seek", "speed"]
    walks = [
        [
            int(rng.integers(1, 200)),
            [
                [
                    str(rng.choice(names)),
                    round(float(rng.uniform(0, 3)), 2),
                    int(rng.integers(-10, 400)),
                    bool(rng.integers(2)),
                ]
                for _ in range(40)
            ],
        ]
        for _ in range(40)
    ]
    assert run(code, walks=walks) == [True] * 40


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
    return [one.length, one.number("loss", 2), [...one.vector("act_rms", 1)]]
    """
    assert run(TAPE + code) == [3, 1, [100, 1000, 5]]


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


NOW = TAPE + "const now = (more) => ({ tapes: [one], position: 0, shown: 0, furthest: 0, playing: false, ...more })\n"
ROW = {"type": "scatter", "name": "step {step}", "x": [0, 1, 2], "text": ["x0", "b01", "b02"]}
ROW |= {"bind": {"of": "row", "track": "act_rms", "run": 0, "seed": 0, "fold": "", "log": True, "against": None}}
PROFILE = {"data": [ROW], "layout": {"yaxis": {"type": "log"}, "bind": {"axis": "log"}}}


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


def test_a_line_of_the_net_before_training_stays_where_the_playhead_moves():
    code = """
    one.put(0, 2, Float32Array.of(3, 1, 10, 100, 3, 2, 20, 200))
    figure.data[0].bind.first = true
    return [0, 1].map((position) => bind.filled(figure, now({ position, shown: position }), {}).data[0].y)
    """
    assert run(NOW + code, figure=PROFILE) == [[1, 10, 100]] * 2


def test_a_held_range_grows_and_never_shrinks():
    code = """
    one.put(0, 2, Float32Array.of(3, 1, 10, 1000000, 3, 1, 1, 1))
    const held = {}
    return [0, 1].map((position) => bind.filled(figure, now({ position, shown: position }), held).layout.yaxis.range)
    """
    first, second = run(NOW + code, figure=PROFILE)
    assert first == second
    assert first[1] > 6


def test_losses_of_other_models_and_of_nets_of_the_playground_share_no_axis_with_a_recordings():
    code = """
    const tapes = models.map((model) => {
      const one = new recording.RecordedTape({ link: "", recording: null })
      const text = [{ ...header, model }, line, { ...line, step: 1 }].map((entry) => JSON.stringify(entry)).join("\\n")
      one.feed(new TextEncoder().encode(`${text}\\n`))
      return one
    })
    const toy = new tape.Tape({ link: "", seeds: 1, last: 1 })
    toy.describe({ last: 1, seeds: 1, width: 1, tracks: [{ name: "loss", start: 0, width: 1 }] })
    toy.put(0, 2, Float32Array.of(3, 4))
    const now = { ...STILL, tapes: [...tapes, toy], shown: 1, position: 1, furthest: 1 }
    return bind.filled(figure, now, {}).data.map(({ name, y }) => [name, y])
    """
    names = ["A", "B", "C", "small net"]
    said = run(code, figure=recorded_loss(names), models=["GPT", "GPT", "MLP"], header=HEADER, line=LINE)
    loss = [LINE["loss"]] * 2
    assert said[:4] == [["A", loss], ["B", loss], ["C: another task", [None]], ["small net: another task", [None]]]


SHARE = {"type": "scatter", "name": "a line", "x": [0, 1], "text": ["b01", "b02"]}
SHARE |= {"bind": {"of": "row", "track": "branch", "over": "act_rms", "run": 0, "seed": 0}}
SHARES = {"data": [SHARE], "layout": {"yaxis": {}, "bind": {"axis": "linear", "guides": [0]}}}
BRANCHED = """
const track = (name, start, width) => ({ name, start, width })
const one = new tape.Tape({ link: "", seeds: 1, last: 9 })
one.describe({ last: 9, seeds: 1, width: 5, tracks: [track("act_rms", 0, 3), track("branch", 3, 2)] })
const draw = (position, held = {}) =>
  bind.filled(figure, { tapes: [one], position, shown: Math.floor(position), furthest: 0, playing: false }, held)
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
    figure = {"data": [trace], "layout": {"yaxis": {}, "bind": {"axis": "loss", "line": "line", "chance": 2.3}}}
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


def test_a_loss_above_the_axis_is_marked_at_its_edge():
    trace = {"type": "scatter", "name": "training", "mode": "lines"}
    trace |= {"bind": {"of": "past", "track": "loss", "run": 0, "seed": 0, "fold": "", "log": False, "against": None}}
    figure = {"data": [trace], "layout": {"yaxis": {}, "bind": {"axis": "loss", "line": "line", "chance": 2.3}}}
    code = """
    one.last = 9
    const rows = new Float32Array(4 * 3)
    losses.forEach((loss, row) => (rows[4 * row] = loss))
    one.put(0, 3, rows)
    const { data, layout } = bind.filled(figure, now({ position: 2, shown: 2, row: 2, furthest: 2 }), {})
    return [data.map(({ name, mode, x, y }) => [name, mode, [...x], [...y]]), layout.yaxis.range[1]]
    """
    (line, beyond), top = run(NOW + code, figure=figure, losses=[3.0, 606.0, 2.0])
    assert line[:2] == ["training", "lines"]
    assert beyond[:3] == ["beyond the axis", "markers", [1]]
    assert line[3][1] > top > beyond[3][0] > 3


# --- several runs, several seeds ---

SEVERAL = """
const track = (name, start, width) => ({ name, start, width })
const tracks = [track("loss", 0, 1), track("act_rms", 1, 2)]
const made = given.map((rows) => {
  const one = new tape.Tape({ link: "", seeds: rows[0].length, last: 9 })
  one.describe({ last: 9, seeds: rows[0].length, width: 3, tracks })
  one.put(0, rows.length, Float32Array.from(rows.flat(2), (value) => value ?? NaN))
  one.state = { ...one.state, fates: Array(rows[0].length).fill(null) }
  return one
})
const now = { tapes: made, position: 1, shown: 1, furthest: 1, playing: false }
"""
LAYERS = ("x0", "b01")


def rows_of(rng: np.random.Generator, seeds: int) -> list:
    """Two rows of a loss and two sites for every seed, None where nothing finite is left."""
    values = np.exp(rng.normal(scale=3, size=(2, seeds, 3))).astype(np.float32).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    return [[[None if np.isnan(value) else value for value in one] for one in row] for row in values]


def folded(values: np.ndarray, *, log: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least, median and greatest of what is finite over the
    seeds, which come first; the median of logarithms where asked.
    """
    with np.errstate(all="ignore"):
        least, greatest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        middle = np.exp(np.nanmedian(np.log(values), axis=0)) if log else np.nanmedian(values, axis=0)
    return least, middle, greatest


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("seeds", [2, 3, 8])
def test_seeds_are_drawn_as_their_geometric_median_in_a_band_from_the_least_to_the_greatest(seeds):
    given = [rows_of(np.random.default_rng(at), seeds) for at in (seeds, 10 + seeds)]
    profile = figures.profiles("Activation", "act_rms", LAYERS, ["A", "B"], seeds=seeds)
    loss = figures.losses(["A", "B"], steps=9, task="digits", seeds=seeds)
    code = SEVERAL + "return [profile, loss].map((figure) => bind.filled(figure, now, {}).data)"
    over_depth, over_steps = run(code, given=given, profile=profile, loss=loss)
    for run_, rows in enumerate(given):
        values = np.array(rows, float)
        least, middle, greatest = folded(values[1, :, 1:], log=True)
        for name, expected in (("lowest seed", least), ("highest seed", greatest), ("", middle)):
            drawn = line(over_depth, f"{'AB'[run_]}, {name}".removesuffix(", "))
            np.testing.assert_allclose(drawn, expected, rtol=1e-6)
        _, middle, _ = folded(values[:, :, 0].T, log=False)
        there = np.isfinite(middle)
        np.testing.assert_allclose(line(over_steps, "AB"[run_]), middle[there], rtol=1e-6)


def line(data: list[dict[str, Any]], name: str) -> np.ndarray:
    """The y values of a line, NaN for None; all NaN where it is not drawn."""
    found = [trace for trace in data if trace["name"] == name]
    return np.array(found[0]["y"] if found else [np.nan, np.nan], float)


def test_the_difference_divides_by_the_first_and_subtracts_its_loss_as_far_as_both_go():
    given = [[[[3, 1, 2]], [[2, 4, 8]], [[1, 1, 1]]], [[[3, 1, 2]], [[5, 2, 2]]]]
    profile = figures.profiles("Activation", "act_rms", LAYERS, ["A", "B"], against=True)
    loss = figures.losses(["A", "B"], steps=9, task="digits", against=True)
    code = """
    now.furthest = 2
    return [profile, loss].map((figure) => bind.filled(figure, now, {}).data.map(({ y }) => y))
    """
    ratios, differences = run(SEVERAL + code, given=given, profile=profile, loss=loss)
    assert ratios == [[1, 1], [0.5, 0.25]]
    assert differences == [[0, 0, 0], [0, 3]]


@pytest.mark.parametrize("waits", [0, 1])
def test_where_one_of_two_has_no_row_yet_there_is_no_difference_of_it(waits):
    given = [[[[3, 1, 2]], [[2, 4, 8]]]] * 2
    profile = figures.profiles("Activation", "act_rms", LAYERS, ["A", "B"], against=True)
    code = """
    Object.assign(made[waits], { length: 0, have: 0 })
    return bind.filled(figure, now, {}).data.map(({ name }) => name)
    """
    assert run(SEVERAL + code, given=given, figure=profile, waits=waits) == (["A"] if waits else [])


def test_a_cross_stands_where_a_seed_diverged_in_the_colour_of_its_run_and_none_after_it():
    lost, fine = [9, None, None], [2, 1, 1]
    given = [[[fine, fine], [fine, lost], [fine, [None, None, None]], [fine, [None, None, None]]], [[fine, fine]] * 4]
    given[1] = [[fine, fine], [fine, fine], [fine, fine], [lost, fine]]
    code = """
    made[0].state.fates = [null, { step: 1, sentence: "" }]
    made[1].state.fates = [{ step: 3, sentence: "" }, null]
    const drawn = (furthest) => bind.filled(figure, { ...now, furthest }, {}).data.filter(({ mode }) => mode === "markers")
    return [drawn(0), drawn(1), drawn(3)]
    """
    figure = figures.losses(["A one", "B two"], steps=9, task="digits", seeds=2)
    before, first, both = run(SEVERAL + code, given=given, figure=figure)
    assert before == []
    assert [(trace["meta"], trace["x"]) for trace in first] == [("A one diverged", [1])]
    assert [trace["x"] for trace in both] == [[1], [3]]
    assert [trace["y"] for trace in both] == [[pytest.approx(0.97 * 1.6 * loss_of_guessing("digits"))]] * 2
    assert both[0]["marker"]["color"] != both[1]["marker"]["color"] == run("return look.shade(hue, 1)", hue=LOSS)
    assert [trace["showlegend"] for trace in both] == [True, False]


def test_a_run_is_lost_when_all_of_its_seeds_are():
    code = """
    const one = new tape.Tape({ link: "", seeds: 2, last: 9 })
    return [[], [null, null], [{ step: 1 }, null], [{ step: 1 }, { step: 3 }]].map((fates) => {
      one.state = { ...one.state, fates }
      return one.lost
    })
    """
    assert run(code) == [False, False, False, True]


def test_the_cosines_of_several_runs_are_those_of_the_frame_before_the_playhead():
    figure = figures.cosines(LAYERS, ["A", "B", "C"])
    code = """
    const frame = (step, values) => ({ step, sample_cosine: values })
    made.forEach((one, at) => (one.frames[0] = [frame(0, [0.5, at ? 0.25 : null]), frame(5, [1, 1])]))
    made[2].frames[0] = [frame(0, [null, null])]
    return bind.filled(figure, now, {}).data.map(({ name, y, mode }) => [name, y, mode])
    """
    rows = [[[2, 1, 1]], [[2, 1, 1]]]
    first, marked, second = run(SEVERAL + code, given=[rows] * 3, figure=figure)
    assert first == ["A", [0.5, None], "lines+markers"]
    assert marked[:2] == ["no direction from here", [0.5]], "where the line breaks off"
    assert second == ["B", [0.5, 0.25], "lines+markers"]


MEASURE = "const measure = (text, size) => (text.length * size) / 2\n"


def named(count: int, ends: list[float | None], *, width: int = 400, dark: bool = False) -> Any:
    """A chart of so many lines that end at these values, a missing one before its last place, with their names."""
    lines = [Series(f"line {at}", np.array([1.0, 1.0 if end is None else end])) for at, end in enumerate(ends[:count])]
    figure = depth_profile(title="t", unit="u", hue=SIGNAL, sites=["x0", "b01"], series=lines)
    code = (
        MEASURE
        + """
    const drawn = bind.filled(figure, STILL, {})
    return label.labelled(figure, drawn, { width, height: 300 }, {}, measure, dark)
    """
    )
    return run(code, figure=figure, width=width, dark=dark)


RECORDED = """
const tapes = given.map(({ names, rows }, run) => {
  const tape = new recording.RecordedTape({ link: "", recording: `${run}.jsonl` })
  const sites = names.map((name) => ({ ...HEADER.sites[0], name }))
  const steps = rows.map((values, step) => ({ ...LINE, step, act: values, grad: values }))
  for (const line of [{ ...HEADER, sites }, ...steps]) tape.feed(new TextEncoder().encode(`${JSON.stringify(line)}\\n`))
  return tape
})
const last = given[0].rows.length - 1
const now = { tapes, position: last, shown: last, furthest: last + 1, playing: false }
"""
PARTS = ["0.attention.output", "0", "1.attention.output"]
DEEP = ["embed", *(f"encoder.layer.{name}" for name in PARTS), "norm"]
FLAT = [str(at) for at in range(5)]


def over_sites(*recorded: list[str]) -> Any:
    """The chart over depth of recordings with these sites."""
    figure = recorded_depth("Signal by depth", "row", "act_rms", [None] * len(recorded))
    given = [{"names": names, "rows": [[1.0 + at for at in range(len(names))]]} for names in recorded]
    code = RECORDED + "const drawn = bind.filled(figure, now, {}); return { ...drawn, said: describe.described(drawn) }"
    return run(code, given=given, figure=figure, HEADER=HEADER, LINE=LINE)


@pytest.mark.parametrize(
    ("recorded", "labels", "title"),
    [
        ([DEEP], ["embed", "0", "norm"], "layer, mostly in encoder.layer"),
        ([DEEP, DEEP], ["embed", "0", "norm"], "layer, mostly in encoder.layer"),
        ([DEEP, [f"module.{name}" for name in DEEP]], ["first", "middle", "last"], "layer"),
        ([DEEP, DEEP[1:-1] * 2], ["first", "middle", "last"], "layer, mostly in encoder.layer"),
        ([[f"model.{name}" for name in FLAT]], FLAT, "layer in model"),
        ([FLAT, FLAT], FLAT, "layer"),
        ([["embed", "0.attn", "0", "1.attn", "1", "2.attn", "2"]], ["0", "1", "2"], "layer"),
        ([[*FLAT[:4], "a.much.longer.name.than.fits"]], ["0", "2", "a.muc…n.fits"], "layer"),
    ],
)
def test_sites_are_labelled_without_what_all_their_names_share_and_hover_has_it(recorded, labels, title):
    drawn = over_sites(*recorded)
    axis = drawn["layout"]["xaxis"]
    assert (axis["ticktext"], axis["title"]["text"]) == (labels, title)
    assert [trace["text"] for trace in drawn["data"]] == recorded
    assert f": from 1 at {recorded[0][0].removeprefix('model.')} to {len(recorded[0])} at " in drawn["said"]


@pytest.mark.parametrize(
    ("track", "seen"),
    [
        ("act_rms", ["float16: largest", "float16: smallest"]),
        ("grad_rms", ["float16: largest", "float16: smallest"]),
        ("weight_grad_rms", []),
    ],
)
def test_the_limits_of_number_formats_are_lines_where_the_axis_reaches_them(track, seen):
    figure = recorded_depth("Sizes", "row", track, [None])
    code = RECORDED + "return bind.filled(figure, now, {}).layout"
    given = [{"names": FLAT, "rows": [[1e-9, 1.0, 1.0, 1.0, 1e5]]}]
    layout = run(code, given=given, figure=figure, HEADER=HEADER, LINE=LINE)
    assert [one["text"] for one in layout["annotations"]] == seen
    limits = {name: at for at, name in LIMITS}
    assert [(one["y0"], one["y1"]) for one in layout["shapes"] if "y0" in one] == [(limits[name],) * 2 for name in seen]


def test_a_map_of_sites_names_them_as_the_charts_over_depth_do_and_a_lost_cell_too():
    figure = recorded_map("Activation by layer and step", "act_rms", 0)
    given = [{"names": DEEP, "rows": [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, "NaN", 0.0, 1.0, 1.0]]}]
    code = RECORDED + "return bind.filled(figure, now, {})"
    drawn = run(code, given=given, figure=figure, HEADER=HEADER, LINE=LINE)
    axis = drawn["layout"]["yaxis"]
    assert (axis["ticktext"], axis["title"]["text"]) == (["embed", *PARTS, "norm"], "layer, mostly in encoder.layer")
    cells, lost = drawn["data"]
    for trace in (cells, lost):
        assert [row[1] for row in trace["text"]] == DEEP
        assert trace["hovertemplate"].startswith("%{text}, step")
        assert trace["names"] == axis["ticktext"]
    assert [row[1] for row in lost["z"]] == [None, 1, 0, None, None]


@pytest.mark.parametrize("against", [False, True])
def test_held_out_losses_of_several_seeds_are_their_median_with_the_range_at_the_frames_that_were_seen(against):
    code = """
    const frame = (step, loss) => ({ step, held_out_loss: loss })
    made[0].frames = [[frame(0, 2), frame(1, 1), frame(4, 9)], [frame(0, 3), frame(1, null)], [frame(0, 7), frame(1, 5)]]
    made[1].frames = [[frame(0, 1), frame(1, 1)], [frame(0, 1)], [frame(0, 4)]]
    return bind.filled(figure, now, {}).data.map(({ name, x, y }) => [name, x, y])
    """
    row = [[2, 1, 1]] * 3
    figure = figures.losses(["A", "B"], steps=9, task="digits", seeds=3, against=against, held_out=True)
    drawn = {
        name: dict(zip(x, y, strict=True)) for name, x, y in run(SEVERAL + code, given=[[row] * 2] * 2, figure=figure)
    }
    a, b = {0: 3, 1: 3}, {0: 1, 1: 1}
    assert {int(step): value for step, value in drawn["B"].items()} == {
        step: value - (a[step] if against else 0) for step, value in b.items()
    }
    if not against:
        assert drawn["A"] == a
        assert drawn["A, lowest seed"] == {0: 2, 1: 1}
        assert drawn["A, highest seed"] == {0: 7, 1: 5}


def test_a_sample_goes_from_block_to_block_on_the_shorter_way_round_and_its_distance_is_its_size():
    journey = {
        "size": [[2.0, 2.0], [1.0, 8.0], [None, 32.0]],
        "turn": [[3.0, 0.5], [-3.0, 0.5], [0.0, 0.5]],
        "held": [[1, 1], [1, 0.5], [1, 1]],
        "edge": GROWN,
    }
    at = run("return positions.map((one) => travel.place(journey, one))", journey=journey, positions=[0, 0.5, 1, 2])
    distance = [[np.hypot(dot["x"], dot["y"]) for dot in dots] for dots in at]
    np.testing.assert_allclose(distance[0], 0.45)  # the input's circle
    assert distance[2][0] == pytest.approx(0.45 / 2), "half the input's size, half its circle"
    assert distance[2][1] == pytest.approx(0.45 + 0.55 * np.log(4) / np.log(GROWN))
    assert distance[3][1] == pytest.approx(1.0), "at the edge"
    assert distance[3][0] > 1, "no number is outside"
    assert at[1][0]["x"] == pytest.approx(-distance[1][0] * 1, abs=1e-3), "through pi, not through 0"
    assert at[1][1]["held"] == 0.75
    assert run("return travel.grown(journey, 1)", journey=journey) == pytest.approx(np.sqrt(32.5) / 2)
