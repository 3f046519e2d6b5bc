"""Remedies for a run that failed: the trainer tries changes of it, and those that help are offered."""

from dataclasses import dataclass
from typing import Any

from components.instruments.panel import INSTRUMENT
from components.player.answer import answer
from components.player.view import View
from components.shell.hide import hidden
from components.shell.visitor import address, visitor
from models import answers
from models.answers import Tried
from models.content import Texts
from models.insight.baseline import guess_in_words
from models.insight.postmortem import postmortem
from models.insight.remedy import Remedy, candidates, ranked
from models.insight.words import number
from models.service.client import Requester
from models.spec import knobs
from models.spec.query import literal

WORDS = Texts("instruments/postmortem")


@dataclass(frozen=True)
class Found:
    """Changes that help, best first, each with the result of its trial; a sentence where there are none.

    `waiting`: the trials are not over yet. `failed`: changes that were tried and did not help. `cause`: which change of
    one thing alone makes a run that diverged go on.
    """

    offers: list[tuple[Remedy, str]]
    said: str = ""
    waiting: bool = False
    failed: tuple[str, ...] = ()
    cause: str = ""


def found(view: View) -> Found:
    """What helps the failed run of a view. No change of a field that a link hides is tried."""
    cfg, trace = view.cfg, view.trace
    lost = trace.divergence.step if trace.divergence else -1
    first = postmortem(cfg, trace).first if trace.divergence else ()
    without = [name for name in knobs() if hidden(name)]
    every = candidates(cfg, first, without)
    if not every:
        return Found([], "")
    asked: dict[str, Any] = {"first": list(first), "without": without, "lost": lost}
    # On the screen of the open instrument: a question from another screen would end that instrument's questions.
    owner = Requester(visitor(), str(INSTRUMENT.get() or "remedies"), "remedies", address=address())
    reply = answer(answers.TRIAL, cfg, owner=owner, **asked)
    if reply.value is None:
        sentence = WORDS("trying", share=reply.share)
        return Found([], sentence if reply.is_waiting else literal(reply.refusal), waiting=reply.is_waiting)
    tried = reply.value.tried
    helped = ranked(every, tried, diverged=trace.divergence is not None)
    offers = [(every[at], _result(tried[at])) for at in helped]
    failed = tuple(one.label for at, one in enumerate(every[: len(tried)]) if at not in helped)
    if not offers:
        longest = max(trial.steps for trial in tried)
        guess = guess_in_words(cfg.task)
        none = WORDS("nothing helped", count=len(tried), guess=guess, steps=longest)
        return Found([], none, failed=failed)
    return Found(offers, failed=failed, cause=_cause([(every[at], tried[at]) for at in helped], lost))


def _result(trial: Tried) -> str:
    standing = "" if trial.learns else ", slightly better than guessing" if trial.better else ", about that of guessing"
    still = ", still falling" if trial.falling and not trial.learns else ""
    return f"loss {number(trial.start)} to {number(trial.end)} in {trial.steps} steps{standing}{still}"


def _cause(helped: list[tuple[Remedy, Tried]], lost: int) -> str:
    """Which change of one thing alone makes a run that diverged at step `lost` go on past it; empty where none does."""
    alone = [remedy.label for remedy, trial in helped if not remedy.several and trial.steps > lost >= 0]
    return WORDS("cause", change=alone[0]) if alone else ""
