"""The controls of a configuration, one widget a field."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.controls import task_pictures
from components.controls.field import draw_widget, parse_value
from components.player.view import as_sentence
from components.shell import address, session
from components.shell.address import put, reapply_widgets
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.link import field_help, with_glossary_link
from components.shell.naming import ARRANGEMENT_FIELDS
from components.shell.session import Key
from components.shell.sources import with_links
from models.insight.theory import preserving_init_gain
from models.lessons.glossary import ARRANGEMENT
from models.spec import ARRANGEMENTS, NET_DEFAULTS, TASKS, RunConfig, arrangement_of, knobs
from models.spec.arrangements import architecture_fields, overrides_at_depth
from models.spec.knob import Knob
from models.spec.overrides import Override
from models.spec.vocabulary import MANY_STREAMS

CUSTOM = "custom"  # title of the menu for settings that no arrangement has
SEVERAL = "several"  # title of the menu of arrangements if the columns of a comparison differ
# Fields that a change of the net sets, so that the net shows something within seconds.
SCENES: dict[str, dict[str, object]] = {
    "mlp": {"task": "digits", "depth": 32, "batch": 64},
    "transformer": {"task": "book", "depth": 8, "batch": 32},
}
# All these fields: if one of them is hidden, so is the net's control.
SCENE_FIELDS = {name for net in SCENES for name in NET_DEFAULTS[net] | SCENES[net]}
MENU = "arrangement"
CURRENT_ARRANGEMENT: Key[str] = Key("arrangement_made", CUSTOM)  # the name of the controls' arrangement
FOLDED_GROUPS = ("network", "training", "expert")  # groups of controls in expanders
LAST_PAGE = Key("controls_drawn_on", "")  # the page on which the controls were last drawn
UNFOLDED: Key[set[str]] = Key("groups_unfolded", set())  # groups that this visit has opened, on any page


def draw(
    differing_texts: Mapping[str, str] | None = None, on_arrange: Callable[[], None] | None = None
) -> tuple[RunConfig | None, str]:
    """Draws all controls; returns their configuration, or None and a sentence on why it is illegal.

    `differing_texts`: by field in which several configurations differ, the text shown instead of its control.
    `on_arrange`: callback of the menu of arrangements; without it, the menu sets the controls.
    """
    differing_texts = differing_texts or {}
    _unfold_linked_setting()
    has_menu = shows_arrangements(ARRANGEMENT_FIELDS)
    # The menu stands for the placement, which would repeat its word; columns that differ share no arrangement.
    folds_placement = has_menu and "placement" not in differing_texts
    _draw_fields(st.container(), ("depth", "residual"), differing_texts)
    menu = st.container()
    _draw_fields(st.container(), ("norm",) if folds_placement else ("placement", "norm"), differing_texts)
    _draw_fields(st.container(), ("net", "task"), differing_texts)
    _draw_folded_groups(differing_texts, {"placement"} if folds_placement else set())
    cfg, problem = assemble()
    arrangement = arrangement_of(cfg) if cfg and has_menu else None
    CURRENT_ARRANGEMENT.put(arrangement or CUSTOM)
    if has_menu:
        with menu:
            columns_differ = not differing_texts.keys().isdisjoint(ARRANGEMENT_FIELDS)
            _draw_arrangement_menu(SEVERAL if columns_differ else CURRENT_ARRANGEMENT.get(), on_arrange or _arrange)
    return cfg, problem


def _unfold_linked_setting() -> None:
    """Unfolds the group of the control that the address names, to which `parts.js` scrolls."""
    with address.adopting("setting") as is_new:
        _, knob = knobs().get(st.query_params.get("setting", ""), ((), None))
        if is_new and knob is not None and knob.group in FOLDED_GROUPS:
            UNFOLDED.put(UNFOLDED.get() | {knob.group})
            session.set_widget(f"open_{knob.group}", True)


def _draw_folded_groups(differing_texts: Mapping[str, str], finer: set[str]) -> None:
    """Draws the expanders, open as the visitor left them on any page; `finer` fields stand first in that of the net."""
    is_new_page = LAST_PAGE.get() != address.CURRENT_PAGE.get()
    LAST_PAGE.put(address.CURRENT_PAGE.get())
    groups = {group: [name for name, (_, knob) in knobs().items() if knob.group == group] for group in FOLDED_GROUPS}
    groups["network"] = [*finer, "width", "activation", "init"]
    for group, names in groups.items():
        if all(is_hidden(name) for name in names):
            continue
        key = f"open_{group}"
        if is_new_page or not session.has_value(key):
            session.set_widget(key, group in UNFOLDED.get())
        with st.expander(group.capitalize(), key=key, on_change="rerun") as expander:
            if expander.open:
                _draw_fields(st.container(), names, differing_texts)
        UNFOLDED.put(UNFOLDED.get() - {group} | ({group} if expander.open else set()))


def shows_arrangements(fields: Iterable[str]) -> bool:
    """Whether a picker that sets these fields at once may be shown: no link hides pickers or any of the fields."""
    return not is_hidden("arrangement") and not any_hidden(fields)


def exception_fields(overrides: Iterable[Override]) -> set[str]:
    """The fields that change when the exceptions of single blocks are removed."""
    return {"overrides", *(key for _, key, _ in overrides)}


def assemble() -> tuple[RunConfig | None, str]:
    """The configuration in the widgets' state, or None and a sentence on why it is illegal."""
    try:
        return RunConfig(**values()), ""
    except ValueError as error:
        return None, as_sentence(str(error))


