"""A row of a recording in sentences that hold for any net: what was measured, and no judgement.

A signal that grows a hundredfold ends some small nets and is usual in large language models, so no size is called good
or bad.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from addnorm.recording import Recording

STEP, LOSS = "{step}", "{loss}"  # whoever shows a sentence fills these in, the loss with three digits
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
WRITTEN_OUT = 6  # decades, up and down, from which a number is written with a power of ten
UNCHANGED_FACTOR = 2.0  # a factor below which a size counts as unchanged, over depth and from site to site
MIN_NAMES = 5  # among which a prefix is looked for
UTC_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)")
STANDS: dict[str, Any] = {  # how a recording stands; its last line names the first three
    "done": "ended",
    "error": "ended by {reason}",
    "recorder": "the recorder gave up: {reason}",
    "growing": "growing",
    "late": "no row for {time}: paused or killed",
    "unknown": "not ended",
    "pause": 60.0,  # a row is late after so many seconds,
    "pauses": 10.0,  # and so many times the mean time from row to row
    "units": ((0, 60, "min"), (2 * 3600, 3600, "h"), (48 * 3600, 86400, "days")),  # from so many seconds on
}
IN_WORDS = {"act_rms": ("the signal", "at"), "grad_rms": ("the gradient", "on the way back through")}
BETWEEN = {"output": "model's output", "loss": "loss"}  # what comes between signal and gradient


def number(value: float, digits: int = 3) -> str:
    """A number with at most so many significant digits: "0.186", "63,000", "1.6·10¹⁶"."""
    if not math.isfinite(value):
        return str(float(value))
    mantissa, _, exponent = f"{value + 0.0:.{digits - 1}e}".partition("e")
    power, kept = int(exponent), mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    if -WRITTEN_OUT <= power < WRITTEN_OUT:
        plain = f"{float(f'{value:.{digits}g}') + 0.0:,.{max(0, digits - 1 - power)}f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    raised = f"10{str(power).translate(SUPERSCRIPT)}"
    return {"1": raised, "-1": f"-{raised}"}.get(kept, f"{kept}·{raised}")


def verdict(recording: Recording, at: int) -> str:
    """One sentence on a row: where it is not finite, or what signal and gradient do over depth."""
    if not recording.sites:
        return "No sites: only loss and weights were recorded."
    if (lost := lost_at(recording, at)) is not None:
        what, place = lost
        where = f" first at {place}" if place else ""
        return f"Not finite: the {what} of step {recording.steps[at]}{where}{_left_out(recording, at)}."
    act, grad = ([value for _, value in measured_by_site(recording, name, at)] for name in IN_WORDS)
    said = []
    if len(act) > 1:
        said.append(change_in_words("the signal", act[0], act[-1], "over depth"))
    if len(grad) > 1:
        said.append(change_in_words("its gradient", grad[-1], grad[0], "on the way back"))
    if not said:
        return "Too little was measured for a verdict."
    sentence = ", ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}{'' if grad else '; no gradient was measured'}."


def jumps(recording: Recording, at: int) -> str:
    """Where signal and gradient of a row change most from one site to the next; empty where neither does much."""
    found = ((name, largest_jump(recording, name, at)) for name in IN_WORDS)
    said = [jump_in_words(name, *jump) for name, jump in found if _factor(*jump[1:]) >= UNCHANGED_FACTOR]
    sentence = "; ".join(said)
    return sentence and f"{sentence[0].upper()}{sentence[1:]}."


def largest_jump(recording: Recording, name: str, at: int) -> tuple[str, float, float]:
    """Where a series changes most from one site to the next, and both sizes, on the way back for the gradient."""
    steps = list(_from_site_to_site(recording, name, at))
    if name == "grad_rms":
        steps = [(site, end, start) for site, start, end in reversed(steps)]
    return max(steps, key=lambda step: _factor(*step[1:]), default=("", 0.0, 0.0))


def jump_in_words(name: str, site: str, start: float, end: float) -> str:
    """A jump of `largest_jump`, as a clause."""
    what, where = IN_WORDS[name]
    if start == 0 or end == 0:
        return f"{what} {'rises from' if start == 0 else 'falls to'} exactly 0 {where} {site}"
    does = "grows" if end > start else "falls"
    return f"{what} {does} most {where} {site}, by a factor of {number(_factor(start, end))}"


def _from_site_to_site(recording: Recording, name: str, at: int) -> Iterator[tuple[str, float, float]]:
    """Two measured sites of a stream in a row: the name of the second, and both sizes, where these are finite."""
    before = math.nan
    for site, value in zip(recording.sites, recording.at(name, at), strict=True):
        if site.kind == "start":
            before = math.nan
        if value is not None:
            if 0 <= before < math.inf and 0 <= value < math.inf:
                yield site.name, before, value
            before = value


def _factor(start: float, end: float) -> float:
    if start == end:
        return 1.0
    return max(start / end, end / start) if start and end else math.inf


def measured_by_site(recording: Recording, name: str, at: int) -> list[tuple[str, float]]:
    """The sites where a series was measured in a row, and its numbers there."""
    row = zip(recording.sites, recording.at(name, at), strict=True)
    return [(site.name, value) for site, value in row if value is not None]


def lost_at(recording: Recording, at: int) -> tuple[str, str] | None:
    """What is first not finite in a row, in the order of computation, and at which site or block; None if all is."""

    def lost(name: str) -> list[int]:
        numbers = enumerate(recording.at(name, at))
        return [place for place, value in numbers if value is not None and not math.isfinite(value)]

    act, grad, weights = lost("act_rms"), lost("grad_rms"), lost("weight_grad_rms")
    if act:
        return "signal", recording.sites[act[0]].name
    if between := [what for name, what in BETWEEN.items() if lost(name)]:
        return between[0], ""
    if grad:
        return "gradient", recording.sites[grad[-1]].name
    if weights:
        several = len(weights) == len(recording.blocks)  # as clipping leaves them
        return ("gradient of all weights", "") if several else ("weights' gradient", recording.blocks[weights[-1]].name)
    return ("gradient of a bias or gain", "") if lost("grad_norm") else None


def _left_out(recording: Recording, at: int) -> str:
    return "; AMP left its update out" if at in recording.skipped else ""


def updates(recording: Recording, at: int) -> str:
    """Which block the update of a row changed most; empty where it was not measured."""
    pairs = zip(recording.blocks, recording.at("update_to_weight", at), strict=True)
    known = [(block.name, value) for block, value in pairs if value is not None and not math.isnan(value)]
    if not known:
        return ""
    name, size = max(known, key=lambda pair: pair[1])
    if size == 0:
        return f"The update of step {recording.steps[at]} changed no block."
    return f"The update of step {recording.steps[at]} changed {name} most, by {number(100 * size)}% of its size."


def weights(recording: Recording, at: int) -> str:
    """How far the blocks' weight gradients of a row lie apart; empty where none was measured."""
    values = [value for value in recording.at("weight_grad_rms", at) if value is not None]
    if not all(map(math.isfinite, values)):
        return "Some blocks' weight gradients are not finite."
    alive = [value for value in values if value > 0]
    if not alive:
        return "No block's weights receive a gradient." if values else ""
    rest = f"; {len(values) - len(alive)} of {len(values)} receive none" if len(alive) < len(values) else ""
    far = number(_factor(min(alive), max(alive)))
    return f"The largest of the blocks' weight gradients is {far} times the smallest{rest}."


