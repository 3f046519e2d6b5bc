"""The specification of a map, in controls or as pasted JSON: axes, arrangements, base fields, seeds and target."""

from typing import Any

import streamlit as st

from components.controls.field import draw_widget
from components.player.view import as_sentence
from components.shell import address, session
from components.shell.session import Key
from models.maps.spec import AXES, MAX_PANELS, MAX_SEEDS_OF_MAP, MAX_SPEC_CHARS, TARGET_BOUNDS, Axis, MapSpec
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.query import escape_markdown

KEY = "spec"  # in the address
# Keys of widgets.
CHOSEN = "map_arrangements"
SEEDS = "map_seeds"
TARGET = "map_target"
FIRST = MapSpec(
    Axis("lr", (0.003, 0.01, 0.03, 0.1)),
    Axis("depth", (8, 16, 32)),
    ("post-norm", "pre-norm"),
    (("batch", 32), ("steps", 100), ("width", 32)),
)
# Base fields with a control.
BASE = (
    *("net", "task", "depth", "width", "activation", "norm", "init"),
    *("optimizer", "parametrization", "lr", "batch", "warmup", "steps"),
)
MAX_AXIS_CHARS = 1000  # room for the longest numbers
OF_ARRANGEMENT = "of the arrangement"  # value of a base field that each arrangement sets
ARRANGED_FIELDS = ("norm", "init")  # base fields that can be left to the arrangement

MAP_OWN: Key[MapSpec | None] = Key("map_own", None)  # the last legal specification
MAP_FILLED = Key("map_filled", False)  # whether it has been put into the controls
MAP_MORE: Key[dict[str, Any]] = Key("map_more", {})  # fields of its base without a control
MAP_REFUSED = Key("map_refused", "")  # the fault of the specification in the address


def draw_controls() -> MapSpec:
    """Draws the controls. Returns their map; if it is illegal, draws an error and returns the last one."""
    _adopt()
    last_spec = MAP_OWN.get() or FIRST
    _fill(last_spec)
    left, right = st.columns(2)
    with left:
        x_field, x_values = _draw_axis("x", "Horizontal axis")
    with right:
        y_field, y_values = _draw_axis("y", "Vertical axis")
    names = st.multiselect(
        "Arrangements",
        list(ARRANGEMENTS),
        key=CHOSEN,
        max_selections=MAX_PANELS,
        help=f"One panel each, up to {MAX_PANELS}.",
    )
    with st.expander("The net, its task and its training"):
        base = _draw_base((x_field, y_field))
        left, right = st.columns(2)
        seeds = left.number_input("Seeds", 1, MAX_SEEDS_OF_MAP, key=SEEDS, help="Runs per cell, trained together.")
        target = right.number_input(
            "Target loss",
            *TARGET_BOUNDS,
            step=0.05,
            format="%g",
            key=TARGET,
            help="For steps to target, and for sensitivity.",
        )
    try:
        x, y = Axis(x_field, _numbers(x_values)), Axis(y_field, _numbers(y_values))
        spec = MapSpec(x, y, tuple(names), base, int(seeds), float(target))
    except ValueError as problem:
        st.error(f"{problem}. The map below uses the last valid values.")
        spec = last_spec
    MAP_OWN.put(spec)
    address.collect_changes({KEY: None if spec == FIRST else spec.to_json(compact=True)})
    return spec


def draw_paste_box() -> None:
    """Draws a box to paste a map's JSON into."""
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
    """Adopts the map in the address; replaces one that cannot be read by FIRST, with a note."""
    text = st.query_params.get(KEY)
    with address.adopting(KEY) as is_new:
        if is_new or not MAP_OWN.is_set:
            MAP_REFUSED.put("")
            try:
                put(FIRST if text is None else MapSpec.from_json(text))
            except ValueError as problem:
                put(FIRST)
                MAP_REFUSED.put(_quoted(problem))
    if MAP_REFUSED.get() and MAP_OWN.get() == FIRST:
        st.info(f"The link's map could not be used. {MAP_REFUSED.get()}")


def _quoted(problem: ValueError) -> str:
    """The fault of a map as a sentence, escaped for Markdown because it may quote the map."""
    return escape_markdown(as_sentence(str(problem)[:300]))


def put(spec: MapSpec) -> None:
    """Puts a map into the controls, at their next run."""
    MAP_OWN.put(spec)
    MAP_FILLED.put(False)


def _fill(spec: MapSpec) -> None:
    """Fills the controls from a map, unless they have it already."""
    if MAP_FILLED.get() and session.widget_value(CHOSEN) is not None:
        return
    MAP_FILLED.put(True)
    filled: dict[str, Any] = {CHOSEN: list(spec.arrangements), SEEDS: spec.seeds, TARGET: float(spec.target)}
    for name, axis in (("x", spec.x), ("y", spec.y)):
        filled |= {f"map_{name}": axis.field, f"map_{name}_values": ", ".join(map(_exact_text, axis.values))}
    arranged = RunConfig.arranged("pre-norm", net=str(dict(spec.base).get("net", "mlp")))
    for name in BASE:
        default = OF_ARRANGEMENT if name in ARRANGED_FIELDS else getattr(arranged, name)
        filled[f"map_base_{name}"] = dict(spec.base).get(name, default)
    address.put(filled)
    MAP_MORE.put({name: value for name, value in spec.base if name not in BASE})


def _exact_text(value: float) -> str:
    """A number as text that `_numbers` reads back exactly."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _draw_axis(name: str, label: str) -> tuple[str, str]:
    """Draws the field and the values of an axis. Returns both."""
    field = st.selectbox(label, AXES, key=f"map_{name}", format_func=lambda axis: knobs()[axis][1].label)
    text = st.text_input(
        "Values",
        key=f"map_{name}_values",
        max_chars=MAX_AXIS_CHARS,
        help="Numbers separated by commas; each is a column or a row of cells.",
    )
    return str(field), text


def _draw_base(axes: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """Draws the base fields that are not an axis.

    Returns name and value of those that differ from their default, and of a pasted map's fields without a control.
    """
    fields: dict[str, Any] = dict(MAP_MORE.get())
    columns = st.columns(4)
    for index, name in enumerate(name for name in BASE if name not in axes):
        key = f"map_base_{name}"
        extra_choices = (OF_ARRANGEMENT,) if name in ARRANGED_FIELDS else ()
        with columns[index % 4]:
            draw_widget(name, session.widget_value(key), key=key, step=0.01, extra_choices=extra_choices)
        fields[name] = session.widget_value(key)
    arranged = RunConfig.arranged("pre-norm", net=str(fields["net"]))  # an arrangement's defaults for this net
    defaults = {name: getattr(arranged, name) for name in fields} | dict.fromkeys(ARRANGED_FIELDS, OF_ARRANGEMENT)
    defaults["net"] = RunConfig.net
    return tuple((name, value) for name, value in fields.items() if value != defaults[name])


def _numbers(text: str) -> tuple[float, ...]:
    """The numbers in a text. ValueError quotes the first part that is no number."""
    numbers = []
    for part in text[:MAX_AXIS_CHARS].replace(";", ",").replace(" ", ",").split(","):
        if not part:
            continue
        try:
            number = float(part)
        except ValueError:
            raise ValueError(f"{part[:20]!r} is not a number") from None
        numbers.append(int(number) if number.is_integer() else number)
    return tuple(numbers)
