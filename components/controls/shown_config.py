"""The configuration that a page shows: that of the controls, or the last good one and why the new one is not."""

import streamlit as st

from components.controls import panel
from components.shell import link
from components.shell.hidden_parts import any_hidden
from components.shell.session import Key
from models.spec import RunConfig, knobs
from models.spec.budget import affordable_change, budget_refusal, fit_to_budget
from models.spec.cautions import config_caution
from models.spec.pairings import changed_fields
from models.spec.rules import all_repairs

LAST_GOOD: Key[RunConfig] = Key("last_good", RunConfig())  # the last configuration that could be shown


def config_to_show(cfg: RunConfig | None) -> RunConfig:
    """The given configuration, or the last good one if it is illegal or over budget.

    Without a last good one, as after a link to a configuration over budget, it is the nearest that fits.
    """
    if cfg is not None and budget_refusal(cfg) is None:
        LAST_GOOD.put(cfg)
    if not LAST_GOOD.is_set:
        LAST_GOOD.put(fit_to_budget(cfg or RunConfig()))
    return last_good()


def last_good() -> RunConfig:
    return LAST_GOOD.get()


def draw_messages(cfg: RunConfig, notes: list[str], problem: str) -> None:
    """Draws notes on a link, a refusal with the nearest legal change, and cautions about the configuration shown."""
    if notes:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info("From the link: " + "; ".join(notes) + ".", width="stretch")
            st.button("Understood", on_click=link.dismiss_notes)
    if problem:
        change = all_repairs(panel.values())
        st.error(f"{problem} The picture below uses the last valid settings.")
        _offer(change)
    else:
        requested, _ = panel.assemble()
        if requested is not None:
            _draw_budget_refusal(requested, cfg)
    caution = config_caution(cfg)
    if caution:
        st.warning(caution)


def _draw_budget_refusal(requested: RunConfig, shown: RunConfig) -> None:
    """Draws why a requested configuration is over budget, if it is, and which one is shown instead."""
    refusal = budget_refusal(requested)
    if not refusal:
        return
    below = "still the last one that fits"
    if shown == fit_to_budget(requested):
        changes = changed_fields(requested, shown)
        below = "what fits: " + ", ".join(
            f"{knobs()[name][1].label.lower()} {value}" for name, value in changes.items()
        )
    st.error(f"{refusal} The picture below is {below}.")
    _offer(dict([affordable_change(requested)]))


def _offer(change: dict[str, object]) -> None:
    """Draws a button for the nearest legal change, unless it changes a hidden field."""
    if any_hidden(change):
        return
    label = ", ".join(f"{field} {value}" for field, value in change.items())
    st.button(f"Set {label}", on_click=link.put, args=(change,), key="offer")
