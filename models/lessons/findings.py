"""Findings of lessons: which guess the finished runs confirm, and the sentence with their numbers."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from models.insight.outcome import final_loss, recent_losses
from models.insight.words import change_in_words
from models.lessons.lesson import Finding
from models.trace import Trace

OTHERWISE = "some other set of them"


def learned(trace: Trace, guessing: float) -> bool:
    """Whether the final loss is below half of the loss of guessing."""
    return final_loss(trace) < 0.5 * guessing


def comes_below(target: float) -> Callable[[Trace], bool]:
    """Whether the mean of LATELY losses ever falls below a target."""

    def met(trace: Trace) -> bool:
        return bool((recent_losses(trace.loss) < target).any())

    return met


def recognises(share: float) -> Callable[[Trace], bool]:
    """Whether a net ends with at least this held-out accuracy."""

    def met(trace: Trace) -> bool:
        return trace.divergence is None and trace.frames[-1].held_out_accuracy >= share

    return met


def losses_in_words(names: Sequence[str], traces: Sequence[Trace]) -> str:
    """Each net's fate: "with a skip: loss 0.01; without: diverged at step 3"."""
    said = []
    for name, trace in zip(names, traces, strict=True):
        end = f"diverged at step {trace.divergence.step}" if trace.divergence else f"loss {final_loss(trace):.3g}"
        accuracy = trace.frames[-1].held_out_accuracy if trace.frames and trace.divergence is None else float("nan")
        said.append(f"{name}: {end}" + (f", held-out accuracy {accuracy:.0%}" if np.isfinite(accuracy) else ""))
    return "; ".join(said)


def by_size(
    options: Sequence[str], bounds: Sequence[float], change: Callable[[Trace], float], *, of: int, what: str, path: str
) -> Callable[[Sequence[Trace]], Finding]:
    """Picks the option by how many decades a size in net `of` changes, up or down: below bounds[0] the first, ..."""

    def judge(traces: Sequence[Trace]) -> Finding:
        size = change(traces[of])
        answer = options[int(np.searchsorted(bounds, abs(size), "right"))]
        sentence = change_in_words(what, size, path)
        return Finding(answer, f"{sentence[:1].upper()}{sentence[1:]}.")

    return judge


def by_ratio(
    options: Sequence[str], bounds: Sequence[float], measure: Callable[[Trace], float], *, of: int, sentence: str
) -> Callable[[Sequence[Trace]], Finding]:
    """Picks the option by a number of net `of`: below bounds[0] the first, ...; `sentence` has a place for it."""

    def judge(traces: Sequence[Trace]) -> Finding:
        size = measure(traces[of])
        return Finding(options[int(np.searchsorted(bounds, size, "right"))], sentence.format(size))

    return judge


def by_learning(
    options: Mapping[tuple[bool, ...], str],
    names: Sequence[str],
    chance: float,
    fate: Callable[[Trace], bool] | None = None,
) -> Callable[[Sequence[Trace]], Finding]:
    """Picks the option that names the nets that learn (or meet `fate`); OTHERWISE if none names exactly these."""

    def judge(traces: Sequence[Trace]) -> Finding:
        fates = tuple(fate(trace) if fate else learned(trace, chance) for trace in traces)
        sentence = f"After the last step, {losses_in_words(names, traces)}. Guessing costs {chance:.2f}."
        return Finding(options.get(fates, OTHERWISE), sentence)

    return judge


def also(first: Callable[[Sequence[Trace]], Finding], names: Sequence[str]) -> Callable[[Sequence[Trace]], Finding]:
    """The same answer, with every net's final loss added to the sentence."""

    def judge(traces: Sequence[Trace]) -> Finding:
        finding = first(traces)
        return Finding(finding.answer, f"{finding.sentence} After the last step, {losses_in_words(names, traces)}.")

    return judge
