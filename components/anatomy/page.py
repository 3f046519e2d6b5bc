"""One block as equation, diagram and code of the same plan, and the effect of changing it."""

from dataclasses import dataclass, replace
from typing import Annotated

import streamlit as st

from addnorm.player.declare import Chart
from components.anatomy.stack_row import stack_row
from components.charts import figures
from components.charts.diagram import show_diagram
from components.controls import form
from components.controls.panel import exception_fields
from components.player.page import player
from components.player.panels import sample_paths_panel
from components.player.view import failure_sentence, view_at
from components.shell import session
from components.shell.address import put, reapply_widgets
from components.shell.hidden_parts import any_hidden, is_hidden
from models.spec import ACTIVATIONS, ARRANGEMENTS, RunConfig, arrangement_of, plan
from models.spec.code import block_code, block_parts
from models.spec.equation import equation
from models.spec.knob import Knob
from models.spec.overrides import PARTS, describe_overrides, set_override
from models.spec.settings import Settings

PATHS_HEIGHT = 190  # pixels
# By title of the chart: the track it shows, and the key of its sentence.
PROFILES = {"Signal by depth": ("act_rms", "activation"), "Gradient by depth": ("grad_rms", "gradient")}


@dataclass(frozen=True)
class ChosenBlock(Settings):
    """The selected block."""

    block: Annotated[int, Knob("Block", low=1, high=128, width=130)] = 1


def draw_views(cfg: RunConfig, block: int) -> None:
    """Draws diagram, equation and PyTorch code of a block, all from one plan; nothing where a link hides theory."""
    if is_hidden("theory"):
        return  # the code would give the equation away
    show_diagram(cfg, block)
    left, right = st.columns(2) if cfg.net == "mlp" else (st.container(), st.container())
    with left:
        st.markdown("**Equation**")
        st.latex(equation(cfg, block))
    with right:
        st.markdown("**The same in PyTorch**")
        st.code(f"{block_parts(cfg, block)}\n\n{block_code(cfg, block)}".strip(), language="python", wrap_lines=True)


