"""The page Maps: which arrangement trains where? Runs appear as they finish, and every cell can be opened."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.charts.maps import LOSS, LOSS_CEILING, panel, shared_scale, widths_chart
from components.controls import form
from components.maps import coordinates, specification
from components.shell import session
from components.shell.address import put, reapply_widgets
from components.shell.link import field_help
from components.shell.naming import guessing_loss, settings_text
from components.shell.page_links import link_to_compare, link_to_playground
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from components.shell.visitor import address, visitor_id
from components.shell.waiting import poll_while
from models.content import Texts
from models.insight.baseline import loss_of_guessing, name_of_guessing
from models.insight.words import count_in_words, signed_number
from models.maps import Cell, MapSpec, MapStore, Outcome
from models.maps.cells import cells, configs, refusal_reason, units
from models.maps.prepared import COMMAND, PREPARED, RecordedMap, question, recording
from models.maps.process import MapState, disabled_reason, works
from models.maps.sensitivity import (
    best_rates,
    needs_warmup,
    rate_axis,
    rate_ranges,
    sentence,
    warmup_effects,
    warmup_sentence,
)
from models.maps.table import MEASURES, frame_of
from models.maps.work import default_jobs
from models.spec import knobs
from models.spec.budget import format_duration, this_machine
from models.spec.knob import Knob
from models.spec.pairings import MAX_COLUMNS, differing_fields
from models.spec.settings import Settings

TEXTS = Texts("maps")

OWN = "your own"  # a choice beside the prepared maps
COORDINATES = "coordinates"  # another one
KEY = "map"
STOP_SECONDS = 2.0  # a map may take this long to stop before it is deleted
CHART_PIXELS = 300  # height
CELL = "map_cell"
TITLES = {key: prepared.title for key, prepared in PREPARED.items()} | {
    COORDINATES: "Coordinate check: sizes over width or depth",
    OWN: "Your own map",
}
COLOURS = {name: measure.label for name, measure in MEASURES.items()}
# Fields that the page names where they are equal in all cells.
SETTING_FIELDS = ("net", "task", "depth", "width", "steps", "batch", "optimizer", "parametrization", "lr", "warmup")

MAP_WANTED = Key("map_wanted", "")  # the digest of the map that this visit computes
MAPS_BEGUN: Key[set[str]] = Key("maps_begun", set())  # digests of maps that this visit has computed a part of
MAP_BASKET: Key[list[Cell]] = Key("map_basket", [])  # cells to compare


@dataclass(frozen=True)
class MapView(Settings):
    """The open map, its colours, and the chosen cell."""

    choice: Annotated[str, Knob("Map", choices=TITLES, link="map", width=360)] = next(iter(PREPARED))
    measure: Annotated[str, Knob("Colour", choices=COLOURS, link="colour", width=260)] = next(iter(MEASURES))
    cell: Annotated[Cell | None, Knob("Cell", choices={})] = None


def draw() -> None:
    """Draws the page below its title."""
    above = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = form.draw(MapView, KEY, only=["choice"], places=[above]).choice
    if chosen == COORDINATES:
        coordinates.draw(above)
        return
    measure = form.draw(MapView, KEY, only=["measure"], places=[above]).measure
    if chosen == OWN:
        spec = specification.draw_controls()
        with st.container(horizontal=True):
            specification.draw_paste_box()
            st.caption(f"{spec.cells:,} cells, {spec.runs:,} runs")
    else:
        st.markdown(question(chosen))
        spec = PREPARED[chosen].spec
    if chosen == OWN and (refusal := refusal_reason(spec, this_machine())):
        st.error(refusal)
        return
    poll_while(f"map_{spec.digest}", lambda: _draw_map(spec, chosen, measure))


def _setting(spec: MapSpec) -> str:
    """The fields that are equal in all cells, and the seeds."""
    nets = [spec.config(name, spec.x.values[0], spec.y.values[0]) for name in spec.arrangements]
    equal = [name for name in SETTING_FIELDS if name not in (spec.x.field, spec.y.field, *differing_fields(nets))]
    return f"In all cells: {settings_text(nets[0], equal)}; {count_in_words(spec.seeds, 'seed')}"


def _draw_map(spec: MapSpec, chosen: str, measure: str) -> bool:
    """Draws a map (`chosen`: its name) coloured by a measure. Returns whether this visit has it computed."""
    finished_units = MapStore(spec).done()
    computed = [Outcome.from_dict(run) for unit in finished_units.values() for run in unit["runs"]]
    recorded = None if chosen == OWN else recording(chosen)
    is_wanted = MAP_WANTED.get() == spec.digest and len(computed) < spec.runs
    if is_wanted:
        works().renew(spec, visitor_id(), address())
    state = works().state_of(spec)
    if state.state == "failed":
        MAP_WANTED.put("")
        is_wanted = False
    # Another visitor's half-computed map does not replace a recording.
    if is_wanted or spec.digest in MAPS_BEGUN.get() or len(computed) == spec.runs:
        recorded = None
    outcomes = computed if recorded is None else list(recorded.outcomes)

    def draw_work() -> None:
        _draw_buttons(spec, is_wanted, len(computed), resumes=bool(computed) and recorded is None)
        if recorded is None:
            _draw_progress(spec, state, {index: unit["seconds"] for index, unit in finished_units.items()})

    if chosen == OWN:
        draw_work()
    cell = _chosen_cell(spec)
    _draw_panels(spec, outcomes, measure, cell)
    if chosen != OWN:
        draw_work()
    with st.expander("How it was made"):
        _draw_origin(spec, measure, recorded)
    _draw_warmups(spec, outcomes)
    _draw_best_rates(spec, outcomes)
    _draw_cell(spec, cell)
    if rate_axis(spec):
        _draw_sensitivity(spec, outcomes)
    deletes = bool(computed) and not is_wanted and works().may_delete(spec, visitor_id())
    _draw_downloads(spec, outcomes, deletes=deletes)
    return is_wanted


def _draw_buttons(spec: MapSpec, is_wanted: bool, done: int, *, resumes: bool) -> None:
    """Draws the button that computes or pauses the map, or why this server cannot compute it, and the time left.

    `done`: the number of finished runs. `resumes`: the page shows them.
    """
    total = spec.runs
    obstacle = disabled_reason() or refusal_reason(spec, this_machine())

    def compute() -> None:
        MAP_WANTED.put(spec.digest)
        MAPS_BEGUN.mutable().add(spec.digest)
        works().begin(spec, visitor_id(), address())

    with st.container(horizontal=True, vertical_alignment="bottom"):
        if is_wanted:
            st.button(
                "Pause",
                key="map_pause",
                icon=":material/pause:",
                type="primary",
                on_click=_pause,
                args=(spec,),
                help=TEXTS("pause"),
            )
        elif done < total and not obstacle:
            label = "Continue" if resumes else "Compute it here"
            st.button(label, key="map_compute", icon=":material/play_arrow:", type="primary", on_click=compute)
        if done < total and obstacle:
            st.caption(f":material/info: {obstacle}")
        elif done < total and not is_wanted:  # while it is computed, the progress has the time left
            seconds = sum(unit.seconds(this_machine()) for unit in units(spec)) * (1 - done / total)
            st.caption(
                f"{total - done:,} runs, about {format_duration(seconds / default_jobs())} in "
                f"{count_in_words(default_jobs(), 'process', 'es')} here"
            )


def _pause(spec: MapSpec) -> None:
    MAP_WANTED.put("")
    works().leave(spec, visitor_id())


def _delete(spec: MapSpec) -> None:
    _pause(spec)
    if not works().delete(spec, visitor_id(), STOP_SECONDS):
        st.toast(TEXTS("somebody's"), icon=":material/info:")


def _draw_progress(spec: MapSpec, state: MapState, unit_seconds: dict[int, float]) -> None:
    """Draws the progress, the time left at the pace so far, and how many maps come first.

    `unit_seconds` has the time of each finished unit by its index.
    """
    if state.state == "failed":
        st.error(f"{state.sentence} Finished runs are kept.")
    if not unit_seconds and state.state == "ended":
        return
    all_units, total = units(spec), spec.runs
    done = sum(len(all_units[index]) for index in unit_seconds)
    estimates = [unit.seconds(this_machine()) for unit in all_units]
    done_estimate = sum(estimates[index] for index in unit_seconds)
    pace = sum(unit_seconds.values()) / done_estimate if done_estimate else 1.0  # actual over estimated time
    seconds_left = (sum(estimates) - done_estimate) * pace / default_jobs()
    running = f"computing, about {format_duration(seconds_left)} left"
    waiting = f"waiting for its turn, {count_in_words(state.ahead, 'other map')} first" if state.ahead else "starting"
    activity = {"running": running, "waiting": waiting}.get(state.state, "paused")
    if done == total:
        activity = "finished"
    st.progress(done / total, text=f"{done:,} of {total:,} runs · {activity} · {badge('measured')}")


def _draw_panels(spec: MapSpec, outcomes: Sequence[Outcome], measure: str, cell: Cell) -> None:
    """Draws a panel for each arrangement; a click in one chooses a cell."""
    guessing = guessing_loss(configs(spec, cells(spec)[0])[0])
    scale = shared_scale(spec, outcomes, measure, guessing)
    per_row = len(spec.arrangements) if len(spec.arrangements) in (1, 2, 4) else 3
    for start in range(0, len(spec.arrangements), per_row):  # row by row, so that phones keep the order
        for column, name in zip(st.columns(per_row), spec.arrangements[start : start + per_row], strict=False):
            with column:
                figure = panel(spec, outcomes, name, measure, scale, chosen=cell)
                title = f"Map of {name}, {MEASURES[measure].label.lower()}"
                key = f"map_panel_{spec.digest}_{name}"
                static_chart(
                    figure, title, key, height=CHART_PIXELS, on_click=partial(_choose_nearest_cell, spec, name)
                )
    st.caption(TEXTS("hatched"))


def _draw_origin(spec: MapSpec, measure: str, recorded: RecordedMap | None) -> None:
    """Draws what the colours mean, what all cells have in common, and how and when a recording was made."""
    shown_measure = MEASURES[measure]
    task = configs(spec, cells(spec)[0])[0].task
    unit = " in [nats](glossary?word=loss)" if shown_measure.unit == "nats" else ""
    limit = f"{number(loss_of_guessing(task) * LOSS_CEILING, 2)} ({LOSS_CEILING:g} times {name_of_guessing(task)})"
    remark = f" Losses above {limit} share the last colour." if measure == LOSS else ""
    st.caption(f"{shown_measure.label}{unit}, one colour scale for all panels.{remark}")
    st.caption(_setting(spec))
    if recorded is not None:
        origin = {"day": recorded.day, "torch": recorded.torch, "python": recorded.python}
        seeds = count_in_words(spec.seeds, "seed")
        st.caption(TEXTS("recorded", badge=badge("recorded"), command=f"`{COMMAND}`", seeds=seeds, **origin))


def _choose_nearest_cell(spec: MapSpec, name: str, x: object, y: object) -> None:
    """Chooses the cell nearest to a click in a panel."""
    if not isinstance(x, int | float) or not isinstance(y, int | float):
        return
    column, row = round(x), round(y)
    if 0 <= column < len(spec.x.values) and 0 <= row < len(spec.y.values):
        session.set_widget(CELL, Cell(name, spec.x.values[column], spec.y.values[row]))


def _chosen_cell(spec: MapSpec) -> Cell:
    """The chosen cell; the first if none is chosen."""
    all_cells = cells(spec)
    defaults = MapView(cell=all_cells[0])
    return form.keep(MapView, KEY, defaults, only=["cell"], legal={"cell": all_cells}).cell or all_cells[0]


def _draw_warmups(spec: MapSpec, outcomes: Sequence[Outcome]) -> None:
    """Draws the effect of a warm-up, if the map varies it."""
    effects = warmup_effects(spec, outcomes)
    if not effects:
        return
    st.markdown(f"**{warmup_sentence(spec, effects)}**")
    decisive = [effect for effect in effects if needs_warmup(effect, spec.target)]
    if decisive:
        table = {
            "arrangement": [effect.arrangement for effect in decisive],
            "learning rate": [number(effect.rate, 6) for effect in decisive],
            "final loss without a warm-up": [_loss_text(effect.without) for effect in decisive],
            "with the best warm-up": [_loss_text(effect.best) for effect in decisive],
        }
        named_table("Where a warm-up decides", table)


def _draw_best_rates(spec: MapSpec, outcomes: Sequence[Outcome]) -> None:
    """Draws whether the best learning rate stays the same over the width, if the map varies both."""
    best = best_rates(spec, outcomes)
    if best is None:
        return
    all_widths = list(best.rates)
    rates = list(best.rates.values())
    ends = {"narrow": f"{all_widths[0]:g}", "wide": f"{all_widths[-1]:g}"}
    slope = signed_number(best.slope, 2)
    if best.is_flat:
        text = TEXTS("best still", low=number(min(rates), 3), high=number(max(rates), 3), slope=slope, **ends)
    else:
        text = TEXTS("best moves", first=number(rates[0], 3), last=number(rates[-1], 3), slope=slope, **ends)
    st.markdown(f"**{text}**")


def _loss_text(value: float) -> str:
    return number(value, 2) if math.isfinite(value) else "diverged"


def _draw_cell(spec: MapSpec, cell: Cell) -> None:
    """Draws the choice of a cell, and buttons that open it in the playground or add it to a comparison."""
    left, middle, right = st.columns(3)

    def choose(name: str) -> None:
        reapply_widgets()
        parts = (session.widget_value(f"map_cell_{part}") for part in ("arrangement", "x", "y"))
        session.set_widget(CELL, Cell(*parts))

    def draw_part(
        column: DeltaGenerator, part: str, label: str, options: Sequence[Any], tip: str | None = None
    ) -> None:
        key = f"map_cell_{part}"
        put({key: getattr(cell, part)})
        column.selectbox(label, options, key=key, help=tip, on_change=choose, args=(part,))

    draw_part(left, "arrangement", "Cell: arrangement", spec.arrangements)
    for column, part, axis in ((middle, "x", spec.x), (right, "y", spec.y)):
        draw_part(column, part, knobs()[axis.field][1].label, axis.values, field_help(axis.field))
    basket: list[Cell] = [chosen for chosen in MAP_BASKET.get() if chosen in cells(spec)]

    def add() -> None:
        MAP_BASKET.put([*basket, cell][-MAX_COLUMNS:])

    with st.container(horizontal=True, vertical_alignment="center"):
        link_to_playground(configs(spec, cell)[0], "Open this run in the playground")
        st.button("Add to a comparison", key="map_add", icon=":material/add:", on_click=add, disabled=cell in basket)
        if len(basket) > 1:
            link_to_compare([configs(spec, chosen)[0] for chosen in basket], f"Compare {len(basket)} runs")
        elif basket:
            st.caption(TEXTS("one selected"))


def _draw_sensitivity(spec: MapSpec, outcomes: Sequence[Outcome]) -> None:
    """Draws how wide a range of learning rates reaches the target."""
    st.subheader("Sensitivity to the learning rate", anchor=False)
    ranges = rate_ranges(spec, outcomes)
    st.markdown(f"**{sentence(spec, ranges)}**")
    other_field = spec.y.field if rate_axis(spec) == "x" else spec.x.field
    figure = widths_chart(spec, ranges, other_field)
    static_chart(figure, "Width of the range of learning rates", f"map_widths_{spec.digest}", height=CHART_PIXELS)
    edge = TEXTS("edge") if any(rate_range.edge for rate_range in ranges) else ""
    st.caption(f"{TEXTS('widths', target=spec.target, seeds=count_in_words(spec.seeds, 'seed'))} {edge}".strip())


def _draw_downloads(spec: MapSpec, outcomes: Sequence[Outcome], *, deletes: bool) -> None:
    """Draws table and downloads, and last, far from the button that computes, the button that deletes."""
    frame = frame_of(spec, outcomes)
    with st.container(horizontal=True):
        with st.popover("Table", icon=":material/table:", key="map_table"):
            st.dataframe(frame, alt="All runs of the map, table", height=320)
        st.download_button(
            "Table (CSV)", frame.to_csv(index=False), f"map-{spec.digest}.csv", "text/csv", key="map_csv"
        )
        name = f"map-{spec.digest}.json"
        st.download_button("Specification (JSON)", spec.to_json(), name, "application/json", key="map_json")
        if deletes:
            st.button(
                "Delete",
                key="map_delete",
                icon=":material/delete:",
                help=TEXTS("delete"),
                on_click=_delete,
                args=(spec,),
            )
    st.caption(TEXTS("command", command=f"`python -m models map map-{spec.digest}.json --out map.csv`"))
