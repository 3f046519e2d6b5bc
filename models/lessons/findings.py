"""What the finished runs of a lesson show: the option that was right, and a sentence with the numbers."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from models.insight.baseline import loss_of_guessing
from models.insight.outcome import LAST, LATELY, final_loss, recent_losses
from models.insight.words import change_in_words, number
from models.lessons.lesson import Finding
from models.trace import Trace

DIGITS = loss_of_guessing("digits")
OTHERWISE = "another combination"


def learned(trace: Trace, guessing: float) -> bool:
    """Whether the final loss is below half the loss of guessing."""
    return final_loss(trace) < 0.5 * guessing


def comes_below(target: float) -> Callable[[Trace], bool]:
    """Whether the running mean of the loss ever falls below a target."""

    def met(trace: Trace) -> bool:
        return bool((recent_losses(trace.loss) < target).any())

    return met


def recognises(share: float) -> Callable[[Trace], bool]:
    """Whether the held-out accuracy after the last step is at least this share."""

    def met(trace: Trace) -> bool:
        return trace.divergence is None and trace.frames[-1].held_out_accuracy >= share

    return met


def losses_in_words(names: Sequence[str], traces: Sequence[Trace], *, lowest: bool = False) -> str:
    """The end of every net, and with `lowest` the least mean of LATELY consecutive losses, as a sentence.

    "“without” diverged at step 3. Mean loss of the last 20 steps: with a residual: 0.01, held-out accuracy 95%."
    """
    lost, said = [], []
    for name, trace in zip(names, traces, strict=True):
        if trace.divergence:
            lost.append(f"“{name}” diverged at step {trace.divergence.step}. ")
            continue
        end = number(final_loss(trace))
        lately = recent_losses(trace.loss)
        if lowest and np.isfinite(lately).any():
            end += f" (lowest mean of {LATELY}: {number(np.nanmin(lately))})"
        accuracy = trace.frames[-1].held_out_accuracy if trace.frames else float("nan")
        said.append(f"{name}: {end}" + (f", held-out accuracy {accuracy:.0%}" if np.isfinite(accuracy) else ""))
    ends = f"Mean loss of the last {LAST} steps: {'; '.join(said)}." if said else ""
    return f"{''.join(lost)}{ends}".rstrip()


def by_size(
    options: Sequence[str], bounds: Sequence[float], change: Callable[[Trace], float], *, of: int, what: str, path: str
) -> Callable[[Sequence[Trace]], Finding]:
    """Chooses an option by how many decades net `of` changes a size over depth at first; the first below bounds[0]."""

    def found(traces: Sequence[Trace]) -> Finding:
        size = change(traces[of])
        answer = options[int(np.searchsorted(bounds, abs(size), "right"))]
        return Finding(answer, f"Before training {change_in_words(what, size, path)}.")

    return found


def by_ratio(
    options: Sequence[str], bounds: Sequence[float], measure: Callable[[Trace], float], *, of: int, sentence: str
) -> Callable[[Sequence[Trace]], Finding]:
    """Chooses an option by a number of net `of`: the first below bounds[0]. `sentence` has a place for the number."""

    def found(traces: Sequence[Trace]) -> Finding:
        size = measure(traces[of])
        return Finding(options[int(np.searchsorted(bounds, size, "right"))], sentence.format(size))

    return found


def by_learning(
    options: Mapping[tuple[bool, ...], str],
    names: Sequence[str],
    guessing: float,
    fate: Callable[[Trace], bool] | None = None,
    *,
    lowest: bool = False,
) -> Callable[[Sequence[Trace]], Finding]:
    """Chooses an option by which nets learn, or satisfy `fate`; OTHERWISE if no option names that set.

    `lowest`: as in `losses_in_words`.
    """

    def found(traces: Sequence[Trace]) -> Finding:
        fates = tuple(fate(trace) if fate else learned(trace, guessing) for trace in traces)
        sentence = f"{losses_in_words(names, traces, lowest=lowest)} Chance is {guessing:.2f}."
        return Finding(options.get(fates, OTHERWISE), sentence)

    return found


def also(first: Callable[[Sequence[Trace]], Finding], names: Sequence[str]) -> Callable[[Sequence[Trace]], Finding]:
    """The same answer, with every net's final loss appended to its sentence."""

    def found(traces: Sequence[Trace]) -> Finding:
        finding = first(traces)
        return Finding(finding.answer, f"{finding.sentence} {losses_in_words(names, traces)}")

    return found
