"""The controls of a configuration, one widget per field."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.controls.field import parsed, widget
from components.player.view import as_sentence
from components.shell import address, session
from components.shell.address import put, reapply_widgets
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.link import field_help, with_glossary_link
from components.shell.naming import ARRANGEMENT_FIELDS
from components.shell.session import Key
from components.shell.sources import with_links
from models.insight.theory import keeping_gain
from models.lessons.glossary import ARRANGEMENT
from models.spec import ARRANGEMENTS, NET_DEFAULTS, TASKS, RunConfig, arrangement_of, knobs
from models.spec.arrangements import architecture_fields
from models.spec.knob import Knob
from models.spec.overrides import Override

CUSTOM = "custom"
SEVERAL = "several"  # what the menu of arrangements is called where the columns of a comparison differ
# What a change of the net sets: a scene in which that net has something to show within seconds.
SCENES: dict[str, dict[str, object]] = {
    "mlp": {"task": "digits", "depth": 32, "batch": 64},
    "transformer": {"task": "book", "depth": 8, "batch": 32},
}
# The fields that a change of the net also sets: if one of them is hidden, so is the net's control.
SCENERY = {name for net in SCENES for name in NET_DEFAULTS[net] | SCENES[net]}
MENU = "arrangement"
MADE: Key[str] = Key("arrangement_made", CUSTOM)  # the name of what the controls make
FOLDED = ("network", "training", "expert")  # groups of controls
DRAWN_ON = Key("controls_drawn_on", "")  # the page
UNFOLDED: Key[set[str]] = Key("groups_unfolded", set())  # those that this visit has opened, on whichever page


def draw(
    differ: Mapping[str, str] | None = None, arrange: Callable[[], None] | None = None
) -> tuple[RunConfig | None, str]:
    """Draws all controls; returns their configuration, or None and a sentence on what is not legal.

    `differ`: the values of fields in which several configurations differ, which stand in place of their controls;
    `arrange`: what happens when an arrangement is chosen in the menu, in place of setting the controls.
    """
    differ = differ or {}
    _fields(st.container(), ("depth", "residual", "placement", "norm"), differ)
    menu = st.container()
    _fields(st.container(), ("net", "task"), differ)
    arrived = DRAWN_ON.get() != address.CURRENT_PAGE.get()
    DRAWN_ON.put(address.CURRENT_PAGE.get())
    rest = {group: [name for name, (_, knob) in knobs().items() if knob.group == group] for group in FOLDED[1:]}
    for group, names in {FOLDED[0]: ["width", "activation", "init"], **rest}.items():
        if all(is_hidden(name) for name in names):
            continue
        key = f"open_{group}"
        if arrived or not session.has_value(key):
            session.set_widget(key, group in UNFOLDED.get())
        with st.expander(group.capitalize(), key=key, on_change="rerun") as folded:
            if folded.open:
                _fields(st.container(), names, differ)
        UNFOLDED.put(UNFOLDED.get() - {group} | ({group} if folded.open else set()))
    cfg, problem = assemble()
    shown = arranges(ARRANGEMENT_FIELDS)
    MADE.put((arrangement_of(cfg) if cfg and shown else None) or CUSTOM)
    if shown:
        with menu:
            several = not differ.keys().isdisjoint(ARRANGEMENT_FIELDS)
            _arrangement_menu(SEVERAL if several else MADE.get(), arrange or _arrange)
    return cfg, problem


def arranges(fields: Iterable[str]) -> bool:
    """Whether a picker that sets these fields at once may be shown: no link hides pickers or any of the fields."""
    return not is_hidden("arrangement") and not any_hidden(fields)


def excepted(overrides: Iterable[Override]) -> set[str]:
    """The fields that the exceptions of single blocks set, and that removing them would therefore change."""
    return {"overrides", *(key for _, key, _ in overrides)}


def assemble() -> tuple[RunConfig | None, str]:
    """The configuration in the widgets' state, or None and why it is not legal."""
    try:
        return RunConfig(**values()), ""
    except ValueError as error:
        return None, as_sentence(str(error))


