"""The coordinate check on the page Maps: do updates move activations equally at every width, or depth?"""

from dataclasses import dataclass, replace
from typing import Annotated

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from addnorm.coordinate_check import FLAT, Coordinates
from components.charts.maps import rms_panel, rms_range
from components.charts.parts import site_word
from components.controls import form
from components.shell.naming import settings_text
from components.shell.page_links import link_to_playground
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table
from models.content import Texts
from models.insight.words import count_in_words
from models.maps.coordinates import FIELDS, CoordinateCheck
from models.maps.prepared import CHECKS, COMMAND, recorded_check
from models.spec import PARAMETRIZATIONS
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("maps")
KEY = "check"
PANELS_PER_ROW = 3
SITE_LABELS = {"x0": "input", "middle": "middle", "end": "end", "logits": "logits"}
SETTING_FIELDS = ("net", "task", "depth", "width", "optimizer", "lr", "batch")  # named below the panels


@dataclass(frozen=True)
class CheckView(Settings):
    """The check shown."""

    over: Annotated[str, Knob("Over", choices={name: f"the {name}" for name in FIELDS}, control="segments")] = FIELDS[0]
    parametrization: Annotated[str, Knob("Parametrisation", choices=PARAMETRIZATIONS, control="segments")] = "standard"


def draw(above: DeltaGenerator) -> None:
    """Draws the check; its controls stand in `above`, beside the choice of the map."""
    view = form.draw(CheckView, KEY, places=[above, above])
    st.markdown(TEXTS("check"))
    check = CHECKS[view.over, view.parametrization]
    recorded = recorded_check(check)
    if recorded is None:
        st.info(TEXTS("no check", command=f"`{COMMAND} coordinates`"))
        return
    coordinates = replace(recorded.coordinates, sites=tuple(map(_site_label, recorded.coordinates.sites)))
    st.markdown(f"**{coordinates.verdict}** {badge('recorded')}")
    y_range = rms_range(coordinates)
    steps = range(coordinates.steps + 1)
    for first in range(0, len(steps), PANELS_PER_ROW):  # row by row, so that phones keep the order
        columns = st.columns(PANELS_PER_ROW)
        for column, step in zip(columns, steps[first : first + PANELS_PER_ROW], strict=False):
            with column:
                when = f"after {count_in_words(step, 'step')}" if step else "before training"
                title = f"Sizes over the {coordinates.over} {when}"
                key = f"check_{view.over}_{step}"
                static_chart(rms_panel(coordinates, step, y_range), title, key, height=260)
    _draw_slopes(coordinates)
    setting = settings_text(check.cfg, [name for name in SETTING_FIELDS if name != check.field])
    st.caption(TEXTS("check setting", setting=setting, seeds=count_in_words(check.seeds, "seed")))
    if check.cfg.parametrization != "standard":
        st.caption(TEXTS("drawn head"))
    origin = {"day": recorded.day, "torch": recorded.torch, "python": recorded.python}
    st.caption(TEXTS("check recorded", command=f"`{_command(check)}`", **origin))
    link_to_playground(check.config(check.values[-1], 0), "Open the largest of these nets in the playground")


def _draw_slopes(coordinates: Coordinates) -> None:
    table = {"size at": list(coordinates.sites)}
    for step in range(coordinates.steps + 1):
        table[f"slope, step {step}"] = [f"{coordinates.slope(step, site):+.2f}" for site in coordinates.sites]
    table[f"flat (±{FLAT:g}) at the end"] = [
        "yes" if abs(coordinates.slope(coordinates.steps, site)) <= FLAT else "no" for site in coordinates.sites
    ]
    named_table("Slopes on logarithmic axes", table)


def _site_label(site: str) -> str:
    return SITE_LABELS.get(site) or site_word(site)


def _command(check: CoordinateCheck) -> str:
    """The command that repeats the check."""
    fields = " ".join(f"--set '{name}={value}'" for name, value in check.cfg.to_query().items())
    values = f"{check.values[0]}..{check.values[-1]}"
    return f"python -m models coordinates --{check.field} {values} --seeds {check.seeds} {fields}"
