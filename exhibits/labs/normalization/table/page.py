"""The normalisation lab: a table of tokens, normalised live; cells that share statistics have one colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.parts import numbers, vertical_guide
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example
from components.labs.normed_table import LabTable, draw_coloured, letter
from components.labs.page import parts_of
from components.labs.parts import draw_charts, draw_finding, draw_note, draw_sentence
from components.shell.session import Key
from components.shell.text import number, vector, with_badge
from exhibits.labs.normalization.table.numbers import (
    MAX_WRITTEN,
    TABLES,
    WILD,
    WILDNESS_FACTORS,
    ExampleTable,
    bands,
    cell_line,
    cells_by_set,
    method_note,
    set_lines,
    wild_table,
)
from models.content import Texts
from models.labs.normalization import (
    ACROSS_TOKENS,
    CELL,
    FEATURE,
    GROUP,
    METHODS,
    MOMENTUM,
    SEQUENCE,
    TOKEN,
    NormedTable,
    Running,
    initial_running,
    normalise,
    updated_running,
)
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/table")
KEY = "normalization"
FIRST_EXAMPLE = "three tokens, layer norm"
SMALL_SPREAD = 0.5  # the page mentions a token whose output eps keeps below this spread; without eps it is 1
EPS_CHOICES = {eps: number(eps) for eps in (0.0, 1e-8, 1e-5, 1e-3, 1e-1, 1.0)}
WILDER_CHOICES = {times: f"{times:,}" for times in WILDNESS_FACTORS}
MAX_DRAWN_SETS = 12  # the tables have all sets
MAX_NUMBERED_CELLS = 12  # dots of larger sets have no numbers
SET_PIXELS = 30  # height of a set's row
FRAME_PIXELS = 84  # height of title and axis
NAMES_PIXELS = 72  # width of the sets' names
MAX_NAME_LETTERS = 9  # of a set's name
BAND_OPACITY = "55"  # in hexadecimal
HALF_BAND_ROWS = 0.36  # half the height of a band, in rows

RUNNING: Key[Running | None] = Key("normalization_running", None)  # batch norm's memory
LEARNING_REFUSAL = Key("normalization_refused", "")
MAX_LISTED_SETS = 6
ROUNDING = 1e-12  # of the size: a smaller mean is 0


@dataclass(frozen=True)
class Norming(Settings):
    columns = ()

    method: Annotated[str, Knob("Method", choices=dict.fromkeys(METHODS))] = "layer norm"
    eps: Annotated[float, Knob("eps", choices=EPS_CHOICES, control="steps", width=200)] = 1e-5
    gain: Annotated[float, Knob("Gain", -100.0, 100.0, 0.1, width=130)] = 1.0
    bias: Annotated[float, Knob("Bias", -100.0, 100.0, 0.1, width=130)] = 0.0
    unbiased: Annotated[bool, Knob("Unbiased variance")] = False
    groups: Annotated[int, Knob("Groups", choices={}, width=130)] = 1
    sequences: Annotated[int, Knob("Sequences", choices={}, width=130)] = 1
    alpha: Annotated[float, Knob("alpha", 0.1, 3.0, 0.1, control="slider", width=200)] = 0.5
    shift: Annotated[float, Knob("Shift s", -10.0, 10.0, 0.1, link="erf-shift", width=130)] = 0.0
    padding: Annotated[tuple[int, ...], Knob("Padding tokens", choices={}, multiple=True)] = ()
    left_out: Annotated[bool, Knob("Leave padding out of the statistics", link="leave")] = False
    row: Annotated[int, Knob("Token", choices={}, link="token")] = 0
    wilder: Annotated[int, Knob("Wilder", choices=WILDER_CHOICES, control="steps", width=416)] = 1
    part: Annotated[str | None, Knob("Look closer", choices={}, control="segments")] = None


def draw() -> None:
    """Draws the page: example and method, the table before and after the norm, the formula, and the closer looks."""
    left, right = st.columns(2)
    with left:
        example = _choose_example()
    defaults = Norming(example.method, padding=_padding_rows(example))
    settings = form.draw(Norming, KEY, defaults, only=["method"], places=[right])
    method = settings.method
    picture = st.container()
    input_column, output_column = st.columns(2)
    with input_column:
        st.markdown("**In**")
        values = table.draw_table(KEY, example.values, name="table", rows=example.rows, columns=example.columns)
    arguments = _draw_arguments(values, settings, defaults)
    if method == "batch norm":
        values, arguments["running"] = draw_memory(values, arguments["counted"])
    names, features = table.axis_names(KEY)
    normed = _normalise(values, method, arguments)
    if normed is not None:
        with picture:
            draw_picture(values, normed, method, arguments)
            if example is TABLES[WILD]:
                sentence = largest_sentence(values, normed, method, names, arguments["eps"])
                draw_finding(sentence)
            draw_sentence(method_note(method))
        with output_column:
            draw_result(normed, method, names, features)
    with st.expander("Formula, and one token step by step"):
        st.latex(METHODS[method].equation)
        row = form.draw(Norming, KEY, only=["row"], legal={"row": dict(enumerate(names))}).row
        if normed is not None:
            draw_steps(values, normed, method, row, arguments)
    _draw_closer_look(LabTable(values, names, row, float(arguments["eps"])))


def _draw_closer_look(lab: LabTable) -> None:
    """Draws the choice of a closer look, and the sections of the chosen one."""
    st.subheader("Look closer", anchor=False)
    looks = parts_of("normalization", "table")
    legal = {"part": {title: title.replace("against", "vs.") for title in looks}}
    chosen = form.draw(Norming, KEY, only=["part"], legal=legal, label_visibility="collapsed").part
    for look in looks[chosen] if chosen else ():
        look.page.draw(lab)


def _choose_example() -> ExampleTable:
    """Draws the examples and the note on the chosen one. Returns it."""

    def load(example: ExampleTable) -> None:
        table.put(KEY, example.values)
        form.put(KEY, method=example.method, padding=_padding_rows(example), wilder=1)

    def load_wilder() -> None:
        table.put(KEY, wild_table(form.read(Norming, KEY).wilder))

    example = TABLES[choose_example(KEY, TABLES, load, first=FIRST_EXAMPLE, with_reset=True)]
    if example.note:
        st.info(with_badge(example.note, "formula"))
    if example is TABLES[WILD]:
        form.draw(Norming, KEY, only=["wilder"], on_change=load_wilder)
    return example


def _draw_arguments(values: np.ndarray, settings: Norming, defaults: Norming) -> dict[str, Any]:
    """Draws the controls that the method uses; the others keep their values. Returns the arguments of the norm."""
    tokens, features = values.shape
    method = METHODS[settings.method]
    uses = {
        "eps": method.shares != CELL and settings.method not in {"min-max", "z-score"},
        "gain": True,
        "bias": True,
        "unbiased": method.spread == "variance",
        "groups": method.shares == GROUP,
        "sequences": method.shares == SEQUENCE,
        "alpha": method.shares == CELL,
        "shift": settings.method == "dynamic erf",
    }
    names = [name for name, is_used in uses.items() if is_used]
    legal = {"groups": _divisors(features), "sequences": _divisors(tokens)}
    drawn = form.draw(Norming, KEY, defaults, only=names, legal=legal)
    form.keep(Norming, KEY, defaults, only=["padding"], legal={"padding": range(tokens)})  # set by examples
    arguments: dict[str, Any] = {"eps": 1e-5, "counted": None} | {name: getattr(drawn, name) for name in names}
    if method.shares in ACROSS_TOKENS:
        arguments["counted"] = _draw_padding(tokens, defaults)
    return arguments


def _draw_padding(tokens: int, defaults: Norming) -> np.ndarray | None:
    """Draws the choice of padding. Returns which tokens count in statistics over tokens (N,); None if all do."""
    legal = {"padding": dict(enumerate(table.axis_names(KEY)[0]))}
    disabled = [] if form.read(Norming, KEY, defaults).padding else ["left_out"]
    settings = form.draw(Norming, KEY, defaults, only=["padding", "left_out"], legal=legal, disabled=disabled)
    if not settings.left_out or not settings.padding:
        return None
    return np.array([token not in settings.padding for token in range(tokens)])


def largest_sentence(values: np.ndarray, normed: NormedTable, method: str, names: list[str], eps: float) -> str:
    """The largest absolute values before and after the norm, and the token that eps keeps smallest, if it is small."""
    largest_input, largest_output = float(np.abs(values).max()), float(np.abs(normed.values).max())
    sentence = TEXTS("largest before and after", before=largest_input, after=largest_output)
    variance = normed.spread[:, 0]
    if METHODS[method].shares != TOKEN or not eps or not variance.all():
        return sentence
    output_spreads = np.sqrt(variance / (variance + eps))
    token = int(np.argmin(output_spreads))
    if output_spreads[token] > SMALL_SPREAD:
        return sentence
    sizes = {"size": float(np.sqrt(variance[token])), "root": eps**0.5, "out": float(output_spreads[token])}
    return f"{sentence} {TEXTS('held small by eps', token=names[token], **sizes)}"


def _padding_rows(example: ExampleTable) -> tuple[int, ...]:
    return tuple(row for row, name in enumerate(example.rows) if name.startswith("pad"))


def _normalise(values: np.ndarray, method: str, arguments: dict[str, Any]) -> NormedTable | None:
    """The table after the norm; None, and an error on the page, if its statistics do not exist."""
    try:
        return normalise(values, method, **arguments)
    except ValueError as problem:
        st.error(str(problem))
        return None


def _divisors(count: int) -> list[int]:
    return [divisor for divisor in range(1, count + 1) if count % divisor == 0]


def draw_picture(values: np.ndarray, normed: NormedTable, method: str, settings: dict[str, Any]) -> None:
    """Draws dot charts of the values before and after a norm; `settings`: the arguments of the norm."""
    sets = cells_by_set(normed, method)
    names = set_names(normed, method, *table.axis_names(KEY))
    input_bands, output_bands = zip(*bands(normed, method, settings), strict=True)
    draw_charts(
        KEY,
        dot_chart("Before", values, sets=sets, names=names, bands=input_bands),
        dot_chart("After", normed.values, sets=sets, names=names, bands=output_bands),
        height=FRAME_PIXELS + SET_PIXELS * min(len(sets), MAX_DRAWN_SETS),
    )
    if len(sets) > MAX_DRAWN_SETS:
        st.caption(f"The first {MAX_DRAWN_SETS} of {len(sets)} sets are drawn.")


def set_names(normed: NormedTable, method: str, names: Sequence[str], features: Sequence[str]) -> list[str]:
    """The name of each set: its token, its feature, or its letter in the table."""
    sources = {TOKEN: names, CELL: names, FEATURE: features}.get(METHODS[method].shares)
    if sources is None:
        return [letter(int(label)) for label in dict.fromkeys(normed.shared.ravel().tolist())]
    return [name if len(name) <= MAX_NAME_LETTERS else f"{name[: MAX_NAME_LETTERS - 1]}…" for name in sources]


def dot_chart(
    title: str, values: np.ndarray, sets: Sequence[np.ndarray], names: Sequence[str], bands: Sequence[tuple[float, ...]]
) -> Figure:
    """A dot for each cell at its value, a row for each set on its band; in small sets all dots have numbers."""
    drawn = list(sets)[:MAX_DRAWN_SETS]
    rows = list(range(1, len(drawn) + 1))
    layout = layout_of(title, x="value", y="", legend=False, hue=SIGNAL)
    layout["margin"]["l"] = NAMES_PIXELS
    layout["yaxis"] |= {
        "tickmode": "array",
        "tickvals": rows,
        "ticktext": list(names[: len(drawn)]),
        "range": [len(drawn) + 0.5, 0.5],
        "showgrid": False,
        "ticks": "",
    }
    layout["shapes"] = [vertical_guide(x=0, dash="dot")]
    for row, band in zip(rows, bands, strict=False):
        layout["shapes"] += _band_shapes(row, band)
    cells = np.concatenate(drawn)
    are_small = all(len(cells_of_set) <= MAX_NUMBERED_CELLS for cells_of_set in drawn)
    texts = [number for cells_of_set in drawn for number in _cell_numbers(cells_of_set)]
    words = [f"token {row + 1}, feature {column + 1}" for row, column in cells.tolist()]
    trace = {
        "type": "scatter",
        "name": title,
        "mode": "markers+text" if are_small else "markers",
        "x": numbers(values[cells[:, 0], cells[:, 1]]),
        "y": [row for row, cells_of_set in zip(rows, drawn, strict=True) for _ in cells_of_set],
        "text": texts if are_small else [""] * len(cells),
        "textfont": {"size": 11, "color": "#ffffff"},
        "names": words,
        "hovertext": words,
        "orientation": "h",
        "marker": {"color": SIGNAL, "size": 18 if are_small else 9, "opacity": 1 if are_small else 0.7},
        "hovertemplate": "%{hovertext}: %{x:.4g}<extra></extra>",
    }
    return figure_of([trace], layout, "nothing to draw")


def _band_shapes(row: int, band: tuple[float, ...]) -> list[dict[str, Any]]:
    """The band of a set with a line in its middle; none for an empty one."""
    if not band:
        return []
    low, middle, high = band
    ends = {"y0": row - HALF_BAND_ROWS, "y1": row + HALF_BAND_ROWS}
    fill = {"fillcolor": f"{NORM}{BAND_OPACITY}", "line": {"width": 0}, "layer": "below"}
    return [
        {"type": "rect", "x0": low, "x1": high, **ends, **fill},
        {"type": "line", "x0": middle, "x1": middle, **ends, "line": {"color": NORM, "width": 2}},
    ]


def _cell_numbers(cells: np.ndarray) -> list[str]:
    """The numbers of a set's cells (N, 2), from 1: features if they are of one token, else tokens."""
    is_one_token = len(set(cells[:, 0].tolist())) == 1
    column = 1 if is_one_token else 0
    return [str(i + 1) for i in cells[:, column].tolist()]