def values() -> dict[str, Any]:
    """The fields as the widgets hold them, whether or not their combination is legal."""
    return {name: parsed(name, session.field(name, getattr(RunConfig, name))) for name in knobs()}


def _fields(place: DeltaGenerator, names: Iterable[str], differ: Mapping[str, str]) -> None:
    net = str(session.field("net", "mlp"))
    with place:
        for name in names:
            _, knob = knobs()[name]
            if is_hidden(name) or (name == "net" and any_hidden(SCENERY)):
                continue
            if name in differ:
                st.caption(f"{knob.label}: {differ[name]}")
            elif net in knob.nets and name != "overrides":
                _field(name, knob)
            elif name == "overrides" and (exceptions := session.field("overrides")):
                st.caption(f"Exceptions for single blocks: {len(exceptions)}")
                if not any_hidden(excepted(exceptions)):
                    st.button("Remove the exceptions", on_click=put, args=({"overrides": ()},))


def _field(name: str, knob: Knob) -> None:
    """Draws the widget of a field under the field's name; its state survives not being drawn."""
    more: dict[str, Any] = {"persist_state": "session", "disabled": _idle(name)}
    if name == "task":
        more["help"] = f"{as_sentence(TASKS[str(session.field('task'))].reading)} {field_help(name)}"
    if name in FOLLOWED:
        more["on_change"] = FOLLOWED[name]
    widget(name, session.field(name, 1.0), key=name, control=knob.control, **more)
    if name == "init_gain" and (cfg := assemble()[0]) and (gain := keeping_gain(cfg)):
        st.button(
            f"Keep the mean square: {gain:.4g}", key="keep_gain", on_click=put, args=({name: float(f"{gain:.4g}")},)
        )


def _idle(name: str) -> bool:
    """Whether a control has no effect at the moment."""
    return (name in {"skip_scale", "skip_repeats"} and not session.field("residual", True)) or (
        name in {"placement", "eps", "affine"} and session.field("norm") == "none"
    )


def _follow_net() -> None:
    """Sets the scene of a new net: a task, a depth and an optimiser that suit it."""
    reapply_widgets()
    net = str(session.field("net"))
    put(NET_DEFAULTS[net] | SCENES[net])
    _follow_depth()


def _follow_depth() -> None:
    """Makes the exceptions of a mixed arrangement for the new depth; else drops those of blocks that are gone."""
    arrangement, depth = MADE.get(), int(session.field("depth"))
    if arrangement in ARRANGEMENTS and ARRANGEMENTS[arrangement].mixed:
        put({"overrides": architecture_fields(arrangement, depth)["overrides"]})
    else:
        put({"overrides": tuple(one for one in session.field("overrides", ()) if one[0] <= depth)})


FOLLOWED = {"net": _follow_net, "depth": _follow_depth}  # what a change of a field also sets


def _arrangement_menu(made: str, arrange: Callable[[], None]) -> None:
    """Draws the menu of arrangements, last of all: it is called by the name of what the other controls make."""
    own = ARRANGEMENTS.get(made)
    unnamed = "The columns differ." if made == SEVERAL else "What is set has no name."
    read = f"{own.reading} ({with_links(own.source)})" if own else unnamed
    tip = f"{read} An arrangement of the menu sets residual, placement, norm, scales and initialisation at once."
    st.menu_button(
        f"Arrangement: {made}",
        list(ARRANGEMENTS),
        key=MENU,
        on_click=arrange,
        help=with_glossary_link(tip, ARRANGEMENT),
        width="stretch",
    )


def _arrange() -> None:
    reapply_widgets()
    put(architecture_fields(str(session.widget_value(MENU)), int(session.field("depth"))))
