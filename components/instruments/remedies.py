"""Remedies for a run that failed: changes that the trainer has tried, and that help."""

from dataclasses import dataclass
from typing import Any

from components.instruments.panel import INSTRUMENT
from components.player.answer import answer
from components.player.view import View
from components.shell.hidden_parts import is_hidden
from components.shell.visitor import address, visitor_id
from models import answers
from models.answers import TrialResult
from models.content import Texts
from models.insight.baseline import guess_in_words
from models.insight.postmortem import Remedy, candidates, postmortem, rank_helpful
from models.insight.words import number
from models.service.client import Requester
from models.spec import knobs
from models.spec.query import escape_markdown

WORDS = Texts("remedies")


@dataclass(frozen=True)
class RemedySearch:
    """State of the search for changes that help a run."""

    offers: list[tuple[Remedy, str]]  # changes that help, best first, each with the result of its trial
    sentence: str = ""  # the state of the search, or its failure, where nothing is offered
    waiting: bool = False  # whether trials are still running
    failed: tuple[str, ...] = ()  # labels of changes that did not help
    cause: str = ""  # a sentence on the single change that keeps the run from diverging


def remedy_search(view: View) -> RemedySearch:
    """State of the search for changes that help a view's failed run; it tries no field that a link hides."""
    cfg, trace = view.cfg, view.trace
    diverged_at = trace.divergence.step if trace.divergence else -1
    suspects = postmortem(cfg, trace).suspects
    hidden_fields = [name for name in knobs() if is_hidden(name)]
    remedies = candidates(cfg, suspects, hidden_fields)
    if not remedies:
        return RemedySearch([])
    args: dict[str, Any] = {"first": list(suspects), "fixed": hidden_fields, "diverged": diverged_at}
    # Ask as the open instrument: a visitor's question from a different screen cancels those of the previous one.
    owner = Requester(visitor_id(), str(INSTRUMENT.get() or "remedies"), "remedies", address=address())
    reply = answer(answers.TRIAL, cfg, owner=owner, **args)
    if reply.value is None:
        sentence = WORDS("trying", share=reply.share) if reply.is_waiting else escape_markdown(reply.refusal)
        return RemedySearch([], sentence, waiting=reply.is_waiting)
    trials = reply.value.results
    helpful = rank_helpful(remedies, trials, diverged=diverged_at >= 0)  # indices
    offers = [(remedies[index], _result(trials[index])) for index in helpful]
    tried = remedies[: len(trials)]
    failed = tuple(remedy.label for index, remedy in enumerate(tried) if index not in helpful)
    if not offers:
        steps = max(trial.steps for trial in trials)
        sentence = WORDS("nothing helped", count=len(trials), guess=guess_in_words(cfg.task), steps=steps)
        return RemedySearch([], sentence, failed=failed)
    # By trial, the cause is the first single change with which the run goes on past its divergence.
    lasting = (at for at in helpful if not remedies[at].is_combined and trials[at].steps > diverged_at >= 0)
    cause = next((WORDS("cause", change=remedies[at].label) for at in lasting), "")
    return RemedySearch(offers, failed=failed, cause=cause)


def _result(trial: TrialResult) -> str:
    comparison = ""
    if not trial.learns:
        comparison = ", slightly better than guessing" if trial.better else ", about that of guessing"
        if trial.falling:
            comparison += ", still falling"
    verb = "falls" if trial.end < trial.start else "goes"
    return f"the loss {verb} from {number(trial.start)} to {number(trial.end)} in {trial.steps} steps{comparison}"