def draw_block_controls(cfg: RunConfig) -> int:
    """Draws the stack as a row, and switches for the selected block. Returns the block's number."""
    middle = ChosenBlock((cfg.depth + 1) // 2)
    legal = {"block": range(1, cfg.depth + 1)}
    block = form.keep(ChosenBlock, "anatomy", middle, legal=legal).block
    stack_row(cfg, key="stack_row", chosen_key="anatomy_block")
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    form.draw(ChosenBlock, "anatomy", middle, legal=legal, is_kept=True, places=[controls])
    with controls:
        sublayer = plan(cfg).active_sublayers(block)[0]
        overrides = {key: value for number, key, value in cfg.overrides if number == block}
        is_out = overrides.get("identity") is True
        residual = bool(overrides.get("residual", cfg.residual))
        _draw_switch("Residual in this block", block, "residual", is_on=residual, default=cfg.residual, disabled=is_out)
        has_norm = overrides.get("norm", cfg.norm) != "none"
        no_norm = is_out or cfg.norm == "none"
        _draw_switch(
            "Norm in this block",
            block,
            "norm",
            is_on=has_norm,
            default=cfg.norm != "none",
            off="none",
            disabled=no_norm,
        )
        _draw_activation(block, str(overrides.get("activation", cfg.activation)), cfg.activation, disabled=is_out)
        if cfg.net == "transformer":
            _draw_removal(block, overrides.get("identity", False))
        else:
            _draw_switch("Take this block out", block, "identity", is_on=sublayer.identity, default=False)
        if cfg.overrides and not any_hidden(exception_fields(cfg.overrides)):
            st.button("Restore all blocks", on_click=put, args=({"overrides": ()},), key="anatomy_back")
    return block


def draw_player(cfg: RunConfig) -> bool:
    """Draws a player with sample paths, loss, signal and gradient, the last two beside those of the unchanged stack.

    Returns whether the net is still being measured.
    """
    _, is_waiting = view_at(cfg)
    refusal = failure_sentence(cfg) if is_waiting else ""
    if refusal:
        st.error(refusal)
    unchanged = [replace(cfg, overrides=())] if cfg.overrides else []
    beside = [("no block changed", "previous") for _ in unchanged]
    panels = [sample_paths_panel(PATHS_HEIGHT, 4), Chart("Loss", span=8, figure=figures.loss(cfg))]
    for title, (track, sentence) in PROFILES.items():
        figure = figures.profile(title, track, plan(cfg).sites, beside=beside)
        panels.append(Chart(title, span=6, figure=figure, sentence="" if is_hidden("verdict") else sentence))
    player("anatomy", [cfg], panels, beside=unchanged, facts=[f"seed {cfg.seed}, 1 seed"])
    return is_waiting and not refusal


def draw_history(cfg: RunConfig) -> None:
    """Draws the paper of the arrangement and the models that use it; nothing where a link hides theory."""
    if is_hidden("theory"):
        return
    exact_name = arrangement_of(cfg)  # with overrides, because Mix-LN consists of them
    name = exact_name or arrangement_of(replace(cfg, overrides=()))
    if name is None:
        st.markdown("No paper names this arrangement.")
        return
    arrangement = ARRANGEMENTS[name]
    text = f"**{name}**. {arrangement.description}"
    if not exact_name:
        unchanged = cfg.depth > len({block for block, _, _ in cfg.overrides})
        others = f" Every other block: {arrangement.description}" if unchanged else ""
        text = f"**{name}**, except {describe_overrides(cfg.overrides)}.{others}"
    st.markdown(f"{text}\n\nPaper: {arrangement.source}. Used by: {arrangement.used_by}")


def _draw_removal(block: int, identity: str | bool) -> None:
    """Draws the choice of the part that a transformer block lacks; nothing where a link hides it.

    `identity` is the present choice: the kind of a sublayer, True for the block, False for nothing.
    """
    if any_hidden(("overrides", "identity")):
        return
    key = "anatomy_taken_out"
    values = {"nothing": None, **{word: kind for kind, word in PARTS.items()}, "the block": True}
    chosen = next((word for word, value in values.items() if value == identity), "nothing")
    put({key: chosen})

    def change() -> None:
        _override(block, "identity", values[session.widget_value(key)])

    st.segmented_control(
        "Taken out",
        list(values),
        key=key,
        on_change=change,
        required=True,
    )


def _draw_activation(block: int, activation: str, default: str, *, disabled: bool) -> None:
    """Draws the choice of a block's activation; nothing where a link hides it. `default` is the net's activation."""
    if any_hidden(("overrides", "activation")):
        return
    key = "anatomy_activation"
    put({key: activation})

    def change() -> None:
        chosen = str(session.widget_value(key))
        _override(block, "activation", None if chosen == default else chosen)

    st.selectbox("Activation in this block", ACTIVATIONS, key=key, on_change=change, disabled=disabled, width=190)


def _draw_switch(
    label: str,
    block: int,
    name: str,
    *,
    is_on: bool,
    default: bool,
    off: str | bool = False,
    disabled: bool = False,
) -> None:
    """Draws a switch of one field of one block; nothing where a link hides the field.

    `default` is the state without an override, and `off` the field's value when switched off.
    """
    if any_hidden(("overrides", name)):
        return
    key = f"anatomy_{name}"
    put({key: is_on})

    def change() -> None:
        switched_on = bool(session.widget_value(key))
        _override(block, name, None if switched_on == default else switched_on or off)

    st.toggle(label, key=key, on_change=change, disabled=disabled)


def _override(block: int, name: str, value: str | bool | None) -> None:
    """Overrides a field in one block; None removes the override."""
    reapply_widgets()
    put({"overrides": set_override(session.field("overrides"), block, name, value)})
