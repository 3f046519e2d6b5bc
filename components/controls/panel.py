"""The controls, made from the fields of a configuration: label, help, bounds and choices stand there, once."""

from collections.abc import Iterable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell import session
from components.shell.address import put, put_again
from components.shell.hide import any_hidden, hidden
from components.shell.link import defined, help_of
from components.shell.naming import ARRANGED
from components.stage.view import sentence
from models.lessons.glossary import ARRANGEMENT
from models.spec import ARRANGEMENTS, NET_DEFAULTS, TASKS, RunConfig, arrangement_of, knobs
from models.spec.arrangements import architecture_fields
from models.spec.cautions import note
from models.spec.knob import Knob
from models.spec.overrides import Override

CUSTOM = "custom"
# What the page sets when the net is changed: a scene in which that net has something to show within seconds.
SCENES: dict[str, dict[str, object]] = {
    "mlp": {"task": "digits", "depth": 32, "batch": 64},
    "transformer": {"task": "book", "depth": 8, "batch": 32},
}
# What an arrangement and a net set besides themselves; where
# one of these is hidden, so is the control that would set it.
SCENERY = {name for net in SCENES for name in NET_DEFAULTS[net] | SCENES[net]}
PICKER = "arrangement"
COUNTED = {"depth", "width", "heads", "expansion", "layers_per_branch", "skip_repeats"}  # drawn as sliders


def draw() -> tuple[RunConfig | None, str]:
    """Draws all controls; the configuration they make, or None and the sentence that says what is not legal."""
    picker = st.container()
    _fields(st.container(), "net")
    _fields(st.container(), "depth", "width", "residual", "placement", "norm", "activation", "init")
    _fields(st.container(), "task")
    if not hidden("task"):
        st.caption(sentence(TASKS[str(session.field("task"))].reading))
    for group in ("training", "expert"):
        names = [name for name, (_, knob) in knobs().items() if knob.group == group]
        if all(hidden(name) for name in names):
            continue
        with st.expander(group.capitalize(), key=f"open_{group}", on_change="rerun") as folded:
            if folded.open:
                _fields(st.container(), *names)
    cfg, problem = assemble()
    if arranges(ARRANGED):
        with picker:
            _arrangement_picker(cfg)
    return cfg, problem


def arranges(fields: Iterable[str]) -> bool:
    """Whether something may be there that sets these fields at
    once: neither such pickers nor one of the fields is hidden.
    """
    return not hidden("arrangement") and not any_hidden(fields)


def excepted(overrides: Iterable[Override]) -> set[str]:
    """The fields that exceptions of single blocks set, and to which taking them back would set these blocks."""
    return {"overrides", *(key for _, key, _ in overrides)}


def assemble() -> tuple[RunConfig | None, str]:
    """The configuration in the state of the widgets, or None and why there is none."""
    try:
        return RunConfig(**values()), ""
    except ValueError as error:
        return None, sentence(str(error))


def values() -> dict[str, Any]:
    """The fields as the widgets hold them, legal together or not."""
    return {name: _read(name, kinds) for name, (kinds, _) in knobs().items()}


def warnings(cfg: RunConfig) -> list[str]:
    """What is legal and yet must be said."""
    said = note(cfg)
    return [said] if said else []


def _read(name: str, kinds: tuple[type, ...]) -> Any:
    """A field from its widget's state; a scale that was typed in is a number where it can be one."""
    value = session.field(name, getattr(RunConfig, name))
    if isinstance(value, str) and float in kinds:
        try:
            return float(value)
        except ValueError:
            return value
    return int(value) if kinds == (int,) and isinstance(value, float) and value.is_integer() else value


def _fields(place: DeltaGenerator, *names: str) -> None:
    net = str(session.field("net", "mlp"))
    with place:
        for name in names:
            kinds, knob = knobs()[name]
            if hidden(name) or (name == "net" and any_hidden(SCENERY)):
                continue
            if net in knob.nets and name != "overrides":
                _field(name, kinds, knob)
            elif name == "overrides" and (exceptions := session.field("overrides")):
                st.caption(f"Exceptions for single blocks: {len(exceptions)}")
                if not any_hidden(excepted(exceptions)):
                    st.button("Remove the exceptions", on_click=put, args=({"overrides": ()},))


def _field(name: str, kinds: tuple[type, ...], knob: Knob) -> None:
    """One widget; its key is the field's name, and its state survives not being drawn."""
    label = knob.label
    fixed: dict[str, Any] = {"key": name, "help": help_of(name), "persist_state": "session", "disabled": _idle(name)}
    if kinds == (bool,):
        st.toggle(label, **fixed)
    elif knob.rules is not None:
        st.selectbox(label, _scale_options(name, knob), accept_new_options=True, **fixed)
    elif name == "net":
        st.segmented_control(label, list(knob.choices or ()), required=True, on_change=_follow_net, **fixed)
    elif knob.choices is not None:
        st.selectbox(label, list(knob.choices), **fixed)
    elif name in COUNTED:
        st.slider(label, int(knob.low), int(knob.high), step=int(knob.step), on_change=_follow_depth(name), **fixed)
    elif kinds == (int,):
        st.number_input(label, int(knob.low), int(knob.high), step=int(knob.step), **fixed)
    else:
        st.number_input(label, float(knob.low), float(knob.high), step=0.001, format="%g", **fixed)


def _idle(name: str) -> bool:
    """Whether a control would change nothing now."""
    return (name in {"skip_scale", "skip_repeats"} and not session.field("residual", True)) or (
        name in {"placement", "eps", "affine"} and session.field("norm") == "none"
    )


def _scale_options(name: str, knob: Knob) -> list[float | str]:
    now = session.field(name, 1.0)
    plain: list[float | str] = [0.5, 1.0, 2.0, *(knob.rules or ())]
    return plain if now in plain else [now, *plain]


def _follow_net() -> None:
    """A new net brings its scene: a task, a depth and an optimiser that suit it."""
    put_again()
    net = str(session.field("net"))
    put(NET_DEFAULTS[net] | SCENES[net])
    _keep_mixed(str(session.held(PICKER, CUSTOM)))


def _follow_depth(name: str) -> Any:
    """A mixed arrangement's exceptions follow the depth."""
    return (lambda: _keep_mixed(str(session.held(PICKER, CUSTOM)))) if name == "depth" else None


def _keep_mixed(arrangement: str) -> None:
    if arrangement in ARRANGEMENTS and ARRANGEMENTS[arrangement].mixed:
        put({"overrides": architecture_fields(arrangement, int(session.field("depth")))["overrides"]})
    else:
        put({"overrides": tuple(o for o in session.field("overrides", ()) if o[0] <= int(session.field("depth")))})


def _arrangement_picker(cfg: RunConfig | None) -> None:
    """Drawn last into the place above: it shows which arrangement the other controls now make."""
    put({PICKER: (arrangement_of(cfg) if cfg else None) or CUSTOM})
    st.selectbox(
        "Arrangement",
        [*ARRANGEMENTS, CUSTOM],
        key=PICKER,
        on_change=_arrange,
        help=defined(_arrangement_help(), ARRANGEMENT),
    )


def _arrange() -> None:
    put_again()
    chosen = str(session.held(PICKER))
    if chosen != CUSTOM:
        put(architecture_fields(chosen, int(session.field("depth"))))


def _arrangement_help() -> str:
    name = str(session.held(PICKER))
    if name == CUSTOM:
        return "A named arrangement sets residual, placement, norm, scales and initialisation at once."
    return f"{ARRANGEMENTS[name].reading} ({ARRANGEMENTS[name].source})"
