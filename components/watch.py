"""What a viewer's page has to show now: rows from the tape, or the profile before training, or what was there before."""

from collections.abc import Mapping, Sequence

from components.playhead import Playhead
from components.view import PROFILE_SECONDS, View
from components.viewers import slowed
from models.service.client import Owner, Tape, Trainer, trace_from, trainer
from models.service.recorded import recorded
from models.spec import RunConfig
from models.trace import Trace


def going(tapes: Sequence[Tape]) -> list[Tape]:
    """The tapes that rows are still to come for: neither at their end, diverged or not, nor in trouble."""
    return [tape for tape in tapes if not tape.done and not tape.error]


def tick(head: Playhead, tapes: Sequence[Tape], now: float) -> int:
    """Moves a playhead over some tapes at once, before they are looked at; the row that it moves on from.

    The slowest of those that go on sets the pace; where none does, it comes to the end of the longest.
    """
    open_tapes = going(tapes)
    lengths = [tape.length for tape in open_tapes or tapes]
    return head.tick(now, min(lengths) if open_tapes else max(lengths), not open_tapes)


def all_diverged(head: Playhead, tapes: Mapping[str, Tape]) -> list[str]:
    """That each of several tapes, by what they are called, has diverged, and at which step; nothing before that is shown."""
    ends = [f"{name} at step {tape.divergence.step}" for name, tape in tapes.items() if tape.divergence and all(tape.divergences)]
    over = len(ends) == len(tapes) and head.shown >= max(tape.length for tape in tapes.values()) - 1
    return ["all have diverged: " + ", ".join(ends)] if over else []


def tape_of(cfg: RunConfig, head: Playhead, who: Owner, seeds: int = 1) -> Tape:
    """A tape, trained on as far as a playhead wants it; `who` as for `look`."""
    rows = head.wanted()  # a row for every step brings the closing row with it
    return trainer().want(cfg, min(rows, cfg.steps), seeds=seeds, owner=who) if rows else trainer().tape(cfg, seeds)


def look(cfg: RunConfig, head: Playhead, before: View | None, who: Owner) -> tuple[View | None, bool]:
    """The view to draw, and whether it is still the one before because its own has not come yet.

    `who` names all runs that this part of the page is about (`viewers.owner`), not this one alone.
    """
    service, tape = trainer(), tape_of(cfg, head, who)
    trace = tape.trace()
    if trace is not None and len(trace) > 0:
        row = min(head.shown, len(trace) - 1)
        return View(cfg, trace, row, tape), row < head.shown and not tape.done
    if head.shown == 0:
        profile = _profile(service, cfg)
        if profile is not None:
            return View(cfg, profile, 0, tape), False
        if before is None and service.status().state == "starting" and (trace := recorded(cfg)) is not None:
            return View(cfg, trace, 0, tape, recorded=True), True
    return before, True


def crowded(*tapes: Tape) -> list[str]:
    """What the other visitors make a page wait for: a place in the queue, rarer pictures. Nothing where there are few."""
    place = max(trainer().place(tape) for tape in tapes)
    queued = f"waiting at place {place} of the queue, for no more runs fit beside those that train" if place else ""
    return [fact for fact in (queued, slowed()) if fact]


def _profile(service: Trainer, cfg: RunConfig) -> Trace | None:
    ready = service.status().state == "ready"
    answer = service.ask("profile", cfg, wait=PROFILE_SECONDS if ready else 0.0)
    return trace_from(answer.value) if answer is not None and answer.value is not None else None
