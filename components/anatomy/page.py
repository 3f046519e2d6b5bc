"""One block as equation, diagram and code of the same plan, and what breaks when it is changed."""

from dataclasses import dataclass, replace
from typing import Annotated

import streamlit as st

from addnorm.player.declare import Chart
from components.anatomy.stack_row import stack_row
from components.charts import figures
from components.charts.depth import Series
from components.charts.diagram import show_diagram
from components.controls import form
from components.controls.panel import excepted
from components.player.page import player
from components.player.panels import sample_paths_panel
from components.player.profiles import row_profile
from components.player.view import failure_sentence, view_at
from components.shell import session
from components.shell.address import put, put_again
from components.shell.hide import any_hidden, hidden
from models.spec import ACTIVATIONS, ARRANGEMENTS, RunConfig, arrangement_of, plan
from models.spec.code import block_code, block_parts
from models.spec.equation import equation
from models.spec.knob import Knob
from models.spec.overrides import PARTS, in_words, with_override
from models.spec.settings import Settings

PATHS = 190  # pixels of the ten samples' picture
PROFILES = {"Signal by depth": ("act_rms", "activation"), "Gradient by depth": ("grad_rms", "gradient")}


@dataclass(frozen=True)
class ChosenBlock(Settings):
    """The block that is looked at."""

    block: Annotated[int, Knob("Block", low=1, high=128, width=130)] = 1


def three_views(cfg: RunConfig, block: int) -> None:
    """Diagram, equation and PyTorch code of a block, all from one plan; nothing where theory is hidden."""
    if hidden("theory"):
        return  # the code would give the equation away
    show_diagram(cfg, block)
    left, right = st.columns(2) if cfg.net == "mlp" else (st.container(), st.container())
    with left:
        st.markdown("**Equation**")
        st.latex(equation(cfg, block))
    with right:
        st.markdown("**The same in PyTorch**")
        st.code(f"{block_parts(cfg, block)}\n\n{block_code(cfg, block)}".strip(), language="python", wrap_lines=True)


def one_block(cfg: RunConfig) -> int:
    """The stack as a row, and switches for the selected block. Returns its number."""
    usual, legal = ChosenBlock((cfg.depth + 1) // 2), {"block": range(1, cfg.depth + 1)}
    block = form.keep(ChosenBlock, "anatomy", usual, legal=legal).block
    stack_row(cfg, key="stack_row", chosen_key="anatomy_block")
    line = st.container(horizontal=True, vertical_alignment="bottom")
    form.draw(ChosenBlock, "anatomy", usual, legal=legal, kept=True, places=[line])
    with line:
        sublayer = plan(cfg).left_of_block(block)[0]
        own = {key: value for at, key, value in cfg.overrides if at == block}
        norm, out = own.get("norm", cfg.norm) != "none", own.get("identity") is True
        residual = bool(own.get("residual", cfg.residual))
        _switch("Residual in this block", block, "residual", residual, cfg.residual, disabled=out)
        unset = out or cfg.norm == "none"
        _switch("Norm in this block", block, "norm", norm, cfg.norm != "none", off="none", disabled=unset)
        _activation(block, str(own.get("activation", cfg.activation)), cfg.activation, disabled=out)
        if cfg.net == "transformer":
            _taken_out(block, own.get("identity", False))
        else:
            _switch("Take this block out", block, "identity", sublayer.identity, False)
        if cfg.overrides and not any_hidden(excepted(cfg.overrides)):
            st.button("Restore all blocks", on_click=put, args=({"overrides": ()},), key="anatomy_back")
    return block


def signal(cfg: RunConfig) -> bool:
    """A player over the net: the way of ten samples with the loss beside it, signal and gradient with those of the
    unchanged stack as the previous profile. Returns whether that is still to come.
    """
    _, waiting = view_at(cfg)
    whole = view_at(replace(cfg, overrides=()))[0] if cfg.overrides else None
    refused = failure_sentence(cfg) if waiting else ""
    if refused:
        st.error(refused)
    before, panels = row_profile(whole) if whole else None, []
    for title, track, says in (
        ("Signal by depth", "act_rms", "activation"),
        ("Gradient by depth", "grad_rms", "gradient"),
    ):
        others = [Series("no block changed", getattr(before, track), "previous")] if before else []
        figure = figures.profile(title, track, plan(cfg).sites, others=others)
        panels.append(Chart(title, span=6, figure=figure, says="" if hidden("verdict") else says))
    ways = [sample_paths_panel(PATHS, 4), Chart("Loss", span=8, figure=figures.loss(cfg))]
    player("anatomy", [cfg], [*ways, *panels], facts=[f"seed {cfg.seed}, 1 seed"])
    return waiting and not refused


def history(cfg: RunConfig) -> None:
    """Where the arrangement comes from and who uses it; nothing where theory is hidden."""
    if hidden("theory"):
        return
    whole = arrangement_of(cfg)  # Mix-LN consists of exceptions
    name = whole or arrangement_of(replace(cfg, overrides=()))
    if name is None:
        st.markdown("No paper names this arrangement.")
        return
    arrangement, but = ARRANGEMENTS[name], "" if whole else f", except {in_words(cfg.overrides)}"
    st.markdown(
        f"**{name}**{but}. {arrangement.reading}\n\nPaper: {arrangement.source}. Used by: {arrangement.used_by}"
    )


def _taken_out(block: int, now: str | bool) -> None:
    """What of a transformer block is taken out: nothing, one sublayer or all of it. Not drawn where hidden."""
    if any_hidden(("overrides", "identity")):
        return
    state, values = (
        "anatomy_taken_out",
        {"nothing": None, **{word: kind for kind, word in PARTS.items()}, "the block": True},
    )
    put({state: next((word for word, value in values.items() if value == now), "nothing")})

    def change() -> None:
        put_again()
        value = values[session.widget_value(state)]
        put({"overrides": with_override(session.field("overrides"), block, "identity", value)})

    st.segmented_control("Taken out", list(values), key=state, on_change=change, required=True)


def _activation(block: int, now: str, usual: str, *, disabled: bool) -> None:
    """The activation of a block's own; that of the net is no exception. Not drawn where its field is hidden."""
    if any_hidden(("overrides", "activation")):
        return
    state = "anatomy_activation"
    put({state: now})

    def change() -> None:
        put_again()
        wanted = str(session.widget_value(state))
        value = None if wanted == usual else wanted
        put({"overrides": with_override(session.field("overrides"), block, "activation", value)})

    st.selectbox("Activation in this block", ACTIVATIONS, key=state, on_change=change, disabled=disabled, width=190)


def _switch(
    label: str, block: int, key: str, on: bool, usual: bool, *, off: str | bool = False, disabled: bool = False
) -> None:
    """A switch for one exception of one block; the usual value is no exception. Not drawn where its field is hidden."""
    if any_hidden(("overrides", key)):
        return
    state = f"anatomy_{key}"
    put({state: on})

    def change() -> None:
        put_again()
        wanted = bool(session.widget_value(state))
        value = None if wanted == usual else (True if wanted else off)
        put({"overrides": with_override(session.field("overrides"), block, key, value)})

    st.toggle(label, key=state, on_change=change, disabled=disabled)
