"""What helps a run that failed: the trainer tries changes of it, and only those that came to something are offered."""

from dataclasses import dataclass

from components.shell import session
from components.shell.hide import any_hidden, hidden
from components.shell.visitor import visitor
from components.stage.view import View, sentence
from models import answers
from models.answers import Tried
from models.insight.postmortem import postmortem
from models.insight.remedy import Remedy, candidates, ranked
from models.service.client import Owner, trainer
from models.spec import knobs
from models.spec.query import literal

WAIT_SECONDS = 0.4


@dataclass(frozen=True)
class Found:
    """Changes that help, the best first, each with what came of
    its trial; a sentence on all; whether they are still tried.
    """

    offers: list[tuple[Remedy, str]]
    said: str
    waiting: bool = False


def found(view: View) -> Found:
    """What helps the run of a view, which has failed. No change of a field that a link hides is tried."""
    cfg, trace = view.cfg, view.trace
    first = postmortem(cfg, trace).first if trace.divergence else ()
    without = [name for name in knobs() if hidden(name)]
    every = candidates(cfg, first, without)
    if not every:
        return Found([], "")
    asked = {"first": list(first), "without": without}
    # Of the screen of the instrument that is open, whose questions would else be given up for this one.
    who = Owner(visitor(), str(session.INSTRUMENT.get() or "remedies"), "remedies")
    answer = trainer().ask(answers.TRIAL, cfg, wait=WAIT_SECONDS, owner=who, **asked)
    if answer is None:
        share = trainer().share(answers.TRIAL, cfg, **asked)
        return Found([], f"Trying changes of this run for a few steps each: {share:.0%}.", waiting=True)
    if answer.value is None:
        return Found([], literal(sentence(answer.error)))
    tried = answer.value.tried
    offers = [(every[at], _came_of_it(tried[at])) for at in ranked(every, tried, diverged=trace.divergence is not None)]
    if not offers:
        longest = max(one.steps for one in tried)
        return Found(
            [], f"None of {len(tried)} changes that were tried brings the loss below guessing within {longest} steps."
        )
    more = (
        ""
        if len(offers) == 1 or any_hidden(("instruments", "export"))
        else f" {len(offers) - 1} more helped: see Post-mortem."
    )
    return Found(offers, f"{offers[0][1]}.{more}")


def _came_of_it(one: Tried) -> str:
    slow = "" if one.learns else ", about what guessing costs"
    return f"Tried for {one.steps} steps: loss {one.start:.3g} to {one.end:.3g}{slow}"
