"""Remedies for a run that failed: the trainer tries changes of it, and those that help are offered."""

from dataclasses import dataclass
from typing import Any

from components.instruments.panel import INSTRUMENT
from components.shell.hide import any_hidden, hidden
from components.shell.visitor import address, visitor
from components.stage.answer import answer
from components.stage.view import View
from models import answers
from models.answers import Tried
from models.insight.postmortem import postmortem
from models.insight.remedy import Remedy, candidates, ranked
from models.insight.words import number
from models.service.client import Requester
from models.spec import knobs
from models.spec.query import literal


@dataclass(frozen=True)
class Found:
    """Changes that help, best first, each with the result of its trial, and a sentence about them all.

    `waiting`: the trials are not over yet. `failed`: changes that were tried and did not help.
    """

    offers: list[tuple[Remedy, str]]
    said: str
    waiting: bool = False
    failed: tuple[str, ...] = ()


def found(view: View) -> Found:
    """What helps the failed run of a view. No change of a field that a link hides is tried."""
    cfg, trace = view.cfg, view.trace
    first = postmortem(cfg, trace).first if trace.divergence else ()
    without = [name for name in knobs() if hidden(name)]
    every = candidates(cfg, first, without)
    if not every:
        return Found([], "")
    asked: dict[str, Any] = {"first": list(first), "without": without}
    # On the screen of the open instrument: a question from another screen would end that instrument's questions.
    owner = Requester(visitor(), str(INSTRUMENT.get() or "remedies"), "remedies", address=address())
    reply = answer(answers.TRIAL, cfg, owner=owner, **asked)
    if reply.value is None:
        said = f"Trying changes of this run for a few steps each: {reply.share:.0%}."
        return Found([], said if reply.waiting else literal(reply.refusal), waiting=reply.waiting)
    tried = reply.value.tried
    helped = ranked(every, tried, diverged=trace.divergence is not None)
    offers = [(every[at], _result(tried[at])) for at in helped]
    failed = tuple(one.label for at, one in enumerate(every[: len(tried)]) if at not in helped)
    if not offers:
        longest = max(trial.steps for trial in tried)
        none = f"None of the {len(tried)} changes tried brings the loss below chance within {longest} steps."
        return Found([], none, failed=failed)
    more = f" {len(offers) - 1} more helped: see Post-mortem."
    alone = len(offers) == 1 or any_hidden(("instruments", "export"))
    return Found(offers, f"{offers[0][1]}.{'' if alone else more}", failed=failed)


def _result(trial: Tried) -> str:
    slow = "" if trial.learns else ", about chance"
    return f"Tried for {trial.steps} steps: loss {number(trial.start)} to {number(trial.end)}{slow}"