def not_finite(recording: Recording, at: int) -> str:
    """What is first not finite in a row, in a sentence; empty where all is finite."""
    if (lost := lost_at(recording, at)) is None:
        return ""
    where = f"at {lost[1]} in" if lost[1] else "of"
    left_out = _left_out(recording, at)
    return f"The first number that is not finite is the {lost[0]} {where} step {recording.steps[at]}{left_out}."


def how_it_stands(recording: Recording, now: float) -> str:
    """Whether a recording grows, has ended, or has stopped without its last line. `now`: seconds since 1970."""
    if end := recording.end:
        return str(STANDS[end["end"]]).replace("{reason}", end["reason"])
    seconds = recording.seconds[-1] if recording.seconds else 0.0
    silent = now - _began(recording) - seconds
    if recording.problem or not math.isfinite(silent):
        return str(STANDS["unknown"])
    if silent <= max(STANDS["pause"], STANDS["pauses"] * seconds / max(1, len(recording))):
        return str(STANDS["growing"])
    size, unit = next(one[1:] for one in reversed(STANDS["units"]) if silent >= one[0])
    return str(STANDS["late"]).replace("{time}", f"{math.floor(silent / size)} {unit}")


def _began(recording: Recording) -> float:
    """When a recording began, in seconds since 1970; NaN where its header gives no time in UTC."""
    try:
        found = UTC_TIME.fullmatch(recording.header["created"])
        # Python 3.10 reads neither "Z" nor fractions of any length.
        return datetime.fromisoformat(f"{found[1]}+00:00").timestamp() + float(found[2] or 0) if found else math.nan
    except ValueError:
        return math.nan


def change_in_words(name: str, start: float, end: float, path: str) -> str:
    """A change over depth, as a clause."""
    if start == 0 and end == 0:
        return f"{name} is exactly 0 at both ends"
    if start == 0 or end == 0:
        return f"{name} {'starts at' if start == 0 else 'falls to'} exactly 0 {path}"
    factor = max(start / end, end / start)
    if f"{factor:.3g}" == "1":
        return f"{name} stays the same size {path}"
    if factor < UNCHANGED_FACTOR:
        return f"{name} stays within a factor of {number(factor)} {path}"
    return f"{name} {'grows' if end > start else 'falls'} by a factor of {number(factor)} {path}"


def shared_prefix(names: Sequence[str]) -> str:
    """The modules that all names but the first and the last lie in, with a dot at the end: "transformer.h.".

    A table says them once, and whole only the names elsewhere. Empty for less than MIN_NAMES.
    """
    inner = names[1:-1] if len(names) >= MIN_NAMES else [""]
    prefix = inner[0]
    for name in inner:
        while not name.startswith(prefix):
            prefix = prefix[:-1]
    return prefix[: prefix.rfind(".") + 1]


def shortened(name: str, width: int) -> str:
    """A name cut in the middle to fit, without control characters, which a terminal would obey."""
    clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    if len(clean) <= width:
        return clean
    left = (width - 1) // 2
    return f"{clean[:left]}…{clean[len(clean) - (width - 1 - left) :]}"
