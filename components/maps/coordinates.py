"""The coordinate check on the page Maps: do updates move activations as much at every width, or depth?"""

from dataclasses import dataclass, replace
from typing import Annotated

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from addnorm.coordinate_check import FLAT, Coordinates
from components.charts.maps import rms_panel, rms_range
from components.charts.parts import site_word
from components.controls import form
from components.shell.naming import settings
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table
from components.shell.ways_on import to_playground
from models.content import Texts
from models.insight.words import counted
from models.maps.coordinates import FIELDS, CoordinateCheck
from models.maps.prepared import CHECKS, COMMAND, recorded_check
from models.spec import PARAMETRIZATIONS
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("maps")
KEY = "check"
ACROSS = 3  # panels side by side
SAID = ("net", "task", "depth", "width", "optimizer", "lr", "batch")


@dataclass(frozen=True)
class CheckView(Settings):
    """Which check is shown."""

    over: Annotated[str, Knob("Over", choices={name: f"the {name}" for name in FIELDS}, control="segments")] = FIELDS[0]
    parametrization: Annotated[str, Knob("Parametrisation", choices=PARAMETRIZATIONS, control="segments")] = "standard"


def draw(above: DeltaGenerator) -> None:
    """The check below the choice of the map, beside which its own controls stand."""
    view = form.draw(CheckView, KEY, places=[above, above])
    st.markdown(TEXTS("check"))
    check = CHECKS[view.over, view.parametrization]
    recorded = recorded_check(check)
    if recorded is None:
        st.info(TEXTS("no check", command=f"`{COMMAND} coordinates`"))
        return
    found = replace(recorded.coordinates, sites=tuple(map(_word, recorded.coordinates.sites)))
    st.markdown(f"**{found.verdict}** {badge('recorded')}")
    reach = rms_range(found)
    every = [*range(found.steps + 1)]
    for first in range(0, len(every), ACROSS):  # row by row, so that phones keep the order
        for column, step in zip(st.columns(ACROSS), every[first : first + ACROSS], strict=False):
            with column:
                title = f"Sizes over the {found.over} after {counted(step, 'step')}" if step else _before(found)
                static_chart(rms_panel(found, step, reach), title, f"check_{view.over}_{step}", height=260)
    _slopes(found)
    st.caption(TEXTS("check setting", setting=_setting(check), seeds=counted(check.seeds, "seed")))
    if check.cfg.parametrization != "standard":
        st.caption(TEXTS("drawn head"))
    made = {"day": recorded.day, "torch": recorded.torch, "python": recorded.python}
    st.caption(TEXTS("check recorded", command=f"`{_command(check)}`", **made))
    to_playground(check.config(check.values[-1], 0), "Open the largest of these nets in the playground")


def _before(found: Coordinates) -> str:
    return f"Sizes over the {found.over} before training"


def _slopes(found: Coordinates) -> None:
    """The slope of every curve, and whether it is flat."""
    table = {"size at": list(found.sites)}
    for step in range(found.steps + 1):
        table[f"slope, step {step}"] = [f"{found.slope(step, site):+.2f}" for site in found.sites]
    table[f"flat (±{FLAT:g}) at the end"] = [
        "yes" if abs(found.slope(found.steps, site)) <= FLAT else "no" for site in found.sites
    ]
    named_table("Slopes on logarithmic axes", table)


def _word(site: str) -> str:
    """A site as visitors know it."""
    return {"x0": "input", "middle": "middle", "end": "end", "logits": "logits"}.get(site) or site_word(site)


def _setting(check: CoordinateCheck) -> str:
    return settings(check.cfg, [name for name in SAID if name != check.field])


def _command(check: CoordinateCheck) -> str:
    """The command that measures the same."""
    fields = " ".join(f"--set '{name}={value}'" for name, value in check.cfg.to_query().items())
    values = f"{check.values[0]}..{check.values[-1]}"
    return f"python -m models coordinates --{check.field} {values} --seeds {check.seeds} {fields}"
