"""What one row of a recording says, in one line that holds for any net."""

from __future__ import annotations

import math

from addnorm.read import Recording

EXPLODING = 2.0  # decades by which stream or gradient grow over depth
VANISHING = -1.5  # decades by which they fall
LEVEL = 0.3  # decades that count as no change: a factor of two
LARGE_UPDATE = 1e-2  # of a block's weights in one step; 1e-3 is usual


def verdict(recording: Recording, at: int) -> str:
    """The line for one row: not finite, exploding, vanishing, large updates, or level."""
    if not recording.sites:
        return "No sites: only loss and weights were recorded."
    act, grad = finite_or_place(recording, "act", at), finite_or_place(recording, "grad", at)
    for what, found in (("activation", act), ("gradient", grad)):
        if isinstance(found, str):
            return f"Not finite: the {what} of step {recording.steps[at]} first at {found}."
    assert not isinstance(act, str)
    assert not isinstance(grad, str)
    changes = {}
    if len(act) > 1:
        changes["the stream", "over depth"] = change(act[0], act[-1])
    if len(grad) > 1:
        changes["its gradient", "on the way back"] = change(grad[-1], grad[0])
    if not changes:
        return "Too little was measured for a verdict."
    said = [change_in_words(what, size, path) for (what, path), size in changes.items()]
    sizes = changes.values()
    kind = "Exploding" if max(sizes) > EXPLODING else "Vanishing" if min(sizes) < VANISHING else "Level"
    missing = "" if grad else "; no gradient was measured"
    return f"{kind}: {', '.join(said)}{missing}.{large_updates(recording, at)}"


def finite_or_place(recording: Recording, name: str, at: int) -> list[float] | str:
    """What was measured of a series; or the first site whose number is not finite, in the order of computation."""
    pairs = list(zip(recording.sites, recording.row(name, at), recording.measured(name, at), strict=True))
    found = [(site.name, value) for site, value, measured in pairs if measured]
    lost = [place for place, value in found if not math.isfinite(value)]
    if lost:
        return lost[0] if name == "act" else lost[-1]
    return [value for _, value in found]


def large_updates(recording: Recording, at: int) -> str:
    """That the last update that was measured changed much of some weights; empty if it did not."""
    for row in range(at, -1, -1):
        pairs = zip(recording.blocks, recording.row("update", row), recording.measured("update", row), strict=True)
        known = [(value, block.name) for block, value, measured in pairs if measured and not math.isnan(value)]
        if known:
            size, name = max(known)
            if size <= LARGE_UPDATE:
                return ""
            return f" Large updates: step {recording.steps[row]} changed {name} by {size:.1%} of its size; 0.1% is usual."
    return ""


def first_not_finite(recording: Recording) -> str:
    """Where in the whole recording a number left the range of the machine for the first time; empty if none did."""
    for at, step in enumerate(recording.steps):
        for what, name in (("activation", "act"), ("gradient", "grad")):
            found = finite_or_place(recording, name, at)
            if isinstance(found, str):
                return f"The first number that is not finite is the {what} at {found} in step {step}."
        loss = recording.scalars["loss"][at]
        if not math.isfinite(loss) and recording.measured("loss", at)[0]:
            return f"The first number that is not finite is the loss of step {step}."
    return ""


def change(start: float, end: float) -> float:
    """log10(end / start); infinite where one of them is zero."""
    if start == 0 or end == 0:
        return 0.0 if start == end else math.copysign(math.inf, end - start)
    return math.log10(end) - math.log10(start)


def change_in_words(name: str, size: float, path: str) -> str:
    """A change over depth without its full stop."""
    if math.isinf(size):
        return f"{name} {'starts at' if size > 0 else 'falls to'} exactly 0 {path}"
    if abs(size) < LEVEL:
        return f"{name} stays within a factor of {10 ** abs(size):.2g} {path}"
    verb = "grows" if size > 0 else "falls"
    return f"{name} {verb} {f'{abs(size):.1f} decades' if abs(size) >= 1 else f'by a factor of {10 ** abs(size):.2g}'} {path}"


def shortened(name: str, width: int) -> str:
    """A name that fits, cut in the middle, without anything that a terminal would obey."""
    clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    if len(clean) <= width:
        return clean
    left = (width - 1) // 2
    return f"{clean[:left]}…{clean[len(clean) - (width - 1 - left) :]}"