def draw_steps(values: np.ndarray, normed: NormedTable, method: str, row: int, settings: dict[str, Any]) -> None:
    """Draws the arithmetic of the token in `row` as formulas; `settings`: the arguments of the norm."""
    running, counted = settings.get("running"), settings.get("counted")
    if METHODS[method].shares != CELL:
        sets = list(dict.fromkeys(normed.shared[row].tolist()))
        for label in sets[:MAX_WRITTEN]:
            cells = normed.shared == label
            if counted is not None and running is None and METHODS[method].shares in ACROSS_TOKENS:
                cells = cells & counted[:, None]
            column = int(np.flatnonzero(normed.shared[row] == label)[0])
            statistics = normed.centre[row, column], normed.spread[row, column], normed.scale[row, column]
            lines = set_lines(values[cells], method, name=letter(label), statistics=statistics, settings=settings)
            for line in lines:
                st.latex(line)
        if len(sets) > MAX_WRITTEN:
            st.caption(TEXTS("sets written out", shown=MAX_WRITTEN, sets=len(sets)))
    for column in range(min(MAX_WRITTEN, values.shape[1])):
        st.latex(cell_line(values, normed, method, (row, column), settings))
    draw_sentence(f"Out: **{vector(normed.values[row] + 0.0)}**")


