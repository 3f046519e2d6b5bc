"""The page Maps: which arrangement trains where? Runs appear as they finish, and every cell can be opened."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import streamlit as st

from components.charts.maps import LOSS, LOSS_CEILING, panel, shared_scale, widths_chart
from components.controls import form
from components.maps import coordinates, specification
from components.shell import session, waiting
from components.shell.address import put, put_again
from components.shell.link import help_of
from components.shell.naming import chance, settings
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from components.shell.visitor import address, visitor
from components.shell.ways_on import to_compare, to_playground
from models.content import Texts
from models.insight.baseline import loss_of_guessing, name_of_guessing
from models.insight.words import counted, signed
from models.maps import Cell, MapSpec, MapStore, Outcome
from models.maps.cells import cells, configs, refused, units
from models.maps.prepared import COMMAND, PREPARED, RecordedMap, question, recording
from models.maps.process import Standing, closed, works
from models.maps.sensitivity import best_rates, decides, rate_axis, sentence, warmed, warmup_sentence, widths
from models.maps.table import MEASURES, frame_of
from models.maps.work import own_jobs
from models.spec import knobs
from models.spec.budget import duration, this_machine
from models.spec.knob import Knob
from models.spec.pairings import MAX_COLUMNS, differing
from models.spec.settings import Settings

TEXTS = Texts("maps")

OWN, COORDINATES = "your own", "coordinates"
KEY = "map"
PATIENCE = 2.0  # seconds that a map may take to stop once nobody wants it
CELL = "map_cell"
# What is said of all cells, where it is equal.
SAID = ("net", "task", "depth", "width", "steps", "batch", "optimizer", "parametrization", "lr", "warmup")

MAP_WANTED = Key("map_wanted", "")  # the digest of the map that is computed
MAPS_BEGUN: Key[set[str]] = Key("maps_begun", set())  # in which this visitor has computed
MAP_BASKET: Key[list[Cell]] = Key("map_basket", [])  # cells to compare


@dataclass(frozen=True)
class MapView(Settings):
    """The open map, its colours, and the chosen cell."""

    choice: Annotated[str, Knob(
        "Map", choices={key: prepared.title for key, prepared in PREPARED.items()}
        | {COORDINATES: "Coordinate check: sizes over width or depth", OWN: "Your own map"}, link="map",
        width=360
    )] = next(iter(PREPARED))  # fmt: skip
    measure: Annotated[
        str, Knob("Colour", choices={name: one.label for name, one in MEASURES.items()}, link="colour", width=260)
    ] = next(iter(MEASURES))
    cell: Annotated[Cell | None, Knob("Cell", choices={})] = None


def draw() -> None:
    """The page below its title."""
    above = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = form.draw(MapView, KEY, only=["choice"], places=[above]).choice
    if chosen == COORDINATES:
        coordinates.draw(above)
        return
    measure = form.draw(MapView, KEY, only=["measure"], places=[above]).measure
    if chosen == OWN:
        spec = specification.edited()
        with st.container(horizontal=True):
            specification.pasted()
            st.caption(f"{spec.cells:,} cells, {spec.runs:,} runs")
    else:
        st.markdown(question(chosen))
        spec = PREPARED[chosen].spec
    if chosen == OWN and (refusal := refused(spec, this_machine())):
        st.error(refusal)
        return
    waiting.poll_while(f"map_{spec.digest}", lambda: watch(spec, chosen, measure))


def _setting(spec: MapSpec) -> str:
    """What is equal in all cells, and the seeds."""
    nets = [spec.config(name, spec.x.values[0], spec.y.values[0]) for name in spec.arrangements]
    equal = [name for name in SAID if name not in (spec.x.field, spec.y.field, *differing(nets))]
    return f"In all cells: {settings(nets[0], equal)}; {counted(spec.seeds, 'seed')}"


def watch(spec: MapSpec, chosen: str, measure: str) -> bool:
    """Buttons, progress, panels and the selected cell. Returns whether the map is being computed."""
    done = MapStore(spec).done()
    kept = [Outcome.unpacked(run) for one in done.values() for run in one["runs"]]
    total = spec.runs
    recorded = None if chosen == OWN else recording(chosen)
    wanted = MAP_WANTED.get() == spec.digest and len(kept) < total
    if wanted:
        works().want(spec, visitor(), address())
    standing = works().standing(spec)
    if standing.state == "failed":
        MAP_WANTED.put("")
        wanted = False
    # What others have half computed does not take the place of a recording.
    if wanted or spec.digest in MAPS_BEGUN.get() or len(kept) == total:
        recorded = None
    outcomes = kept if recorded is None else list(recorded.outcomes)

    def work() -> None:
        """What computes the map, and how far it is."""
        _buttons(spec, wanted, len(kept), total, goes_on=bool(kept) and recorded is None)
        if recorded is None:
            _progress(spec, standing, {at: one["seconds"] for at, one in done.items()})

    if chosen == OWN:
        work()
    cell = _chosen_cell(spec)
    _panels(spec, outcomes, measure, cell)
    if chosen != OWN:
        work()
    with st.expander("How it was made"):
        _made(spec, measure, recorded)
    _warmups(spec, outcomes)
    _best_rates(spec, outcomes)
    _cell(spec, cell)
    if rate_axis(spec):
        _sensitivity(spec, outcomes)
    _downloads(spec, outcomes, deletes=bool(kept) and not wanted and works().deletes(spec, visitor()))
    return wanted


def _buttons(spec: MapSpec, wanted: bool, done: int, total: int, *, goes_on: bool) -> None:
    blocked = closed() or refused(spec, this_machine())  # a recording is shown even if it cannot be recomputed here

    def compute() -> None:
        MAP_WANTED.put(spec.digest)
        MAPS_BEGUN.mutable().add(spec.digest)
        works().begin(spec, visitor(), address())

    with st.container(horizontal=True, vertical_alignment="bottom"):
        if wanted:
            tip = TEXTS("pause")
            st.button(
                "Pause",
                key="map_pause",
                icon=":material/pause:",
                type="primary",
                on_click=_pause,
                args=(spec,),
                help=tip,
            )
        elif done < total and not blocked:
            label = "Continue" if goes_on else "Compute it here"
            st.button(label, key="map_compute", icon=":material/play_arrow:", type="primary", on_click=compute)
        if done < total and blocked:
            st.caption(f":material/info: {blocked}")
        elif done < total and not wanted:  # the progress says how long it takes
            seconds = sum(unit.seconds(this_machine()) for unit in units(spec)) * (1 - done / total)
            st.caption(
                f"{total - done:,} runs, about {duration(seconds / own_jobs())} in "
                f"{counted(own_jobs(), 'process', 'es')} here"
            )


def _pause(spec: MapSpec) -> None:
    MAP_WANTED.put("")
    works().leave(spec, visitor())


def _delete(spec: MapSpec) -> None:
    _pause(spec)
    if not works().delete(spec, visitor(), PATIENCE):
        st.toast(TEXTS("somebody's"), icon=":material/info:")


def _progress(spec: MapSpec, standing: Standing, kept: dict[int, float]) -> None:
    """The progress, the time left at the pace so far, and what the map waits for. `kept`: seconds of each finished
    unit.
    """
    if standing.state == "failed":
        st.error(f"{standing.sentence} Finished runs are kept.")
    if not kept and standing.state == "ended":
        return
    every = units(spec)
    done, total = sum(len(every[at]) for at in kept), spec.runs
    costs = [unit.seconds(this_machine()) for unit in every]
    cost = sum(costs[at] for at in kept)
    left = sum(costs) - cost
    pace = sum(kept.values()) / cost if cost else 1.0
    first = f", {counted(standing.ahead, 'other map')} first"
    words = {
        "running": f"computing, about {duration(left * pace / own_jobs())} left",
        "waiting": f"waiting for its turn{first}" if standing.ahead else "starting",
    }
    word = "finished" if done == total else words.get(standing.state, "paused")
    st.progress(done / total, text=f"{done:,} of {total:,} runs · {word} · {badge('measured')}")


def _panels(spec: MapSpec, outcomes: Sequence[Outcome], measure: str, cell: Cell) -> None:
    guessing = chance(configs(spec, cells(spec)[0])[0])
    scale = shared_scale(spec, outcomes, measure, guessing)
    across = len(spec.arrangements) if len(spec.arrangements) in (1, 2, 4) else 3
    for first in range(0, len(spec.arrangements), across):  # row by row, so that phones keep the order
        for column, name in zip(st.columns(across), spec.arrangements[first : first + across], strict=False):
            with column:
                figure = panel(spec, outcomes, name, measure, scale, chosen=cell)
                title, key = f"Map of {name}, {MEASURES[measure].label.lower()}", f"map_panel_{spec.digest}_{name}"
                static_chart(figure, title, key, height=300, on_click=partial(_picked, spec, name))
    st.caption(TEXTS("hatched"))


def _made(spec: MapSpec, measure: str, recorded: RecordedMap | None) -> None:
    """The colours, what all cells have in common, and where and when a recording was made."""
    kind, task = MEASURES[measure], configs(spec, cells(spec)[0])[0].task
    unit = " in [nats](glossary?word=loss)" * (kind.unit == "nats")
    most = f"{number(loss_of_guessing(task) * LOSS_CEILING, 2)} ({LOSS_CEILING:g} times {name_of_guessing(task)})"
    beyond = f" Losses above {most} share the last colour."
    st.caption(f"{kind.label}{unit}, one colour scale for all panels.{beyond * (measure == LOSS)}")
    st.caption(_setting(spec))
    if recorded is not None:
        made = {"day": recorded.day, "torch": recorded.torch, "python": recorded.python}
        st.caption(
            TEXTS(
                "recorded", badge=badge("recorded"), command=f"`{COMMAND}`", seeds=counted(spec.seeds, "seed"), **made
            )
        )


def _picked(spec: MapSpec, name: str, x: object, y: object) -> None:
    """A click in a panel selects the nearest cell."""
    if isinstance(x, int | float) and isinstance(y, int | float):
        column, row = round(x), round(y)
        if 0 <= column < len(spec.x.values) and 0 <= row < len(spec.y.values):
            session.set_widget(CELL, Cell(name, spec.x.values[column], spec.y.values[row]))


def _chosen_cell(spec: MapSpec) -> Cell:
    """The chosen cell; the first where none is."""
    every = cells(spec)
    return form.keep(MapView, KEY, MapView(cell=every[0]), only=["cell"], legal={"cell": every}).cell or every[0]


def _warmups(spec: MapSpec, outcomes: Sequence[Outcome]) -> None:
    """What a warm-up changes, where the map is about that."""
    if not (found := warmed(spec, outcomes)):
        return
    st.markdown(f"**{warmup_sentence(spec, found)}**")
    if helped := [one for one in found if decides(one, spec.target)]:
        rows = {
            "arrangement": [one.arrangement for one in helped],
            "learning rate": [number(one.rate, 6) for one in helped],
            "final loss without a warm-up": [_loss(one.without) for one in helped],
            "with the best warm-up": [_loss(one.best) for one in helped],
        }
        named_table("Where a warm-up decides", rows)


def _best_rates(spec: MapSpec, outcomes: Sequence[Outcome]) -> None:
    """Whether the best learning rate stands still over the width, where the map is about that."""
    if (found := best_rates(spec, outcomes)) is None:
        return
    widths_, rates = list(found.rates), list(found.rates.values())
    of = {"low": number(min(rates), 3), "high": number(max(rates), 3), "slope": signed(found.slope, 2)}
    told = {"first": number(rates[0], 3), "last": number(rates[-1], 3), "slope": of["slope"]}
    ends = {"narrow": f"{widths_[0]:g}", "wide": f"{widths_[-1]:g}"}
    st.markdown(f"**{TEXTS('best still', **of, **ends) if found.still else TEXTS('best moves', **told, **ends)}**")


def _loss(value: float) -> str:
    return number(value, 2) if math.isfinite(value) else "diverged"


def _cell(spec: MapSpec, cell: Cell) -> None:
    """One cell, selected by a click or here, to open in the playground or add to a comparison."""
    every = cells(spec)
    left, middle, right = st.columns(3)

    def choose(name: str) -> None:
        put_again()
        chosen = (session.widget_value(f"map_cell_{part}") for part in ("arrangement", "x", "y"))
        session.set_widget(CELL, Cell(*chosen))

    for column, part, label, tip, options in (
        (left, "arrangement", "Cell: arrangement", None, spec.arrangements),
        (middle, "x", knobs()[spec.x.field][1].label, help_of(spec.x.field), spec.x.values),
        (right, "y", knobs()[spec.y.field][1].label, help_of(spec.y.field), spec.y.values),
    ):
        put({f"map_cell_{part}": getattr(cell, part)})
        column.selectbox(label, options, key=f"map_cell_{part}", help=tip, on_change=choose, args=(part,))
    basket: list[Cell] = [one for one in MAP_BASKET.get() if one in every]

    def add() -> None:
        MAP_BASKET.put([*basket, cell][-MAX_COLUMNS:])

    with st.container(horizontal=True, vertical_alignment="center"):
        to_playground(configs(spec, cell)[0], "Open this run in the playground")
        st.button("Add to a comparison", key="map_add", icon=":material/add:", on_click=add, disabled=cell in basket)
        if len(basket) > 1:
            to_compare([configs(spec, one)[0] for one in basket], f"Compare {len(basket)} runs")
        elif basket:
            st.caption(TEXTS("one selected"))


def _sensitivity(spec: MapSpec, outcomes: Sequence[Outcome]) -> None:
    """How wide a range of learning rates reaches the target."""
    st.subheader("Sensitivity to the learning rate", anchor=False)
    found = widths(spec, outcomes)
    st.markdown(f"**{sentence(spec, found)}**")
    other = spec.y.field if rate_axis(spec) == "x" else spec.x.field
    figure = widths_chart(spec, found, other)
    static_chart(figure, "Width of the range of learning rates", f"map_widths_{spec.digest}", height=300)
    edge = TEXTS("edge") if any(w.edge for w in found) else ""
    st.caption(f"{TEXTS('widths', target=spec.target, seeds=counted(spec.seeds, 'seed'))} {edge}".strip())


def _downloads(spec: MapSpec, outcomes: Sequence[Outcome], *, deletes: bool) -> None:
    """What can be taken away, and at the end, far from what computes, the button that deletes."""
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
            tip = TEXTS("delete")
            how: dict[str, Any] = {"key": "map_delete", "icon": ":material/delete:", "help": tip}
            st.button("Delete", on_click=_delete, args=(spec,), **how)
    st.caption(TEXTS("command", command=f"`python -m models map map-{spec.digest}.json --out map.csv`"))
