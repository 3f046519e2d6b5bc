"""Sentences of the autoregression lab: why generation stopped, what was left out, what changed, where blocks attend."""

from collections.abc import Sequence

import numpy as np

from components.shell.text import number
from models.answers import Change
from models.insight.lens import shown
from models.insight.words import counted
from models.spec.query import literal

MOST, LONGEST = 20, 20  # unknown symbols listed, and characters of each
ROUNDING = 1e-9  # change of a 64-bit logit that counts as rounding


def stop_sentence(stopped: str, said: Sequence[str], asked: int, end: str, limit: int) -> str:
    """Why generation stopped (`stopped`: a word from the trainer)."""
    count = counted(len(said), "token")
    return {
        "length": "Stopped at the length limit.",
        "end": f'Stopped at the end symbol: token {len(said)} is "{shown(end)}"; {asked} were requested.'
        if len(said) < asked
        else f'Stopped at the length limit and the end symbol: the last of the {asked} tokens is "{shown(end)}".',
        "full": f"Stopped after {count}: a sequence of this task has {limit} tokens, and it is complete.",
        "unasked": f"Stopped after {count}: training has no loss at this position, so the net was never taught what to "
        "predict. Type the next token yourself.",
        "not finite": f"Stopped after {count}: the probabilities are not finite, so no token can be drawn.",
    }[stopped]


def reading_notes(unknown: Sequence[str], cut: int, limit: int, slides: bool) -> list[str]:
    """What was left out of a prompt that the net cannot read completely."""
    notes = []
    if unknown:
        names = ", ".join(f'"{literal(one[:LONGEST])}"' for one in list(dict.fromkeys(unknown))[:MOST])
        what = "character" if slides else "symbol"
        notes.append(f"Left out, because the net has no such {what}: {names} ({len(unknown)} in all).")
    if cut and slides:
        notes.append(
            f"The context is {limit} tokens: the net reads the last {limit}, and the {cut} before them are dropped. "
            "The window slides along with the text."
        )
    elif cut:
        notes.append(f"A sequence of this task has {limit} tokens: the {cut} after them are ignored.")
    return notes


def revision_sentence(found: Change, bare: Change, token: str) -> str:
    """What appending a token changes before it, with the causal mask (`found`) and without (`bare`)."""
    kept, moved = float(found.difference.max()), float(bare.difference.max())
    places, other = len(bare.before), int((bare.before != bare.after).sum())
    if not np.isfinite([kept, moved]).all():
        return "The logits are not finite: nothing can be compared."
    rounding = "" if kept == 0 else ", which is rounding" if kept < ROUNDING else ""
    verdict = "Earlier tokens never change" if kept < ROUNDING else "Earlier tokens change"
    return (
        f'{verdict}: "{shown(token)}" is appended, and no logit at the {counted(places, "position")} before it '
        f"moves by more than {number(kept, 2)}{rounding}. Without the mask, one moves by {number(moved, 2)}, and the "
        f"prediction changes at {other} of {places}."
    )


def looks_sentence(tokens: Sequence[str], weights: np.ndarray, position: int, blocks: Sequence[str]) -> str:
    """The token that each block attends to most, from weights (L, T)."""
    if not np.isfinite(weights).all():
        return "The attention is not finite."
    parts: list[str] = []
    for name, row in zip(blocks, weights, strict=True):
        at = int(row.argmax())
        which = "itself" if at == position else f'token {at + 1}, "{shown(tokens[at])}"'
        who = "" if parts else f" token {position + 1} attends most"
        parts.append(f"in {name}{who} to {which} ({row[at]:.0%})")
    return f"I{'; '.join(parts)[1:]}."
