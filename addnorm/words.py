"""What one row of a recording says, in lines that hold for any
net: what was measured, and no judgement that rests on other nets.

A stream that grows a hundredfold ends some small nets and is
usual in large language models, so no size is called good or bad.
"""

from __future__ import annotations

import math

from addnorm.read import Recording

LEVEL = 2.0  # a factor that counts as no change


def verdict(recording: Recording, at: int) -> str:
    """The line for one row: where it is not finite, or what stream and gradient do over depth."""
    if not recording.sites:
        return "No sites: only loss and weights were recorded."
    act, grad = finite_or_place(recording, "act", at), finite_or_place(recording, "grad", at)
    for what, found in (("activation", act), ("gradient", grad)):
        if isinstance(found, str):
            return f"Not finite: the {what} of step {recording.steps[at]} first at {found}."
    assert not isinstance(act, str)
    assert not isinstance(grad, str)
    said = []
    if len(act) > 1:
        said.append(change_in_words("the stream", act[0], act[-1], "over depth"))
    if len(grad) > 1:
        said.append(change_in_words("its gradient", grad[-1], grad[0], "on the way back"))
    if not said:
        return "Too little was measured for a verdict."
    sentence = ", ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}{'' if grad else '; no gradient was measured'}."


def finite_or_place(recording: Recording, name: str, at: int) -> list[float] | str:
    """What was measured of a series; or the first site whose number is not finite, in the order of computation."""
    pairs = list(zip(recording.sites, recording.row(name, at), recording.measured(name, at), strict=True))
    found = [(site.name, value) for site, value, measured in pairs if measured]
    lost = [place for place, value in found if not math.isfinite(value)]
    if lost:
        return lost[0] if name == "act" else lost[-1]
    return [value for _, value in found]


def updates(recording: Recording, at: int) -> str:
    """Which block the last update that was measured changed most; empty where none was."""
    for row in range(at, -1, -1):
        pairs = zip(recording.blocks, recording.row("update", row), recording.measured("update", row), strict=True)
        known = [(block.name, value) for block, value, measured in pairs if measured and not math.isnan(value)]
        if known:
            name, size = max(known, key=lambda pair: pair[1])
            return f"The update of step {recording.steps[row]} changed {name} most, by {100 * size:.3g}% of its size."
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


def change_in_words(name: str, start: float, end: float, path: str) -> str:
    """A change over depth without its full stop."""
    if start == 0 and end == 0:
        return f"{name} is exactly 0 at both ends"
    if start == 0 or end == 0:
        return f"{name} {'starts at' if start == 0 else 'falls to'} exactly 0 {path}"
    factor = max(start / end, end / start)
    if factor < LEVEL:
        return f"{name} stays within a factor of {factor:.3g} {path}"
    return f"{name} {'grows' if end > start else 'falls'} by a factor of {factor:.3g} {path}"


def shortened(name: str, width: int) -> str:
    """A name that fits, cut in the middle, without anything that a terminal would obey."""
    clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    if len(clean) <= width:
        return clean
    left = (width - 1) // 2
    return f"{clean[:left]}…{clean[len(clean) - (width - 1 - left) :]}"
