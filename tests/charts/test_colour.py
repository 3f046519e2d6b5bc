"""A quantity has one hue wherever it is drawn; lines of the same one are told apart without their colours."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addnorm.player import FOLDER
from addnorm.player.charts import recorded_depth, recorded_loss
from addnorm.player.colour import HUES as HUES_TOLD
from addnorm.player.declare import ROLES, Figure, Row, figure_of, layout_of
from components.charts import colour
from components.charts import figures as moving
from components.charts.colour import (
    CLASSES,
    GRADIENT,
    GREY,
    LOSS,
    NORM,
    RED,
    RIGHT,
    SIGNAL,
    WEIGHTS,
)
from components.charts.depth import Series, cosine_chart, depth_profile, linear_profile
from components.charts.maps import HUES, panel
from components.charts.parts import fixed_map
from components.charts.tasks import sequence_table
from components.charts.tokens import candidates_chart, token_map
from components.labs.maps import signed_map
from exhibits.instruments.collapse.page import rank_chart
from exhibits.instruments.formula.page import prediction_chart
from exhibits.instruments.health.page import signal_chart, spread_chart, update_chart
from exhibits.instruments.landscape.page import sharpness_chart, slice_map, spectrum_chart
from exhibits.instruments.paths.page import length_chart, share_chart
from exhibits.labs.autoregression.revision.page import revision_chart
from exhibits.labs.gradients.chain.page import chain_chart
from exhibits.labs.gradients.slopes.page import curve_chart
from exhibits.labs.residual.memory.page import memory_chart
from models.insight.gaussian import ACTIVATIONS
from models.maps import MapSpec, Outcome
from models.maps.spec import Axis
from models.maps.table import MEASURES
from models.spec import RunConfig
from tests.drawn import all_drawn, looks, run

COMPONENTS = Path(colour.__file__).parents[1]
DRAWING = [*COMPONENTS.rglob("*.py"), *(COMPONENTS.parent / "exhibits").rglob("page.py")]
QUANTITIES = {"signal": SIGNAL, "gradient": GRADIENT, "norm": NORM, "weights": WEIGHTS, "loss": LOSS}
PAGES = ["#ffffff", "#0e1117", "#191917"]
SITES = ("x0", "b01", "b02")
BLOCKS, LABELS = SITES[1:], ["A", "B", "C", "D"]
ONES = np.ones(3)
# Linear RGB as seen without the long or the middle cones (Machado 2009, severity 1).
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def figures() -> dict[str, list[Figure]]:
    every_role = [Series(role, ONES, role) for role in ROLES]
    beside = [("previous", "previous"), ("tried", "pinned")]
    tracks = {"signal": "act_rms", "gradient": "grad_rms", "weights": "weight_grad_rms"}
    found: dict[str, list[Figure]] = {name: [] for name in QUANTITIES}
    for name, hue in QUANTITIES.items():
        found[name] += [
            depth_profile(title="t", unit="u", hue=hue, sites=SITES, series=every_role),
            linear_profile(title="t", unit="u", hue=hue, sites=SITES, series=every_role),
            figure_of([fixed_map({"hue": hue}, np.ones((2, 3)))], layout_of("t", x="x", y="y", hue=hue)),
        ]
    for name, track in tracks.items():
        found[name] += [
            moving.profile("t", track, SITES, beside=beside),
            moving.profiles("t", track, SITES, LABELS, seeds=2, start=True),
            recorded_depth("t", Row, track, ["A", "B"]),
            moving.step_map("t", track, SITES, 9) if track != "weight_grad_rms" else moving.profile("t", track, SITES),
        ]
    found["signal"] += [
        moving.cosine(SITES, beside=beside),
        moving.cosines(SITES, LABELS, start=True),
        moving.ratios("t", "branch_rms", "act_rms", SITES, [("a", "now"), ("b", "other")], unit="u"),
        cosine_chart(sites=SITES, series=every_role),
        rank_chart("t", SITES, ONES, ONES),
        prediction_chart("t", "u", SITES, np.ones((2, 3)), ONES, hue=SIGNAL),
        spectrum_chart(ONES),
        curve_chart("t", list(ACTIVATIONS), False, 0.0),
        memory_chart({"a": ONES, "b": ONES, "c": ONES, "d": ONES}),
        revision_chart(["a", "b", "c"], ONES, ONES),
        candidates_chart("t", ["a", "b"], np.array([0.5, 0.5]), np.array([0.9, 0.1]), 0),
        candidates_chart("t", ["a", "b"], np.array([0.5, 0.5])),
        token_map(title="t", tokens=["a", "b"], rows=["a", "b"], values=np.eye(2), unit="share"),
    ]
    found["gradient"] += [
        share_chart(SITES, ONES, ONES),
        length_chart(ONES, ONES, ONES),
        chain_chart(np.array([0.5, 2.0])),
        curve_chart("t", list(ACTIVATIONS), True, 0.0),
        signal_chart("t", BLOCKS, np.array([1.0, 2.0])),
    ]
    found["norm"].append(spread_chart("t", "u", list(BLOCKS), np.ones((2, 3)), 1.0, hue=NORM))
    found["weights"].append(update_chart("t", BLOCKS, np.array([0.5, 1e-3])))
    found["loss"] += [
        moving.loss(RunConfig()),
        moving.losses(LABELS, steps=9, task="digits", seeds=2),
        recorded_loss(["A", "B"]),
        sharpness_chart(np.arange(3), ONES, ONES),
        slice_map(np.arange(3.0), np.arange(9.0).reshape(3, 3)),
    ]
    return found


def shades(hue: str) -> list[str]:
    """A hue and its shades."""
    return list(run("return [0, 1, 2, 3].map((at) => style.shadeOf(hue, at))", hue=hue))


def drawn(trace: dict[str, Any]) -> set[str]:
    """All colours of a trace; a band's has two digits more, which say how thin it is."""
    line, marker = trace.get("line", {}), trace.get("marker", {})
    scale = [one for _, one in trace.get("colorscale", [])]
    found = {line.get("color"), marker.get("color"), trace.get("fillcolor", "")[:7] or None, *scale}
    return found - {None, "#ffffff", "#111111"}


