"""What the browser makes of figures as Python declares them: seeds, names, marks, descriptions; and of its numbers."""

import re
from typing import Any

import numpy as np
import pytest

from addnorm.player.charts import FORMAT_LIMITS, recorded_depth, recorded_loss, recorded_map
from addnorm.player.declare import Row
from addnorm.words import number
from components.charts import figures
from components.charts.colour import LOSS
from components.playground.presets import PRESETS
from models.insight.baseline import loss_of_guessing
from models.training import profile_at_init
from tests.addnorm.test_read import HEADER
from tests.addnorm.test_read import ROW as LINE
from tests.drawn import run


def test_stacks_of_all_presets_share_one_scale():
    for name, track in (("act", "act_rms"), ("grad", "grad_rms")):
        rows = [getattr(profile_at_init(cfg), track)[0].tolist() for cfg in PRESETS.values()]
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
    scales = 10 ** random.uniform(-300, 300, 500), 10 ** random.uniform(-12, 12, 2000), random.uniform(0, 100, 500)
    # Exactly between two roundings, or next to that: Python takes the even one.
    halves = np.concatenate([np.arange(1, 4000) / 16, np.arange(5, 100_000, 370.0), np.arange(1, 1000) / 4096])
    sizes = np.concatenate([*scales, halves, np.nextafter(halves, np.inf), halves.astype("f4") / 3])
    signed = np.unique(np.concatenate([sizes, -sizes]))
    values = [*SIZES, -0.0, 5e-324, 1e307, *signed.tolist()]
    for digits in (2, 3, 4):
        written = [number(value, digits) for value in values]
        assert run("return values.map((value) => number.brief(value, digits))", values=values, digits=digits) == written
        for value, said in zip(values, written, strict=True):
            assert not re.search(r"\de[+-]?\d", said)
            sign, mantissa, power = re.fullmatch(r"(-?)([\d,.]*)·?(?:10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", said).groups()
            exponent = int((power or "0").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
            read = float(f"{sign}{mantissa.replace(',', '') or 1}") * 10.0**exponent
            assert abs(read - value) <= 0.5000001 * 10 ** (1 - digits) * abs(value) + 5e-324


def test_losses_of_other_models_and_of_nets_of_the_playground_share_no_axis_with_a_recordings():
    code = """
    const logs = models.map((model) => {
      const one = new runlog.RunLog({ link: "", recording: null, name: `${model}.jsonl` })
      const text = [{ ...header, model }, line, { ...line, step: 1 }].map((entry) => JSON.stringify(entry)).join("\\n")
      one.decoder.feed(new TextEncoder().encode(`${text}\\n`))
      return one
    })
    const toy = new runlog.RunLog({ link: "", seeds: 1, last: 1 })
    toy.setHeader({ last: 1, seeds: 1, width: 1, tracks: [{ name: "loss", start: 0, width: 1 }] })
    toy.setRows(0, Float32Array.of(3, 4))
    const now = { ...STILL, logs: [...logs, toy], shown: 1, position: 1, furthest: 1 }
    return bind.fillFigure(figure, now, {}).data.map(({ name, y }) => [name, y])
    """
    names = ["A", "B", None, "small net"]
    said = run(code, figure=recorded_loss(names), models=["GPT", "GPT", "MLP"], header=HEADER, line=LINE)
    loss = [LINE["loss"]] * 2
    assert said[:4] == [
        ["A", loss],
        ["B", loss],
        ["MLP.jsonl: another task", [None]],
        ["small net: another task", [None]],
    ]


# --- several runs, several seeds ---

SEVERAL = """
const track = (name, start, width) => ({ name, start, width })
const tracks = [track("loss", 0, 1), track("act_rms", 1, 2)]
const made = given.map((rows) => {
  const one = new runlog.RunLog({ link: "", seeds: rows[0].length, last: 9 })
  one.setHeader({ last: 9, seeds: rows[0].length, width: 3, tracks })
  one.setRows(0, Float32Array.from(rows.flat(2), (value) => value ?? NaN))
  one.state = { ...one.state, outcomes: Array(rows[0].length).fill(null) }
  return one
})
const now = { logs: made, position: 1, shown: 1, furthest: 1, playing: false }
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
    code = SEVERAL + "return [profile, loss].map((figure) => bind.fillFigure(figure, now, {}).data)"
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
    return [profile, loss].map((figure) => bind.fillFigure(figure, now, {}).data.map(({ y }) => y))
    """
    ratios, differences = run(SEVERAL + code, given=given, profile=profile, loss=loss)
    assert ratios == [[1, 1], [0.5, 0.25]]
    assert differences == [[0, 0, 0], [0, 3]]


@pytest.mark.parametrize("waits", [0, 1])
def test_where_one_of_two_has_no_row_yet_there_is_no_difference_of_it(waits):
    given = [[[[3, 1, 2]], [[2, 4, 8]]]] * 2
    profile = figures.profiles("Activation", "act_rms", LAYERS, ["A", "B"], against=True)
    code = """
    made[waits].steps = []
    return bind.fillFigure(figure, now, {}).data.map(({ name }) => name)
    """
    assert run(SEVERAL + code, given=given, figure=profile, waits=waits) == (["A"] if waits else [])


def test_a_cross_marks_where_a_seed_diverged():
    lost, fine = [9, None, None], [2, 1, 1]
    given = [[[fine, fine], [fine, lost], [fine, [None, None, None]], [fine, [None, None, None]]], [[fine, fine]] * 4]
    given[1] = [[fine, fine], [fine, fine], [fine, fine], [lost, fine]]
    code = """
    made[0].state.outcomes = [null, { step: 1, sentence: "" }]
    made[1].state.outcomes = [{ step: 3, sentence: "" }, null]
    const drawn = (furthest) => bind.fillFigure(figure, { ...now, furthest }, {}).data.filter(({ name }) => name === "diverged")
    return [drawn(0), drawn(1), drawn(3)]
    """
    figure = figures.losses(["A one", "B two"], steps=9, task="digits", seeds=2)
    before, first, both = run(SEVERAL + code, given=given, figure=figure)
    assert before == []
    assert [(trace["meta"], trace["x"]) for trace in first] == [("A one diverged", [1])]
    assert [trace["x"] for trace in both] == [[1], [3]]
    assert [trace["y"] for trace in both] == [[pytest.approx(0.97 * 1.6 * loss_of_guessing("digits"))]] * 2
    assert both[0]["marker"]["color"] != both[1]["marker"]["color"] == run("return style.shadeOf(hue, 1)", hue=LOSS)
    assert [trace["showlegend"] for trace in both] == [True, False]


def test_the_cosines_of_several_runs_are_those_of_the_frame_before_the_playhead():
    figure = figures.cosines(LAYERS, ["A", "B", "C"])
    code = """
    const frame = (step, values) => ({ step, sample_cosine: values })
    made.forEach((one, at) => (one.frames[0] = [frame(0, [0.5, at ? 0.25 : null]), frame(5, [1, 1])]))
    made[2].frames[0] = [frame(0, [null, null])]
    return bind.fillFigure(figure, now, {}).data.map(({ name, y, mode }) => [name, y, mode])
    """
    rows = [[[2, 1, 1]], [[2, 1, 1]]]
    first, marked, second = run(SEVERAL + code, given=[rows] * 3, figure=figure)
    assert first == ["A", [0.5, None], "lines+markers"]
    assert marked[:2] == ["no direction from here", [0.5]], "where the line breaks off"
    assert second == ["B", [0.5, 0.25], "lines+markers"]


RECORDED = """
const logs = given.map(({ names, rows }, run) => {
  const log = new runlog.RunLog({ link: "", recording: `${run}.jsonl` })
  const sites = names.map((name) => ({ ...HEADER.sites[0], name }))
  const steps = rows.map((values, step) => ({ ...LINE, step, act_rms: values, grad_rms: values }))
  for (const line of [{ ...HEADER, sites }, ...steps]) log.decoder.feed(new TextEncoder().encode(`${JSON.stringify(line)}\\n`))
  return log
})
const last = given[0].rows.length - 1
const now = { logs, position: last, shown: last, furthest: last + 1, playing: false }
"""
PARTS = ["0.attention.output", "0", "1.attention.output"]
DEEP = ["embed", *(f"encoder.layer.{name}" for name in PARTS), "norm"]
FLAT = [str(at) for at in range(5)]


def over_sites(*recorded: list[str]) -> Any:
    """The chart over depth of recordings with these sites."""
    figure = recorded_depth("Signal by depth", Row, "act_rms", [None] * len(recorded))
    given = [{"names": names, "rows": [[1.0 + at for at in range(len(names))]]} for names in recorded]
    code = (
        RECORDED
        + "const drawn = bind.fillFigure(figure, now, {}); return { ...drawn, said: describe.describeFigure(drawn) }"
    )
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
    figure = recorded_depth("Sizes", Row, track, [None])
    code = RECORDED + "return bind.fillFigure(figure, now, {}).layout"
    given = [{"names": FLAT, "rows": [[1e-9, 1.0, 1.0, 1.0, 1e5]]}]
    layout = run(code, given=given, figure=figure, HEADER=HEADER, LINE=LINE)
    assert [one["text"] for one in layout["annotations"]] == seen
    limits = {name: at for at, name in FORMAT_LIMITS}
    assert [(one["y0"], one["y1"]) for one in layout["shapes"] if "y0" in one] == [(limits[name],) * 2 for name in seen]


def test_a_map_names_sites_as_charts_do():
    figure = recorded_map("Activation by layer and step", "act_rms", 0)
    given = [{"names": DEEP, "rows": [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, "NaN", 0.0, 1.0, 1.0]]}]
    code = RECORDED + "return bind.fillFigure(figure, now, {})"
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
def test_held_out_losses_show_median_and_range(against):
    code = """
    const frame = (step, loss) => ({ step, held_out_loss: loss })
    made[0].frames = [[frame(0, 2), frame(1, 1), frame(4, 9)], [frame(0, 3), frame(1, null)], [frame(0, 7), frame(1, 5)]]
    made[1].frames = [[frame(0, 1), frame(1, 1)], [frame(0, 1)], [frame(0, 4)]]
    return bind.fillFigure(figure, now, {}).data.map(({ name, x, y }) => [name, x, y])
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
