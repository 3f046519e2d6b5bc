"""`python -m pages.static LOGS OUT [APP]` writes the static edition; `python -m models static` trains its nets."""

import json
import logging
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from addnorm.player import player_html, sources_of
from addnorm.player.declare import Link, Panel, StackPanel
from components import static
from components.compare import runs
from components.compare.columns import ALL, LETTERS, ChangedColumn
from components.compare.share import seeds_label
from components.player.engine import FOLDER as ENGINE
from components.player.engine import always, engine
from components.player.page import declaration
from components.playground import picture
from components.playground.presets import PRESETS
from components.start import cells, words
from models.content import Texts
from models.runlog import RunLog
from models.service.client import key_of
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec import TASKS as SHAPES
from models.spec.arrangements import arranged_fields
from models.spec.knob import Knob
from models.spec.pairings import PAIRINGS, incomparable_charts
from models.spec.query import BOOLEANS, PAGE_KEYS
from models.spec.rules import repairs
from models.spec.schema import TAKEN, browser_refusal, schema

TEXTS = Texts("static")
FOLDER = Path(static.__file__).parent
MODULES = sources_of(FOLDER) | {"config": sources_of(ENGINE)["config"]}
TITLES = {"index": "Start", "playground": "Playground", "compare": "Compare"}  # by name of the file
CONTROLS = ("depth", "residual", "placement", "norm", "task", "width", "activation", "init", "optimizer", "lr")
TASKS = tuple(task for task in TAKEN["task"] if not SHAPES[task].vocabulary)
HERE = TAKEN | {"net": ("mlp",), "task": TASKS}  # what the edition takes
CHOSEN = {name: cfg for name, cfg in PRESETS.items() if cfg.net == "mlp" and not browser_refusal(cfg)}
# The net of whose panels a browser takes what its own has.
WIDEST = RunConfig(depth=int(knobs()["depth"][1].high), steps=int(knobs()["steps"][1].high), norm="batch norm")
Parts = tuple[Sequence[Panel], ...]  # above the player, its own, and below


def control(name: str, types: tuple[type, ...], knob: Knob) -> dict[str, Any]:
    """A control as plain data, with the choices that the edition takes."""
    choices = knob.choices and [choice for choice in knob.choices if choice in HERE.get(name, knob.choices)]
    declared = {key: getattr(knob, key) for key in ("label", "help", "low", "high", "stops", "control")}
    return {"name": name, "types": [kind.__name__ for kind in types], "choices": choices, **declared}


def links() -> dict[str, Any]:
    """What the app's links may say beside a run's fields, and its sentences on what it changes in them."""
    defaults = asdict(RunConfig())
    ((broken, _),) = repairs(defaults | {"batch": 1, "norm": "batch norm"})
    return {
        "defaults": defaults | {"overrides": ""},
        "booleans": BOOLEANS,
        "ignored": sorted(PAGE_KEYS),
        "arrangements": {
            name: arranged_fields(name, {}) | {"overrides": "", "mixed": entry.mixed}
            for name, entry in ARRANGEMENTS.items()
        },
        "broken": f"{broken}; batch became 2",
        "more": TEXTS("two columns"),
    }


def pages(logs: Sequence[RunLog], app: str = "") -> dict[str, str]:
    """The HTML of each page by the name of its file. `logs`: torch's of the nets of CELLS. `app`: an app's address."""
    log_of = {log.head.cfg: log for log in logs if log.head is not None}
    return {"index": _start(log_of, app), "playground": _playground(log_of, app), "compare": _compare(app)}


def _start(logs: Mapping[RunConfig, RunLog], app: str) -> str:
    nets = [cell.cfg for cell in cells.CELLS]
    traces = [(cell, logs[cell.cfg].trace()) for cell in cells.CELLS if cell.cfg in logs]
    finished = [words.FinishedRun(cell.title, cell.cfg, trace) for cell, trace in traces if trace is not None]
    links: list[Panel] = [Link("Open in the playground", run, cells.SPAN, 2, href="") for run in range(len(nets))]
    curves = sorted([*cells.loss_panels(), *links], key=lambda panel: panel.run)
    conclusion = f"{words.conclusion(*finished)} {TEXTS('recorded')}" if finished else ""
    intro = f'<p>{_marked(words.TEXTS("introduction"))}</p><p id="conclusion" hidden>{_marked(conclusion)}</p>'
    panels: dict[str, Parts] = {"digits": ([cells.digits_panel(asks=True)], curves, [])}
    extras = {"app": app, "outcomes": [run.outcome for run in finished]}
    head = _head("index", words.TEXTS.title, intro)
    return _page("index", head, nets, panels, extras, reports="rest", scope=" all four")


