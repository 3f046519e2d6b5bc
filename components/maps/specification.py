"""The settings of a map: controls for axes, arrangements, base configuration, seeds and target, or pasted JSON."""

from typing import Any

import streamlit as st

from components.controls.field import widget
from components.player.view import as_sentence
from components.shell import address, session
from components.shell.session import Key
from models.maps.spec import AXES, MAX_PANELS, MAX_SEEDS_OF_MAP, MAX_SPEC_CHARS, TARGETS, Axis, MapSpec
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.query import literal

KEY = "spec"  # in the address
CHOSEN, SEEDS, TARGET = "map_arrangements", "map_seeds", "map_target"
FIRST = MapSpec(
    Axis("lr", (0.003, 0.01, 0.03, 0.1)),
    Axis("depth", (8, 16, 32)),
    ("post-norm", "pre-norm"),
    (("batch", 32), ("steps", 100), ("width", 32)),
)
BASE = (
    "net",
    "task",
    "depth",
    "width",
    "activation",
    "norm",
    "init",
    "optimizer",
    "parametrization",
    "lr",
    "batch",
    "warmup",
    "steps",
)
MAX_AXIS = 1000  # characters of an axis, with room for the longest numbers
OWN = "of the arrangement"  # what a map leaves to its arrangements
LEFT = ("norm", "init")  # fields that may be left to them

MAP_OWN: Key[MapSpec | None] = Key("map_own", None)  # the last legal specification
MAP_FILLED = Key("map_filled", False)  # whether the controls hold it
MAP_MORE: Key[dict[str, Any]] = Key("map_more", {})  # fields of its base without a control
MAP_REFUSED = Key("map_refused", "")  # what was wrong with the specification in the address


def edited() -> MapSpec:
    """The map in the controls; if they are invalid, an error and the last valid map."""
    _adopt()
    kept = MAP_OWN.get() or FIRST
    _fill(kept)
    left, right = st.columns(2)
    with left:
        x = _axis("x", "Horizontal axis")
    with right:
        y = _axis("y", "Vertical axis")
    names = st.multiselect(
        "Arrangements",
        list(ARRANGEMENTS),
        key=CHOSEN,
        max_selections=MAX_PANELS,
        help=f"One panel each, up to {MAX_PANELS}.",
    )
    with st.expander("The net, its task and its training"):
        base = _base((x[0], y[0]))
        seeds, target = st.columns(2)
        count = seeds.number_input("Seeds", 1, MAX_SEEDS_OF_MAP, key=SEEDS, help="Runs per cell, trained together.")
        goal = target.number_input(
            "Target loss",
            *TARGETS,
            step=0.05,
            format="%g",
            key=TARGET,
            help="For steps to target, and for sensitivity.",
        )
    try:
        spec = MapSpec(
            Axis(x[0], _numbers(x[1])), Axis(y[0], _numbers(y[1])), tuple(names), base, int(count), float(goal)
        )
    except ValueError as problem:
        st.error(f"{problem}. Below is still the last valid map.")
        spec = kept
    MAP_OWN.put(spec)
    address.change({KEY: None if spec == FIRST else spec.to_json(compact=True)})
    return spec


def pasted() -> None:
    """A box to paste a map's JSON into."""
    with st.popover("Paste a specification", icon=":material/content_paste:"):
        text = st.text_area("Specification (JSON)", key="map_paste", height=200, max_chars=MAX_SPEC_CHARS)
        if st.button("Use it", key="map_use"):
            try:
                spec = MapSpec.from_json(text)
            except ValueError as problem:
                st.error(f"{_quoted(problem)} The map is unchanged.")
                return
            put(spec)
            st.rerun()


def _adopt() -> None:
    """Adopts the map in the address. If it cannot be read, says so and takes the default."""
    text = st.query_params.get(KEY)
    with address.adopting(KEY) as fresh:
        if fresh or not MAP_OWN.there:
            MAP_REFUSED.put("")
            try:
                put(FIRST if text is None else MapSpec.from_json(text))
            except ValueError as problem:
                put(FIRST)
                MAP_REFUSED.put(_quoted(problem))
    if MAP_REFUSED.get() and MAP_OWN.get() == FIRST:
        st.info(f"The link's map could not be used. {MAP_REFUSED.get()}")


def _quoted(problem: ValueError) -> str:
    """What is wrong with a pasted map, with its quotes escaped for Markdown."""
    return literal(as_sentence(str(problem)[:300]))


def put(spec: MapSpec) -> None:
    """Puts a map into the controls."""
    MAP_OWN.put(spec)
    MAP_FILLED.put(False)


def _fill(spec: MapSpec) -> None:
    """Fills the controls from a map, if it is not the one they were last filled from."""
    if MAP_FILLED.get() and session.widget_value(CHOSEN) is not None:
        return
    MAP_FILLED.put(True)
    for name, axis in (("x", spec.x), ("y", spec.y)):
        session.set_widget(f"map_{name}", axis.field)
        session.set_widget(f"map_{name}_values", ", ".join(map(_written, axis.values)))
    session.set_widget(CHOSEN, list(spec.arrangements))
    session.set_widget(SEEDS, spec.seeds)
    session.set_widget(TARGET, float(spec.target))
    usual = RunConfig.arranged("pre-norm", net=str(dict(spec.base).get("net", "mlp")))
    for name in BASE:
        session.set_widget(f"map_base_{name}", dict(spec.base).get(name, OWN if name in LEFT else getattr(usual, name)))
    MAP_MORE.put({name: value for name, value in spec.base if name not in BASE})


def _written(value: float) -> str:
    """A number that `_numbers` reads back exactly."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _axis(name: str, label: str) -> tuple[str, str]:
    chosen = st.selectbox(label, AXES, key=f"map_{name}", format_func=lambda one: knobs()[one][1].label)
    text = st.text_input(
        "Values",
        key=f"map_{name}_values",
        max_chars=MAX_AXIS,
        help="Numbers separated by commas; each is a column or a row of cells.",
    )
    return str(chosen), text


def _base(axes: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """The base's fields that are not an axis and not at their default or their arrangement's own, and further fields
    of a pasted map.
    """
    found: dict[str, Any] = dict(MAP_MORE.get())
    columns = st.columns(4)
    for at, name in enumerate(name for name in BASE if name not in axes):
        key = f"map_base_{name}"
        with columns[at % 4]:
            widget(name, session.widget_value(key), key=key, step=0.01, before=(OWN,) if name in LEFT else ())
        found[name] = session.widget_value(key)
    usual = RunConfig.arranged("pre-norm", net=str(found["net"]))  # an arrangement's defaults for this net
    return tuple(
        (name, value)
        for name, value in found.items()
        if value != (OWN if name in LEFT else RunConfig.net if name == "net" else getattr(usual, name))
    )


def _numbers(text: str) -> tuple[float, ...]:
    """The numbers in a text. ValueError names what is not a number."""
    found = []
    for part in text[:MAX_AXIS].replace(";", ",").replace(" ", ",").split(","):
        if not part:
            continue
        try:
            number = float(part)
        except ValueError:
            raise ValueError(f"{part[:20]!r} is not a number") from None
        found.append(int(number) if number.is_integer() else number)
    return tuple(found)