def second_coding(trace: dict[str, Any]) -> tuple[Any, ...]:
    """What tells a line or bars from the others of a chart without their colours."""
    marker, line = trace.get("marker", {}), trace.get("line", {})
    symbol = marker.get("symbol") if "markers" in trace.get("mode", "") else None
    return trace["type"], line.get("dash", "solid"), line.get("width", 0) < 2, symbol, str(marker.get("pattern"))


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_chart_of_a_quantity_has_its_hue_alone_and_says_so_in_its_title(name):
    hue = QUANTITIES[name]
    own = {*shades(hue), *(one for _, one in run("return style.colourScale(hue, false)", hue=hue))}
    made = figures()[name]
    for figure, traces in zip(made, looks(made), strict=True):
        used = set().union(*map(drawn, traces))
        assert used <= {*own, GREY, RED}, figure["layout"]["title"]["text"]
        assert used & own
        assert hue in figure["layout"]["title"]["text"]


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_lines_of_a_chart_are_told_apart_without_their_colours(name):
    made = figures()[name]
    for figure, traces in zip(made, looks(made), strict=True):
        seen = [trace for trace in traces if trace.get("showlegend", True) and trace["type"] != "heatmap"]
        lines = [trace for trace in seen if trace.get("legendgroup") is None and trace.get("hoverinfo") != "skip"]
        previous = [
            trace for trace in lines if drawn(trace) == {GREY}
        ]  # the least and the most of some seeds are alike
        kept = [trace for trace in lines if trace not in previous]
        assert len({second_coding(trace) for trace in kept}) == len(kept), figure["layout"]["title"]["text"]


@pytest.mark.parametrize("page", PAGES)
def test_every_colour_stands_out_from_the_white_and_the_dark_page(page):
    for one in (GREY, RED, RIGHT, *CLASSES, *(one for hue in QUANTITIES.values() for one in shades(hue))):
        low, high = sorted((luminance(one), luminance(page)))
        assert (high + 0.05) / (low + 0.05) >= 3, one


def test_the_shades_of_a_hue_are_as_light_as_they_say_and_apart():
    for hue in QUANTITIES.values():
        light = sorted(luminance(one) for one in shades(hue))
        assert light[0] == pytest.approx(0.135, abs=0.003)
        assert light[-1] == pytest.approx(0.29, abs=0.003)
        assert np.diff(light).min() > 0.015
    assert run('return [0, 1].map((light) => style.withLuminance("#2f86d6", light))') == ["#000000", "#ffffff"]


@pytest.mark.parametrize("kind", BLIND)
def test_colours_differ_for_the_colour_blind(kind):
    """The stack's columns stand in one picture without a word beside each, and so do the regions of the classes."""
    for ones in ((SIGNAL, GRADIENT), CLASSES):
        seen = [np.clip(np.array(BLIND[kind]) @ linear(one), 0, 1) for one in ones]
        for at, one in enumerate(seen):
            assert all(np.abs(one - other).max() > 0.1 for other in seen[:at])


THEMES = {"light": False, "dark": True}