@dataclass(frozen=True)
class Inference(Settings):
    mode: Annotated[str, Knob("Mode", choices=dict.fromkeys(("train", "eval")), control="segments")] = "train"
    shift: Annotated[float, Knob("Shift of the data at inference", -100.0, 100.0, 0.5, width=220)] = 0.0


def draw_memory(values: np.ndarray, counted: np.ndarray | None) -> tuple[np.ndarray, Running | None]:
    """Draws running statistics and mode. Returns the table to normalise and, in eval mode, the statistics to use."""
    _, features = table.axis_names(KEY)
    running = RUNNING.get() or initial_running(len(features))
    if len(running.mean) != len(features):
        running = initial_running(len(features))
    mode = form.draw(Inference, KEY, only=["mode"]).mode

    def learn(batches: int) -> None:
        try:
            RUNNING.put(updated_running(running, values, counted, batches))
        except ValueError as problem:
            LEARNING_REFUSAL.put(str(problem))

    with st.container(horizontal=True):
        st.button("Train on this batch once", key=f"{KEY}_learn_1", on_click=learn, args=(1,))
        st.button("Train on it 10 times", key=f"{KEY}_learn_10", on_click=learn, args=(10,))
        st.button("Reset the statistics", key=f"{KEY}_forget", on_click=RUNNING.put, args=(None,))
    if refusal := LEARNING_REFUSAL.pop():
        st.error(refusal)
    _draw_statistics(values, counted, running, features)
    if mode == "train":
        return values, None
    return _draw_shift(values, running), running


