"""How recordings are displayed: as text, in a notebook, as a page that plays, as tables and as a figure.

Needs only the standard library; pandas, plotly and IPython are imported where they are used.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from addnorm.extras import optional
from addnorm.format import BLOCK_SERIES, SITE_SERIES

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from addnorm.recording import Recording
    from addnorm.rules import Diagnostic

Per = Literal["site", "block", "step"]

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # of cells that a spreadsheet computes

# Bytes of rows; longer recordings are thinned.
MAX_PAGE_BYTES = 20_000_000  # in a file written by `html` or `side_by_side`
MAX_OUTPUT_BYTES = 2_000_000  # in the output of a notebook cell
FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts" '
    'style="width: 100%; height: 44rem; border: 0; resize: vertical">{fallback}</iframe>'
)
# Jupyter removes the frame from a notebook that is not trusted, which leaves this text. Other browsers hide it.
UNTRUSTED = "The player is left out because this notebook is not trusted: trust it, or run the cell again. Step {}: {}"


class Display:
    """Base class of recordings, recorders and profiles: displays the numbers measured so far."""

    def snapshot(self) -> Recording:
        """The recording so far."""
        raise NotImplementedError

    @property
    def findings(self) -> list[Diagnostic]:
        """The findings up to the last row, the errors first."""
        recording = self.snapshot()
        return recording.findings_at(len(recording) - 1) if len(recording) else []

    def __str__(self) -> str:
        from addnorm.table import table

        return "\n".join(table(self.snapshot()))

    def _repr_html_(self) -> str | None:
        recording = self.snapshot()
        if not len(recording):
            return None
        page = _page({"": recording}, MAX_OUTPUT_BYTES)
        last = len(recording) - 1
        fallback = UNTRUSTED.format(recording.steps[last], recording.sentence("verdict", last))
        return FRAME.format(title=escape(_title(recording)), page=escape(page), fallback=escape(fallback, quote=False))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": str(self)} | ({} if html is None else {"text/html": html})

    def html(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page that plays the recording offline, and returns its path. Raises ValueError without rows."""
        return side_by_side({"": self}, path)

    def csv(self, path: str | os.PathLike[str], per: Per = "site") -> Path:
        """Writes the table of `frame` as CSV, and returns its path. Cells without a measurement are empty."""
        columns = _columns(self._with_rows(), per, missing=None)
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(map(as_text, columns))
            writer.writerows(map(as_text, cells) for cells in zip(*columns.values(), strict=True))
        return Path(path)

    def frame(self, per: Per = "site") -> pd.DataFrame:
        """A pandas table with a row per step and site, per step and block of weights, or per step."""
        frame: pd.DataFrame = optional("pandas", "frames", "`frame`").DataFrame(
            _columns(self.snapshot(), per, missing=math.nan)
        )
        return frame

    def figure(self, step: int | None = None) -> go.Figure:
        """Signal and gradient by site as a plotly figure, up to a step. Raises ValueError without rows."""
        graph_objects = optional("plotly.graph_objects", "figures", "`figure`")
        from addnorm.player.charts import depth_figure
        from addnorm.table import row_at_step

        recording = self._with_rows()
        row = row_at_step(recording, step)
        title = f"Step {recording.steps[row]}: {recording.sentence('verdict', row)}"
        sites = [site.name for site in recording.sites]
        act, grad = recording.values_at("act_rms", row), recording.values_at("grad_rms", row)
        figure: go.Figure = graph_objects.Figure(depth_figure(title, sites, act, grad))
        return figure

    def _with_rows(self) -> Recording:
        recording = self.snapshot()
        if not len(recording):
            raise ValueError(recording.problem or "There is no row yet.")
        return recording


def as_text(cell: Any) -> Any:
    """A cell of a CSV file, in which a text that a spreadsheet would compute as a formula is quoted."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell


def side_by_side(shown: Mapping[str, Display], path: str | os.PathLike[str]) -> Path:
    """Writes a page that plays up to eight recordings, recorders or profiles on the same charts, and returns its path.

    `shown` maps names to runs that differ in one setting, for example, or to checkpoints of one model. If their sites
    differ, charts show relative depth. Raises ValueError for none or more than eight, and for one without rows.
    """
    from addnorm.player.charts import ORDINALS

    if not 0 < len(shown) <= len(ORDINALS):
        raise ValueError(f"There are {len(shown)} recordings to show side by side; legal is 1 to {len(ORDINALS)}.")
    page = _page({name: display._with_rows() for name, display in shown.items()}, MAX_PAGE_BYTES)
    Path(path).write_text(page, encoding="utf-8")
    return Path(path)


def _title(recording: Recording) -> str:
    from addnorm.words import truncate

    return f"{truncate(recording.header['model'], 60)}, recorded"


def _page(recordings: Mapping[str, Recording], max_bytes: int) -> str:
    """An HTML page that plays recordings by name. Keeps every second row, fourth, ... until they fit in `max_bytes`."""
    from addnorm.picture import picture
    from addnorm.player import recordings_html

    max_rows = max(map(len, recordings.values()))
    every = 1
    data = {name: b"".join(recording.lines()) for name, recording in recordings.items()}
    while sum(map(len, data.values())) > max_bytes and every < max_rows:
        every *= 2
        data = {name: b"".join(recording.lines(every)) for name, recording in recordings.items()}
    facts = [f"one of {every} rows, and those with updates"] if every > 1 else []
    title = " beside ".join(recordings) or _title(*recordings.values())
    return recordings_html(title, data, facts=facts, still="".join(map(picture, recordings.values())))


def _columns(recording: Recording, per: Per, *, missing: float | None) -> dict[str, list[Any]]:
    """The columns of a table by name. `missing` stands for numbers that were not measured."""

    def column(values: Mapping[str, Iterable[float]], name: str) -> list[float | None]:
        pairs = zip(values[name], recording.masks[name], strict=True)
        return [value if is_measured else missing for value, is_measured in pairs]

    if per == "step":
        columns: dict[str, list[Any]] = {"step": list(recording.steps), "seconds": list(recording.seconds)}
        columns |= {name: column(recording.scalars, name) for name in recording.scalars}
        return columns | {"skipped": [row in recording.skipped for row in range(len(recording))]}
    places: dict[str, list[Any]]
    if per == "site":
        places = {"site": [site.name for site in recording.sites], "kind": [site.kind for site in recording.sites]}
        series: tuple[str, ...] = SITE_SERIES
    elif per == "block":
        places = {"block": [block.name for block in recording.blocks]}
        series = BLOCK_SERIES
    else:
        raise ValueError(f"per: {per!r} is neither site nor block nor step")
    count = len(places[per])
    columns = {"step": [step for step in recording.steps for _ in range(count)]}
    columns |= {name: values * len(recording) for name, values in places.items()}
    columns["depth"] = list(range(count)) * len(recording)
    return columns | {name: column(recording.series, name) for name in series}
