"""HTML about a run: findings, block, equation, configuration, versions and digest."""

from collections.abc import Mapping
from html import escape

from models.export.digest import digest_of
from models.export.findings import findings
from models.spec import ARRANGEMENTS, RunConfig, arrangement_of, knobs
from models.spec.code import block_code
from models.spec.equation import equation
from models.spec.overrides import describe_overrides
from models.trace import Trace

IN_BROWSER = (
    "This page trains the run itself, with the weights and batches it has in the app. Its numbers are the app's to "
    "five digits, until rounding decides the sign of a ReLU's input; for a verdict on them, open the run in the app."
)
PAGE = """{reading}
<h2 id="results">Results</h2>
<ul>{findings}</ul>
<h2>What one block does</h2>
<pre>{code}</pre>
<p>As an equation, in LaTeX:</p>
<pre>{equation}</pre>
<h2>Configuration</h2>
<table><tr><th>setting</th><th>field</th><th>value</th></tr>{configuration}</table>
<p>Values in bold differ from the defaults.</p>
<h2>Seed and versions</h2>
<table>{versions}</table>
"""


def title_of(cfg: RunConfig) -> str:
    """One line about a run: arrangement, net, task and size."""
    name = arrangement_of(cfg) or "No named arrangement"
    return f"{name}: {cfg.net} on {cfg.task}, {cfg.depth} blocks of width {cfg.width}"


def about_html(cfg: RunConfig, trace: Trace | None, versions: Mapping[str, str]) -> str:
    """The HTML of a trace with at least one row, or of a run without one, which a browser trains.

    `versions`: versions of the software that computed it, by name.
    """
    name = arrangement_of(cfg)
    reading = (
        f"<p>{escape(ARRANGEMENTS[name].description)} <em>{escape(ARRANGEMENTS[name].source)}</em></p>" if name else ""
    )
    facts, results = {"seed": str(cfg.seed)}, [IN_BROWSER]
    if trace is not None:
        facts["last step"] = f"{trace.step[-1]} of {cfg.steps}"
        facts["digest of the numbers"] = digest_of(trace.first(cfg.steps), versions.get("torch"))
        results = findings(cfg, trace)
    facts |= versions
    return PAGE.format(
        reading=reading,
        findings="".join(f"<li>{escape(sentence)}</li>" for sentence in results),
        code=escape(block_code(cfg)),
        equation=escape(equation(cfg)),
        configuration="".join(_setting(cfg, field) for field in knobs()),
        versions="".join(
            f"<tr><td>{escape(key)}</td><td>{escape(str(value))}</td></tr>" for key, value in facts.items()
        ),
    )


def _setting(cfg: RunConfig, field: str) -> str:
    """One row of the configuration table, bold if it differs from the default."""
    _, knob = knobs()[field]
    value = getattr(cfg, field)
    mark = ' class="changed"' if value != getattr(RunConfig, field) else ""
    text = describe_overrides(value) if field == "overrides" else str(value)
    return f"<tr{mark}><td>{escape(knob.label)}</td><td>{escape(field)}</td><td>{escape(text) or 'none'}</td></tr>"