def _draw_statistics(values: np.ndarray, counted: np.ndarray | None, running: Running, features: list[str]) -> None:
    """The statistics of this batch and the running ones."""
    batch = values if counted is None else values[counted]
    rows = {"batch mean": batch.mean(0), "batch variance, / n": batch.var(0)} if len(batch) else {}
    if len(batch) > 1:
        rows["batch variance, / (n - 1)"] = batch.var(0, ddof=1)
    rows |= {"running mean": running.mean, "running variance": running.variance}
    st.dataframe(pd.DataFrame(rows, index=features).T, alt="Statistics of the batch and running statistics, table")
    st.caption(TEXTS("running statistics", batches=running.batches, old=1 - MOMENTUM, new=MOMENTUM))


def _draw_shift(values: np.ndarray, running: Running) -> np.ndarray:
    """Returns the data shifted at inference; draws how far that moves batch norm and layer norm."""
    shift = form.draw(Inference, KEY, only=["shift"]).shift
    shifted = values + shift
    moves = {}
    for method, statistics in (("batch norm", running), ("layer norm", None)):
        before, after = (normalise(table, method, running=statistics).values for table in (values, shifted))
        moves[method] = np.abs(after - before).max()
    draw_note(TEXTS("shift", shift=shift, batch=moves["batch norm"], layer=moves["layer norm"]))
    return shifted


