"""The specification of a map as controls: two axes, arrangements,
the base configuration, seeds and target; or as pasted JSON.
"""

from typing import Any

import streamlit as st

from components.shell import address, session
from components.shell.link import help_of
from components.stage.view import sentence
from models.maps.spec import AXES, MOST_PANELS, MOST_SEEDS, TARGETS, Axis, MapSpec
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
BASE = ("net", "task", "depth", "width", "activation", "norm", "init", "optimizer", "lr", "batch", "warmup", "steps")
OWN = "of the arrangement"  # what a map leaves to its arrangements
LEFT = ("norm", "init")  # fields that may be left to them


def edited() -> MapSpec:
    """The specification in the controls; where they hold none, a sentence and the last that was whole."""
    _adopt()
    kept = session.MAP_OWN.get() or FIRST
    _fill(kept)
    left, right = st.columns(2)
    with left:
        x = _axis("x", "Axis to the right")
    with right:
        y = _axis("y", "Axis upwards")
    names = st.multiselect(
        "Arrangements",
        list(ARRANGEMENTS),
        key=CHOSEN,
        max_selections=MOST_PANELS,
        help=f"One panel each, up to {MOST_PANELS}.",
    )
    with st.expander("The net, its task and its training"):
        base = _base((x[0], y[0]))
        seeds, target = st.columns(2)
        count = seeds.number_input("Seeds", 1, MOST_SEEDS, key=SEEDS, help="Runs of every cell, trained as one.")
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
        st.error(f"{problem}. What is shown below is still the last map that was whole.")
        spec = kept
    session.MAP_OWN.put(spec)
    address.stage({KEY: None if spec == FIRST else spec.to_json(compact=True)})
    return spec


def pasted() -> None:
    """A box for a specification as JSON."""
    with st.popover("Paste a specification", icon=":material/content_paste:"):
        text = st.text_area("Specification (JSON)", key="map_paste", height=200)
        if st.button("Use it", key="map_use"):
            try:
                spec = MapSpec.from_json(text)
            except ValueError as problem:
                st.error(f"{_quoted(problem)} The map is as it was.")
                return
            put(spec)
            st.rerun()


def _adopt() -> None:
    """Takes over the specification of the address. One that cannot be read gets a sentence, and the first one."""
    text = st.query_params.get(KEY)
    if not address.taken(KEY) or not session.MAP_OWN.there:
        session.MAP_REFUSED.put("")
        try:
            put(FIRST if text is None else MapSpec.from_json(text))
        except ValueError as problem:
            put(FIRST)
            session.MAP_REFUSED.put(_quoted(problem))
    if session.MAP_REFUSED.get() and session.MAP_OWN.get() == FIRST:
        st.info(f"The map of the link was not taken. {session.MAP_REFUSED.get()}")


def _quoted(problem: ValueError) -> str:
    """What is wrong with a specification, as Markdown: it repeats words of whoever wrote it."""
    return literal(sentence(str(problem)[:300]))


def put(spec: MapSpec) -> None:
    """Makes a specification the one in the controls."""
    session.MAP_OWN.put(spec)
    session.MAP_FILLED.put(False)


def _fill(spec: MapSpec) -> None:
    """The controls from a specification, when it is another than the one they were last filled from or have gone."""
    if session.MAP_FILLED.get() and session.held(CHOSEN) is not None:
        return
    session.MAP_FILLED.put(True)
    for name, axis in (("x", spec.x), ("y", spec.y)):
        session.hold(f"map_{name}", axis.field)
        session.hold(f"map_{name}_values", ", ".join(map(_written, axis.values)))
    session.hold(CHOSEN, list(spec.arrangements))
    session.hold(SEEDS, spec.seeds)
    session.hold(TARGET, float(spec.target))
    usual = RunConfig.arranged("pre-norm", net=str(dict(spec.base).get("net", "mlp")))
    for name in BASE:
        session.hold(f"map_base_{name}", dict(spec.base).get(name, OWN if name in LEFT else getattr(usual, name)))
    session.MAP_MORE.put({name: value for name, value in spec.base if name not in BASE})


def _written(value: float) -> str:
    """A number as `_numbers` reads it, with as many digits as it has."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _axis(name: str, label: str) -> tuple[str, str]:
    chosen = st.selectbox(label, AXES, key=f"map_{name}", format_func=lambda one: knobs()[one][1].label)
    text = st.text_input(
        "Values", key=f"map_{name}_values", help="Numbers, apart by commas; each a column or a row of cells."
    )
    return str(chosen), text


def _base(axes: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """The fields of the base that are no axis, as far as they differ from the
    defaults or from the arrangements' own; and what a pasted one had besides.
    """
    found: dict[str, Any] = dict(session.MAP_MORE.get())
    columns = st.columns(4)
    for at, name in enumerate(name for name in BASE if name not in axes):
        kinds, knob = knobs()[name]
        key, tip = f"map_base_{name}", help_of(name)
        with columns[at % 4]:
            if knob.choices is not None:
                words = [*([OWN] if name in LEFT else []), *knob.choices]
                value: Any = st.selectbox(knob.label, words, key=key, help=tip)
            elif kinds == (int,):
                value = int(
                    st.number_input(knob.label, int(knob.low), int(knob.high), step=int(knob.step), key=key, help=tip)
                )
            else:
                value = float(
                    st.number_input(knob.label, float(knob.low), float(knob.high), format="%g", key=key, help=tip)
                )
        found[name] = value
    usual = RunConfig.arranged("pre-norm", net=str(found["net"]))  # what an arrangement brings along with this net
    return tuple(
        (name, value)
        for name, value in found.items()
        if value != (OWN if name in LEFT else RunConfig.net if name == "net" else getattr(usual, name))
    )


def _numbers(text: str) -> tuple[float, ...]:
    """The numbers of a text; ValueError with what is none."""
    found = []
    for part in text[:500].replace(";", ",").replace(" ", ",").split(","):
        if not part:
            continue
        try:
            number = float(part)
        except ValueError:
            raise ValueError(f"{part[:20]!r} is not a number") from None
        found.append(int(number) if number.is_integer() else number)
    return tuple(found)
