"""From what the controls hold to the configuration that is
shown: the last good one, and what is said where that is another.
"""

import streamlit as st

from components.controls import panel
from components.shell import link, session
from components.shell.hide import any_hidden
from models.spec import RunConfig, knobs
from models.spec.budget import affordable, fitted, over_budget
from models.spec.pairings import changed
from models.spec.rules import repaired


def settle(cfg: RunConfig | None) -> RunConfig:
    """The configuration to show: the one that is set, or the last good one where that is illegal or over budget.

    A visitor who comes by a link to what is over budget has no last one, and sees the nearest that fits.
    """
    if cfg is not None and over_budget(cfg) is None:
        session.LAST_GOOD.put(cfg)
    if not session.LAST_GOOD.there:
        session.LAST_GOOD.put(fitted(cfg or RunConfig()))
    return last()


def last() -> RunConfig:
    """The configuration that this visitor set last and that could be shown; the default before there is one."""
    return session.LAST_GOOD.get()


def say(cfg: RunConfig, notes: list[str], problem: str) -> None:
    """What a link made necessary, what is refused with the nearest legal change, and what is legal yet misleading."""
    if notes:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info("From the link: " + "; ".join(notes) + ".", width="stretch")
            st.button("Understood", on_click=link.dismiss_notes)
    if problem:
        change = repaired(panel.values())
        st.error(f"{problem} The picture below is still the last one that was legal.")
        _offer(change)
    else:
        wanted, _ = panel.assemble()
        refusal = over_budget(wanted) if wanted is not None else None
        if wanted is not None and refusal:
            smaller = ", ".join(
                f"{knobs()[name][1].label.lower()} {value}" for name, value in changed(wanted, cfg).items()
            )
            below = f"what fits: {smaller}" if cfg == fitted(wanted) else "still the last one that fits"
            st.error(f"{refusal} The picture below is {below}.")
            _offer(dict([affordable(wanted)]))
    for sentence in panel.warnings(cfg):
        st.warning(sentence)


def _offer(change: dict[str, object]) -> None:
    """A button that makes the nearest legal change, unless it moves what is hidden."""
    if any_hidden(change):
        return
    label = ", ".join(f"{field} {value}" for field, value in change.items())
    st.button(f"Set {label}", on_click=link.put, args=(change,), key="offer")