def draw_result(normed: NormedTable, method: str, names: list[str], features: list[str]) -> None:
    """Draws the table after the norm, and the statistics of each set of cells."""
    st.markdown("**Out**")
    draw_coloured(normed, method, names, features, "Normalised table, table")
    if METHODS[method].shares != CELL:
        st.caption(TEXTS("shades"))
    if normed.undefined.any():
        sets = _sets_text([letter(int(label)) for label in normed.shared[normed.undefined]])
        cure = "" if method in {"min-max", "z-score"} else f" {TEXTS('eps cures')}"
        st.warning(TEXTS("undefined", sets=sets, cure=cure))
    with st.popover("Statistics before and after", icon=":material/table:"):
        st.dataframe(set_statistics(normed, method), alt="Statistics of every set, table")
        st.dataframe(means_and_rms(normed.values, names, features), alt="Mean and RMS of the result, table")


def set_statistics(normed: NormedTable, method: str) -> pd.DataFrame:
    """One row per set of cells: its letter, its centre, its spread and the divisor."""
    labels, first_cells = np.unique(normed.shared, return_index=True)
    norm = METHODS[method]
    cells: dict[str, list[float]] = {}
    if norm.centre:
        cells[norm.centre] = normed.centre.ravel()[first_cells].tolist()
    if norm.spread:
        cells[norm.spread] = normed.spread.ravel()[first_cells].tolist()
        cells["divided by"] = normed.scale.ravel()[first_cells].tolist()
    return pd.DataFrame(cells, index=[letter(int(label)) for label in labels])


def means_and_rms(out: np.ndarray, names: list[str], features: list[str]) -> pd.DataFrame:
    """Mean and RMS of every row and every column."""
    mean = np.array([*out.mean(1), *out.mean(0)])
    rms = np.sqrt([*(out**2).mean(1), *(out**2).mean(0)])
    mean[np.abs(mean) < ROUNDING * rms] = 0.0
    return pd.DataFrame({"mean": mean, "RMS": rms}, index=[*names, *features])


def _sets_text(letters: list[str]) -> str:
    """Names of sets in words, each once: "sets a, b"."""
    names = list(dict.fromkeys(letters))
    noun = "set" if len(names) == 1 else "sets"
    dots = ["..."] if len(names) > MAX_LISTED_SETS else []
    return f"{noun} " + ", ".join([*names[:MAX_LISTED_SETS], *dots])