@pytest.mark.parametrize("theme", THEMES)
def test_more_is_more_ink_in_every_map(theme):
    dark = THEMES[theme]
    page = luminance("#0e1117" if dark else "#ffffff")
    cells = np.array([[-1.0, -0.5, 0.0], [0.25, 0.5, 1.0]])
    maps = [fixed_map({"hue": hue}, np.arange(1.0, 7).reshape(2, 3), log=False) for hue in (*QUANTITIES.values(), GREY)]
    for one in maps:
        inks = [contrast(shown(one, share, dark), page) for share in np.linspace(0, 1, 21)]
        assert np.diff(inks).min() > 0
        assert inks[0] > 1.15  # a cell of the least value is not an empty one
        assert inks[-1] / inks[0] > 4
        assert not dark or luminance(shown(one, 1.0, dark)) < 0.45, "no map glares on a dark page"
    signed = signed_map("t", rows=["a", "b"], columns=["x", "y", "z"], values=cells, unit="", x="", y="")["data"][0]
    inks = [contrast(shown(signed, share, dark), page) for share in np.linspace(0, 1, 21)]
    assert np.diff(inks[10:]).min() > 0 > np.diff(inks[:11]).max()
    assert inks[0] == pytest.approx(inks[-1], rel=0.05)
    assert luminance(shown(signed, 0.0, dark)) != pytest.approx(luminance(shown(signed, 0.5, dark)), abs=0.1)


def test_a_high_loss_has_the_same_colour_in_every_map():
    own = run("return style.colourScale(hue, false)", hue=LOSS)
    assert own[-1][1] == min((one for _, one in own), key=luminance)
    outcomes = [Outcome("pre-norm", 1.0, 1, 0, 2.0, 0.5, 3, 0.1, None)]
    spec = MapSpec(Axis("lr", (1.0,)), Axis("depth", (1,)), ("pre-norm",))
    maps = [
        slice_map(np.arange(3.0), np.arange(9.0).reshape(3, 3)),
        *(panel(spec, outcomes, "pre-norm", measure, (0.0, 1.0)) for measure in MEASURES if measure not in HUES),
    ]
    assert all(figure["data"][0]["colorscale"] == own for figure in all_drawn(maps))
    assert not any("reversescale" in trace for figure in all_drawn(maps) for trace in figure["data"])


