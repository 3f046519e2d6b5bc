"""How recordings show themselves: as text, in a notebook, as a page that plays, as tables and as a figure.

Needs nothing but the standard library; pandas, plotly and IPython are asked for where they are needed.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from addnorm.format import BLOCK_SERIES, SITE_SERIES

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from addnorm.recording import Recording
    from addnorm.rules import Diagnostic

Per = Literal["site", "block", "step"]

LARGEST_PAGE, LARGEST_OUTPUT = 20_000_000, 2_000_000  # bytes of rows in a page of its own, and in one of a notebook
FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts" '
    'style="width: 100%; height: 44rem; border: 0; resize: vertical">{instead}</iframe>'
)
# What Jupyter leaves of a frame in a notebook that somebody else has run; browsers that draw the frame never show it.
INSTEAD = "The player is left out because this notebook is not trusted: trust it, or run the cell again. Step {}: {}"


class Shown:
    """What a recording and a recorder have in common: they show what has been measured so far."""

    def so_far(self) -> Recording:
        """What has been recorded by now."""
        raise NotImplementedError

    @property
    def findings(self) -> list[Diagnostic]:
        """What has been found up to the last row, the errors first."""
        recording = self.so_far()
        return recording.findings_at(len(recording) - 1) if len(recording) else []

    def __str__(self) -> str:
        from addnorm.table import table

        return "\n".join(table(self.so_far()))

    def _repr_html_(self) -> str | None:
        recording = self.so_far()
        if not len(recording):
            return None
        page = _page({"": recording}, LARGEST_OUTPUT)
        last = len(recording) - 1
        instead = INSTEAD.format(recording.steps[last], recording.sentence("verdict", last))
        return FRAME.format(title=escape(_title(recording)), page=escape(page), instead=escape(instead, quote=False))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": str(self)} | ({} if html is None else {"text/html": html})

    def html(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page that plays the recording offline, and returns its path. ValueError where there is no row."""
        return side_by_side({"": self}, path)

    def csv(self, path: str | os.PathLike[str], per: Per = "site") -> Path:
        """Writes the table of `frame` as CSV, and returns its path. What was not measured is empty."""
        columns = _columns(self._some(), per, missing=None)
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return Path(path)

    def frame(self, per: Per = "site") -> pd.DataFrame:
        """A pandas table with a row per step and site, per step and block of weights, or per step."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("`frame` needs pandas: pip install pandas.") from None
        return pd.DataFrame(_columns(self.so_far(), per, missing=math.nan))

    def figure(self, step: int | None = None) -> go.Figure:
        """Signal and gradient by site as a plotly figure, at the last row up to a step. ValueError without rows."""
        try:
            import plotly.graph_objects as go
        except ImportError:
            raise ImportError("`figure` needs plotly: pip install plotly.") from None
        from addnorm.player.charts import depth_figure
        from addnorm.table import row_of

        recording = self._some()
        at = row_of(recording, step)
        title = f"Step {recording.steps[at]}: {recording.sentence('verdict', at)}"
        sites = [site.name for site in recording.sites]
        return go.Figure(depth_figure(title, sites, recording.at("act_rms", at), recording.at("grad_rms", at)))

    def _some(self) -> Recording:
        recording = self.so_far()
        if not len(recording):
            raise ValueError(recording.problem or "There is no row yet.")
        return recording


def side_by_side(shown: Mapping[str, Shown], path: str | os.PathLike[str]) -> Path:
    """Writes a page that plays up to eight recordings, recorders or profiles on the same charts, and returns its path.

    `shown`: by name, as for runs that differ in one setting, or for checkpoints of one model. Depth is relative where
    sites differ. ValueError for none, for more than eight, and where there is no row.
    """
    from addnorm.player.charts import ORDINALS

    if not 0 < len(shown) <= len(ORDINALS):
        raise ValueError(f"There are {len(shown)} recordings to show side by side; legal is 1 to {len(ORDINALS)}.")
    page = _page({name: one._some() for name, one in shown.items()}, LARGEST_PAGE)
    Path(path).write_text(page, encoding="utf-8")
    return Path(path)


def _title(recording: Recording) -> str:
    from addnorm.words import shortened

    return f"{shortened(recording.header['model'], 60)}, recorded"


def _page(recordings: Mapping[str, Recording], most: int) -> str:
    """A page with recordings by their names, or with so many of their rows as so many bytes hold."""
    from addnorm.picture import picture
    from addnorm.player import recordings_html

    longest, every = max(map(len, recordings.values())), 1
    data = {name: b"".join(one.lines()) for name, one in recordings.items()}
    while sum(map(len, data.values())) > most and every < longest:
        every *= 2
        data = {name: b"".join(one.lines(every)) for name, one in recordings.items()}
    facts = [f"one of {every} rows, and those with updates"] if every > 1 else []
    title = " beside ".join(recordings) or _title(*recordings.values())
    return recordings_html(title, data, facts=facts, still="".join(map(picture, recordings.values())))


def _columns(recording: Recording, per: Per, *, missing: float | None) -> dict[str, list[Any]]:
    """The columns of a table, by name. `missing`: where a number was not measured."""

    def measured(values: Mapping[str, Iterable[float]], name: str) -> list[float | None]:
        pairs = zip(values[name], recording.known[name], strict=True)
        return [value if known else missing for value, known in pairs]

    places: dict[str, list[Any]]
    series: tuple[str, ...]
    if per == "site":
        places = {"site": [site.name for site in recording.sites], "kind": [site.kind for site in recording.sites]}
        series = SITE_SERIES
    elif per == "block":
        places = {"block": [block.name for block in recording.blocks]}
        series = BLOCK_SERIES
    elif per == "step":
        places, series = {}, ()
    else:
        raise ValueError(f"per: {per!r} is neither site nor block nor step")
    width = len(next(iter(places.values()))) if places else 1
    columns: dict[str, list[Any]] = {"step": [step for step in recording.steps for _ in range(width)]}
    columns |= {name: values * len(recording) for name, values in places.items()}
    if places:
        columns["depth"] = list(range(width)) * len(recording)
    else:
        columns["seconds"] = list(recording.seconds)
        columns |= {name: measured(recording.scalars, name) for name in recording.scalars}
        columns["skipped"] = [at in recording.skipped for at in range(len(recording))]
    return columns | {name: measured(recording.series, name) for name in series}