def _playground(logs: Mapping[RunConfig, RunLog], app: str) -> str:
    sentences = {
        key_of(cfg): {kind: text for kind, ((_, text), *_) in log.sentences(0, 1).items()} for cfg, log in logs.items()
    }
    presets = "".join(
        f'<a href="playground.html?{escape(urlencode(cfg.to_query()))}">{name}</a>' for name, cfg in CHOSEN.items()
    )
    panels = {task: _net_parts(task) for task in TASKS}
    extras = {"app": app, "told": sentences, "controls": _controls()}
    facts = [f"seed {WIDEST.seed}, {seeds_label(1)}"]
    return _page("playground", _head("playground", beside=presets), [RunConfig()], panels, extras, facts=facts)


def _net_parts(task: str) -> Parts:
    over, player, under = picture.file_panels(replace(WIDEST, task=task))
    touched: dict[str, Any] = {"blocks": [], "diagrams": [], "hint": words.TEXTS("how to break")}
    return [replace(panel, **touched) if isinstance(panel, StackPanel) else panel for panel in over], player, under


def _compare(app: str) -> str:
    nets = PAIRINGS["residual on and off"].make()
    columns = {task: [replace(WIDEST, task=task)] * len(nets) for task in TASKS}
    (differ,) = incomparable_charts([replace(WIDEST, task=task) for task in TASKS[:2]]).values()
    ((name, (types, knob)),) = ChangedColumn.knobs().items()
    letters = list(LETTERS[: len(nets)])
    extras = {
        "app": app,
        "controls": [control(name, types, replace(knob, choices=dict.fromkeys([ALL, *letters]))), *_controls()],
        "labels": runs.labels_of(columns[TASKS[0]]),
        "differ": differ.replace(", ".join(sorted(TASKS[:2])), "{tasks}"),
    }
    panels: dict[str, Parts] = {task: ([], runs.panels_of(widest), []) for task, widest in columns.items()}
    options: dict[str, Any] = {"scope": " all", "names": letters, "facts": [seeds_label(1)]}
    return _page("compare", _head("compare"), nets, panels, extras, **options)


def _controls() -> list[dict[str, Any]]:
    return [control(name, *knobs()[name]) for name in CONTROLS]


def _page(
    name: str,
    head: str,
    nets: Sequence[RunConfig],
    panels: Mapping[str, Parts],
    extras: Mapping[str, Any],
    **options: Any,
) -> str:
    """A page. `nets`: those of an address without any. `panels`: of WIDEST nets, by task. `extras`: for its script."""
    data = {
        "page": name,
        "nets": [urlencode(cfg.to_query()) for cfg in nets],
        "panels": {
            task: [[panel.to_json(len(nets), 1) for panel in part] for part in parts] for task, parts in panels.items()
        },
        "player": declaration(nets, [], here=always("#in-browser"), restore=True, **options)
        | {"name": "file", "ticket": ""},
        "steps": WIDEST.steps,
        "links": links(),
        "copied": TEXTS("copied"),
        **{"told": {}, "controls": [], "labels": []},
        **extras,
    }
    return player_html(
        f"{TITLES[name]} · {TEXTS.title}",
        [],
        [json.dumps(data)],
        f'<footer><a id="compare" hidden>{TEXTS("compare")}</a>'
        f'<h2 id="in-browser">{TEXTS("in short")}</h2><p>{TEXTS("what it means")}</p></footer>',
        engine=engine(*TASKS) | {"schema": schema() | {"taken": HERE}},
        above=head,
        more=MODULES,
        play="edition_js.open",
        style=(FOLDER / "static.css").read_text(encoding="utf-8"),
    )


def _marked(text: str) -> str:
    """The HTML of a text whose bold words are marked as in Markdown."""
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text))


def _head(name: str, title: str = "", intro: str = "", beside: str = "") -> str:
    """Navigation, title with what stands `beside` it, introduction, messages, and a place for the settings."""
    current = ' aria-current="page"'
    ways = [f'<a href="{page}.html"{current if page == name else ""}>{text}</a>' for page, text in TITLES.items()]
    settings = f'<details id="settings"><summary>{TEXTS("settings")}</summary><form></form></details>'
    return f"""<header><nav aria-label="Pages">{"".join(ways)}</nav>
<a id="app" hidden>{TEXTS("open in the app")}</a>
<button id="copy" type="button">{TEXTS("copy link")}</button>
<input id="address" readonly hidden aria-label="{TEXTS("copy link")}"></header>
<div class="title"><h1>{escape(title or TITLES[name])}</h1>{beside}</div>{intro}
<p id="notes" role="status" hidden></p><p id="refusal" class="player-error" role="alert"></p>
{settings if name != "index" else ""}"""


def main(logs: str, out: str, app: str = "") -> None:
    """Writes the folder. OSError if that cannot be."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, html in pages([RunLog(path, mends=False) for path in Path(logs).iterdir()], app).items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # Streamlit warns that no server runs
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(f"python -m models static: {error.filename} cannot be written: {error.strerror}")