@pytest.mark.parametrize("theme", THEMES)
def test_the_numbers_on_cells_have_a_contrast_of_at_least_4_5(theme):
    dark = THEMES[theme]
    cells = np.linspace(0, 1, 101).reshape(1, -1)
    names, texts = [str(at) for at in range(101)], [[f"{value:.2f}" for value in cells[0]]]
    weights = token_map(title="t", tokens=names, rows=["a"], values=cells, unit="share", texts=texts)
    signs = signed_map("t", rows=["a"], columns=names, values=2 * cells - 1, unit="", x="", y="")
    signs["data"][0] |= {"text": texts, "texttemplate": "%{text}"}
    for figure in all_drawn([weights, signs], dark=dark):
        (trace,) = figure["data"]
        assert trace["hovertext"] == texts
        for share, text in zip(cells[0], trace["text"][0], strict=True):
            ink = re.fullmatch(r'<span style="color:(#[0-9a-f]{6})">\d\.\d\d</span>', text)
            assert ink is not None
            assert contrast(ink[1], luminance(mixed(trace["colorscale"], share))) >= 4.5
    (symbols,) = sequence_table({key: [[1, 2, 3], [1, 2, 3]] for key in ("input", "target", "guess")})["data"]
    for _, colour_of_cell in symbols["colorscale"]:
        assert contrast(symbols["textfont"]["color"], luminance(colour_of_cell)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_line_names_contrast_in_every_shade(theme):
    figure = figure_of([], layout_of("t", x="x", y="y"))
    code = """
    const lines = hues.map((color) => ({ mode: "lines", name: "a", x: [0, 1], y: [0, 1], line: { color }, type: "scatter" }))
    const layout = { ...figure.layout, showlegend: true }
    return lines.flatMap((line) => {
      const size = { width: 400, height: 300 }
      const made = label.labelFigure({ data: [line], layout: {} }, { data: [line], layout }, size, {}, () => 9, dark)
      return made.data.at(-1).textfont.color
    })
    """
    hues = [*CLASSES, GREY, RED, *(one for hue in QUANTITIES.values() for one in shades(hue))]
    dark = THEMES[theme]
    for one in run(code, figure=figure, hues=hues, dark=dark):
        assert all(contrast(one, luminance(page)) >= 4.5 for page in (PAGES[1:] if dark else PAGES[:1]))


def test_up_to_four_lines_are_named_at_their_ends_and_more_in_a_legend():
    code = """
    const layout = { ...figure.layout, showlegend: true }
    return [4, 5].map((count) => {
      const line = (_, at) => ({ mode: "lines", name: `line ${at}`, x: [0, 1], y: [0, at], line: { color: "#1f77b4" } })
      const data = Array.from({ length: count }, line)
      const size = { width: 400, height: 300 }
      const made = label.labelFigure({ data, layout: {} }, { data, layout }, size, {}, () => 30, false)
      return [made.data.at(-1).mode, made.layout.showlegend]
    })
    """
    assert run(code, figure=figure_of([], layout_of("t", x="x", y="y"))) == [["text", False], ["lines", True]]


@pytest.mark.parametrize("theme", THEMES)
def test_all_text_of_a_chart_has_a_contrast_of_at_least_4_5(theme):
    """Titles, ticks, legends and notes inherit the page's ink; what declares one of its own is computed here."""
    dark = THEMES[theme]
    code = """
    return figures.map((figure) => {
      const drawn = bind.fillFigure(figure, { ...STILL, dark }, {})
      return label.labelFigure(figure, drawn, { width: 600, height: 300 }, {}, (text) => 6 * String(text).length, dark)
    })
    """
    charts = [figure for some in figures().values() for figure in some]
    found = set(inks(run(code, figures=charts, dark=dark)))
    assert found, "names at the ends of lines have inks of their own"
    pages = [luminance(page) for page in (PAGES[1:] if dark else PAGES[:1])]
    assert {one: least for one in found if (least := min(contrast(one, page) for page in pages)) < 4.5} == {}


def inks(part: Any, key: str = "") -> Iterator[str]:
    """The colours of text in a figure: of its fonts, and of spans around more than a mark."""
    if isinstance(part, str):
        if key.endswith("font.color"):
            yield part
        elif key.endswith("title.text"):
            yield from re.findall(r"color: ?(#[0-9a-f]{6})[^>]*>(?!■)", part)
    elif isinstance(part, dict):
        assert not (key.endswith("annotations.") and part.get("opacity", 1) < 1)
        for name, value in part.items():
            yield from inks(value, f"{key}.{name}")
    elif isinstance(part, list):
        for value in part:
            yield from inks(value, key)


def test_no_chart_has_a_scale_of_its_own():
    """The cells of symbols and the regions of classes are kinds, not sizes."""
    own = {file.name for file in DRAWING if 'colorscale":' in file.read_text(encoding="utf-8")}
    assert own == {"tasks.py"}


def test_no_other_colour_is_written_anywhere_in_python_and_the_browser_is_told_them():
    allowed = {
        "#ffffff",
        "#0b1622",
        "#000000",
        "#111111",
        "#dfe3e8",
        "#b9c2cc",
    }  # light and dark ink, the cells of symbols
    for file in DRAWING:
        if file.name not in {"colour.py", "report.py"}:  # the second: of a file's page
            assert set(re.findall(r"#[0-9a-f]{6}\b", file.read_text(encoding="utf-8"))) <= allowed, file
    hues = {*HUES_TOLD.values()} | allowed
    for file in [*COMPONENTS.rglob("*.js"), *COMPONENTS.rglob("*.css")]:
        if file.name != "style.css":  # of words of code
            assert set(re.findall(r"#[0-9a-f]{6}\b", file.read_text(encoding="utf-8"))) <= hues, file
    for file in [*FOLDER.glob("*.js"), *FOLDER.glob("*.css")]:
        text = file.read_text(encoding="utf-8")
        assert not {*HUES_TOLD.values()} & set(re.findall(r"#[0-9a-f]{6}", text)), file
        assert {*re.findall(r"--hue-(\w+)", text), *re.findall(r"hues\.(\w+)", text)} <= {*HUES_TOLD}, file


def shown(trace: dict[str, Any], share: float, dark: bool) -> str:
    """The colour of a map's trace at a share of its scale."""
    scale = run("return style.styledTrace(trace, undefined, dark).colorscale", trace=trace, dark=dark)
    return mixed(scale, share)


def mixed(scale: list[tuple[float, str]], share: float) -> str:
    """As plotly mixes the colours of a scale: in a straight line between two of them."""
    places = [at for at, _ in scale]
    parts = np.array([[int(one[at : at + 2], 16) for at in (1, 3, 5)] for _, one in scale])
    return "#" + "".join(f"{round(np.interp(share, places, part)):02x}" for part in parts.T)


def contrast(one: str, other: float) -> float:
    """The contrast of a colour with another's luminance (WCAG 2.2)."""
    low, high = sorted((luminance(one), other))
    return (high + 0.05) / (low + 0.05)


def linear(one: str) -> np.ndarray:
    parts = np.array([int(one[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(one: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    return float(linear(one) @ [0.2126, 0.7152, 0.0722])
