"""What the autoregression lab says: why the net stopped, what it left out, what was revised, what a block looked at."""

from collections.abc import Sequence

import numpy as np

from models.answers import Change
from models.insight.lens import shown
from models.spec.query import literal

MOST, LONGEST = 20, 20  # unknown symbols that are named, and characters of each
ROUNDING = 1e-9  # what is below it, of logits in 64-bit numbers, is rounding


def stop_sentence(stopped: str, said: Sequence[str], asked: int, end: str, limit: int) -> str:
    """Which of the reasons ended what was said (`stopped`, a word of the trainer's)."""
    count = f"{len(said)} token{'' if len(said) == 1 else 's'}"
    return {
        "length": f"Stopped by the length: {asked} asked for, {count} said.",
        "end": f'Stopped by the end symbol: token {len(said)} is "{shown(end)}"; {asked} were asked for.'
        if len(said) < asked
        else f'Stopped by both: the last of the {asked} tokens is the end symbol "{shown(end)}".',
        "full": f"Stopped after {count}: a sequence of this task has {limit} tokens, and it is complete.",
        "unasked": f"Stopped after {count}: this task takes no loss at this place, so the net was never told what "
        "to say. Type the next token yourself.",
        "not finite": f"Stopped after {count}: the probabilities are not finite, and nothing can be drawn from them.",
    }[stopped]


def reading_notes(unknown: Sequence[str], cut: int, limit: int, slides: bool) -> list[str]:
    """What was done with a prompt that holds more than the net can read."""
    notes = []
    if unknown:
        names = ", ".join(f'"{literal(one[:LONGEST])}"' for one in list(dict.fromkeys(unknown))[:MOST])
        what = "character" if slides else "symbol"
        notes.append(f"Left out, because the net has no such {what}: {names} ({len(unknown)} of what was typed).")
    if cut and slides:
        notes.append(
            f"The context is {limit} tokens: the net reads the last {limit}, and the {cut} before them are forgotten. "
            "The window slides: every token stands one place earlier than before."
        )
    elif cut:
        notes.append(f"A sequence of this task has {limit} tokens: the {cut} after them are not read.")
    return notes


def revision_sentence(found: Change, bare: Change, token: str) -> str:
    """What appending one token changes before it: with the causal mask (`found`) and without one (`bare`)."""
    kept, moved = float(found.difference.max()), float(bare.difference.max())
    places, other = len(bare.before), int((bare.before != bare.after).sum())
    if not np.isfinite([kept, moved]).all():
        return "The logits are not finite: nothing can be compared."
    rounding = "" if kept == 0 else ", which is rounding" if kept < ROUNDING else ""
    verdict = "Earlier tokens never change" if kept < ROUNDING else "Earlier tokens change"
    return (
        f'{verdict}: "{shown(token)}" is appended, and no logit of the {places} place'
        f"{'' if places == 1 else 's'} before it moves by more than {kept:.2g}{rounding}. Without the mask the largest "
        f"of them moves by {moved:.2g}, and {other} of {places} would now say another token."
    )


def looks_sentence(tokens: Sequence[str], weights: np.ndarray, position: int, blocks: Sequence[str]) -> str:
    """At which token every block looks most, the mean of its heads. (L, T)."""
    if not np.isfinite(weights).all():
        return "The attention is not finite."
    parts = []
    for name, row in zip(blocks, weights, strict=True):
        at = int(row.argmax())
        which = "itself" if at == position else f'token {at + 1}, "{shown(tokens[at])}"'
        parts.append(f"{name} at {which} ({row[at]:.0%})")
    return f"Most of the attention of token {position + 1} goes, in " + "; in ".join(parts) + "."
