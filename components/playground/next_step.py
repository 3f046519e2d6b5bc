"""What to do next, beside the verdict: computed from the run, its settings, and what a link hides."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from components.instruments.remedies import remedy_search
from components.player.view import View
from components.shell import compare_link, projector
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.link import COMPARE, LESSONS
from components.shell.naming import ARRANGEMENT_FIELDS
from models.content import Texts
from models.insight.postmortem import has_failed
from models.spec import RunConfig, arrangement_of
from models.spec.arrangements import overrides_at_depth
from models.spec.budget import budget_refusal
from models.spec.pairings import contrasting_pair

TEXTS = Texts("playground")
MAX_NAMED = 2  # changes that a button names
SUBJECT = {"residual", "norm", "placement"}  # fields that the app is about


@dataclass(frozen=True)
class NextStep:
    """A step by the label of its button: it sets `fields`, opens a `page`, or else trains.

    `note`: what the step rests on. `waiting`: it is still sought.
    """

    label: str
    fields: dict[str, Any] = field(default_factory=dict)
    page: Path | None = None
    query: dict[str, str] = field(default_factory=dict)
    note: str = ""
    waiting: bool = False


def next_step(view: View, came_from: RunConfig | None) -> NextStep:
    """The step after a view; no label where the link leaves none. `came_from`: a net not to be offered again."""
    if has_failed(view.cfg, view.trace, view.row):
        return _remedy(view)
    if view.row == view.cfg.steps:
        return _harder(view.cfg, came_from)
    return NextStep(TEXTS("train on" if view.row else "train it"))


def _remedy(view: View) -> NextStep:
    """The best change that was tried and helps a failed run: of residual or norm, if one of these does."""
    search = remedy_search(view)
    for remedy, result in sorted(search.offers, key=lambda offer: not SUBJECT.issuperset(offer[0].fields)):
        if _fits(view.cfg, remedy.fields):
            note = TEXTS("what would help", change=remedy.label, result=result)
            several = len(remedy.fields) > MAX_NAMED
            label = TEXTS("try several", count=len(remedy.fields)) if several else TEXTS("try", change=remedy.label)
            return NextStep(label, remedy.fields, note=note)
    if search.waiting:
        return NextStep(search.sentence, waiting=True)
    return replace(_elsewhere(view.cfg), note=search.sentence)


def _harder(cfg: RunConfig, came_from: RunConfig | None) -> NextStep:
    """A harder question to a net that has learned: without residuals, or deeper."""
    depth = 2 * cfg.depth
    deeper = {"depth": depth, "overrides": overrides_at_depth(arrangement_of(cfg), cfg.overrides, depth)}
    questions: dict[str, dict[str, Any]] = {TEXTS("cut"): {"residual": False}, TEXTS("deeper", depth=depth): deeper}
    for label, fields in questions.items():
        changed = {name: value for name, value in fields.items() if value != getattr(cfg, name)}
        if changed and not any_hidden(changed) and _fits(cfg, changed, came_from):
            return NextStep(label, changed)
    return _elsewhere(cfg)


def _elsewhere(cfg: RunConfig) -> NextStep:
    """A page that goes on with a net: Compare with its contrasting pair, or else the lessons."""
    if projector.is_on():
        return NextStep("")
    columns, name = contrasting_pair(cfg)
    if not any_hidden(("export", *ARRANGEMENT_FIELDS)) and all(budget_refusal(column) is None for column in columns):
        return NextStep(TEXTS("compare", name=name), page=COMPARE, query=compare_link.to_query(columns, 1))
    return NextStep("") if is_hidden("lessons") else NextStep(TEXTS("lesson"), page=LESSONS)


def _fits(cfg: RunConfig, fields: dict[str, Any], came_from: RunConfig | None = None) -> bool:
    """Whether a net with these fields is legal, within the server's limits, and not the one just left."""
    try:
        changed = replace(cfg, **fields)
    except ValueError:
        return False
    return changed != came_from and budget_refusal(changed) is None
