"""A run as one self-contained HTML file: figures to zoom, numbers, configuration, versions and seed."""

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from models.export import findings
from models.spec import ARRANGEMENTS, RunConfig, arrangement_of, knobs
from models.spec.code import block_code
from models.spec.equation import equation
from models.spec.overrides import in_words
from models.trace import Trace

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline';
 style-src 'unsafe-inline'; img-src data: blob:; font-src data:">
<title>{title}</title>
<style>
body{{font:16px/1.5 system-ui,sans-serif;color:#1d1f23;background:#fff;max-width:72rem;margin:2rem auto;padding:0 1rem}}
table{{border-collapse:collapse;margin:1rem 0}}td,th{{text-align:left;padding:.15rem 1rem .15rem 0;vertical-align:top}}
pre{{background:#f4f5f7;padding:1rem;overflow-x:auto}}.figure{{width:100%;min-height:26rem;margin:1rem 0}}
.changed{{font-weight:600}}
</style>
<script>{plotly}</script></head><body>
<h1>{title}</h1>
{reading}
<h2>Results</h2>
<ul>{findings}</ul>
{figures}
<h2>What one block does</h2>
<pre>{code}</pre>
<p>As an equation, in LaTeX:</p>
<pre>{equation}</pre>
<h2>Configuration</h2>
<table><tr><th>setting</th><th>field</th><th>value</th></tr>{configuration}</table>
<p>Values in bold differ from the defaults.</p>
<h2>Seed and versions</h2>
<table>{versions}</table>
<script>
for (const place of document.querySelectorAll(".figure")) {{
  const figure = JSON.parse(place.querySelector("script").textContent)
  Plotly.newPlot(place, figure.data, figure.layout, {{ responsive: true, displaylogo: false }})
}}
</script>
</body></html>
"""


def report_html(cfg: RunConfig, trace: Trace, figures: Iterable[Mapping[str, Any]], versions: Mapping[str, str]) -> str:
    """The report of a trace. `figures` are dicts of plotly's schema; `versions` maps what computed it to its version.

    About 5 MB: plotly's code is included, so that the file works offline. All text is escaped.
    """
    from plotly.offline import get_plotlyjs

    name = arrangement_of(cfg)
    title = f"{name or 'No named arrangement'}: {cfg.net} on {cfg.task}, {cfg.depth} blocks of width {cfg.width}"
    reading = (
        f"<p>{escape(ARRANGEMENTS[name].reading)} <em>{escape(ARRANGEMENTS[name].source)}</em></p>" if name else ""
    )
    facts = {"seed": str(cfg.seed), "last step": f"{trace.step[-1]} of {cfg.steps}", **versions}
    return PAGE.format(
        title=escape(title),
        plotly=get_plotlyjs(),
        reading=reading,
        findings="".join(f"<li>{escape(sentence)}</li>" for sentence in findings(cfg, trace)),
        figures="".join(_figure(figure) for figure in figures),
        code=escape(block_code(cfg)),
        equation=escape(equation(cfg)),
        configuration="".join(_setting(cfg, field) for field in knobs()),
        versions="".join(
            f"<tr><td>{escape(key)}</td><td>{escape(str(value))}</td></tr>" for key, value in facts.items()
        ),
    )


def _figure(figure: Mapping[str, Any]) -> str:
    """A figure's element with its data; "<" is escaped so that no text can close the script."""
    from plotly.utils import PlotlyJSONEncoder

    drawn = {
        "data": figure.get("data", []),
        "layout": dict(figure.get("layout", {})) | {"autosize": True, "width": None},
    }
    text = json.dumps(drawn, cls=PlotlyJSONEncoder).replace("<", "\\u003c")
    return f'<div class="figure"><script type="application/json">{text}</script></div>'


def _setting(cfg: RunConfig, field: str) -> str:
    """One row of the configuration, bold if it differs from the default."""
    _, knob = knobs()[field]
    value = getattr(cfg, field)
    mark = ' class="changed"' if value != getattr(RunConfig, field) else ""
    said = in_words(value) if field == "overrides" else str(value)
    return f"<tr{mark}><td>{escape(knob.label)}</td><td>{escape(field)}</td><td>{escape(said) or 'none'}</td></tr>"