def values() -> dict[str, Any]:
    """The fields as the widgets have them, whether or not their combination is legal."""
    return {name: _value(name) for name in knobs()}


def _value(name: str) -> Any:
    return parse_value(name, session.field(name, getattr(RunConfig, name)))


def _draw_fields(container: DeltaGenerator, names: Iterable[str], differing_texts: Mapping[str, str]) -> None:
    net = _value("net")
    with container:
        for name in names:
            _, knob = knobs()[name]
            if is_hidden(name) or (name == "net" and any_hidden(SCENE_FIELDS)):
                continue
            if name in differing_texts:
                st.caption(f"{knob.label}: {differing_texts[name]}")
            elif net in knob.nets and name != "overrides":
                _draw_field(name, knob)
            elif name == "overrides":
                _draw_exceptions(session.field("overrides"))


def _draw_exceptions(exceptions: Sequence[Override]) -> None:
    """Draws the number of exceptions for single blocks, if there are any, and a button that removes them."""
    if not exceptions:
        return
    st.caption(f"Exceptions for single blocks: {len(exceptions)}")
    if not any_hidden(exception_fields(exceptions)):
        st.button("Remove the exceptions", on_click=put, args=({"overrides": ()},))


def _draw_field(name: str, knob: Knob) -> None:
    """Draws the widget of a field under the field's name; its state survives while it is not drawn."""
    options: dict[str, Any] = {"persist_state": "session", "disabled": _has_no_effect(name)}
    control = knob.control
    if name == "task":
        control, options = "pills", options | {"format_func": task_pictures.labels().get, "width": "stretch"}
        options["help"] = f"{as_sentence(TASKS[_value(name)].description)} {field_help(name)}"
    if name in ON_CHANGE:
        options["on_change"] = ON_CHANGE[name]
    draw_widget(name, session.field(name, 1.0), key=name, control=control, **options)
    if name == "init_gain":
        _draw_preserving_gain()


def _draw_preserving_gain() -> None:
    """Draws a button for the gain that preserves the mean square, if the configuration is legal and has one."""
    cfg, _ = assemble()
    gain = None if cfg is None else preserving_init_gain(cfg)
    if gain:
        change = {"init_gain": float(f"{gain:.4g}")}
        st.button(f"Keep the signal level: {gain:.4g}", key="keep_gain", on_click=put, args=(change,))


def _has_no_effect(name: str) -> bool:
    if name in {"skip_scale", "skip_repeats"}:
        return not session.field("residual", True)
    if name in {"streams", "mixing_noise"}:
        return session.field("stack") not in MANY_STREAMS
    if name == "depth_block":
        return session.field("stack") != "attention residuals"
    if name == "sinkhorn":
        return session.field("stack") != "mHC"
    return name in {"placement", "eps", "affine"} and session.field("norm") == "none"


def _adapt_to_net() -> None:
    """Sets a task, a depth and an optimiser that suit the new net."""
    reapply_widgets()
    net = _value("net")
    put(NET_DEFAULTS[net] | SCENES[net])
    _adapt_to_depth()


def _adapt_to_depth() -> None:
    """Sets the exceptions of a mixed arrangement for the new depth; otherwise drops those of removed blocks."""
    overrides, depth = session.field("overrides", ()), int(session.field("depth"))
    put({"overrides": overrides_at_depth(CURRENT_ARRANGEMENT.get(), overrides, depth)})


ON_CHANGE = {"net": _adapt_to_net, "depth": _adapt_to_depth}  # callbacks that set further fields


def _draw_arrangement_menu(name: str, on_arrange: Callable[[], None]) -> None:
    """Draws the menu of arrangements, labelled with the name of the controls' arrangement."""
    arrangement = ARRANGEMENTS.get(name)
    if arrangement:
        description = f"{arrangement.description} ({with_links(arrangement.source)})"
    else:
        description = "The columns differ." if name == SEVERAL else "These settings have no name."
    tip = f"{description} An arrangement of the menu sets residual, placement, norm, scales and initialisation at once."
    st.menu_button(
        f"Arrangement: {name}",
        list(ARRANGEMENTS),
        key=MENU,
        on_click=on_arrange,
        help=with_glossary_link(tip, ARRANGEMENT),
        width="stretch",
    )


def _arrange() -> None:
    reapply_widgets()
    put(architecture_fields(str(session.widget_value(MENU)), int(session.field("depth"))))
