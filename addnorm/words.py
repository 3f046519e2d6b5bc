"""Sentences on a row of a recording that hold for any net: measurements without a judgement.

A signal that grows a hundredfold ends some small nets and is usual in large language models, so no size is called good
or bad.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from addnorm.recording import Recording

# Placeholders in a sentence, filled in when it is shown.
STEP = "{step}"
LOSS = "{loss}"  # with three significant digits
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MAX_PLAIN_DECADES = 6  # numbers further from 1 than this are written with a power of ten
UNCHANGED_FACTOR = 2.0  # changes over depth and from site to site below this factor are not reported
MIN_PREFIX_NAMES = 5  # fewer names have no common prefix
UTC_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)")
# The status of a recording in words. The first three keys are values of `end` in its last line.
STATUS: dict[str, Any] = {
    "done": "ended",
    "error": "ended by {reason}",
    "recorder": "the recorder gave up: {reason}",
    "growing": "growing",
    "late": "no row for {time}: paused or killed",
    "unknown": "not ended",
    # A row is late after the longer of `pause` seconds and `pauses` mean times from row to row.
    "pause": 60.0,
    "pauses": 10.0,
    # Each unit: the silence in seconds from which it is used, its own seconds, its name.
    "units": ((0, 60, "min"), (2 * 3600, 3600, "h"), (48 * 3600, 86400, "days")),
}
# By series: subject and preposition of a sentence about it.
PHRASES = {"act_rms": ("the signal", "at"), "grad_rms": ("the gradient", "on the way back through")}
AFTER_SIGNAL = {"output": "model's output", "loss": "loss"}  # computed after the signal and before the gradient


class NonFinite(NamedTuple):
    """The first non-finite quantity of a row, and its site or block; empty for a quantity without one."""

    quantity: str
    place: str


class Jump(NamedTuple):
    """A change from one site to the next. `site` is the one that is computed later.

    `factor`: of 1 or more; infinite from or to zero.
    """

    site: str
    start: float
    end: float
    factor: float


def number(value: float, digits: int = 3) -> str:
    """A number with up to `digits` significant digits: "0.186", "63,000", "1.6·10¹⁶"."""
    if not math.isfinite(value):
        return str(float(value))
    mantissa, _, exponent = f"{value + 0.0:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -MAX_PLAIN_DECADES <= power < MAX_PLAIN_DECADES:
        rounded = float(f"{value:.{digits}g}") + 0.0  # never -0.0
        return _without_trailing_zeros(f"{rounded:,.{max(0, digits - 1 - power)}f}")
    mantissa = _without_trailing_zeros(mantissa)
    power_of_ten = f"10{str(power).translate(SUPERSCRIPT)}"
    if mantissa in ("1", "-1"):
        return mantissa.replace("1", power_of_ten)
    return f"{mantissa}·{power_of_ten}"


def _without_trailing_zeros(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def verdict(recording: Recording, row: int) -> str:
    """One sentence on a row: where it is not finite, or the change of signal and gradient over depth."""
    if not recording.sites:
        return "No sites: only loss and weights were recorded."
    if (non_finite := first_non_finite(recording, row)) is not None:
        where = f" first at {non_finite.place}" if non_finite.place else ""
        step = f"step {recording.steps[row]}{where}{_skipped_update(recording, row)}"
        return f"Not finite: the {non_finite.quantity} of {step}."
    act = [value for _, value in comparable_values(recording, "act_rms", row)]
    grad = [value for _, value in comparable_values(recording, "grad_rms", row)]
    clauses = []
    if len(act) > 1:
        clauses.append(change_clause("the signal", act, "over depth"))
    if len(grad) > 1:
        clauses.append(change_clause("its gradient", grad[::-1], "on the way back"))
    if not clauses:
        return "Too little was measured for a verdict, which compares sites of the same size."
    return f"{capitalised(', '.join(clauses))}{'' if grad else '; no gradient was measured'}."


def jump_sentence(recording: Recording, row: int) -> str:
    """Where signal and gradient change most from one site to the next; empty if neither changes much."""
    largest = ((name, largest_jump(recording, name, row)) for name in PHRASES)
    clauses = [jump_clause(name, jump) for name, jump in largest if jump.factor >= UNCHANGED_FACTOR]
    return f"{capitalised('; '.join(clauses))}." if clauses else ""


def largest_jump(recording: Recording, name: str, row: int) -> Jump:
    """The largest change of a series from one site to the next; backwards for the gradient."""
    jumps = list(_jumps(recording, name, row))
    if name == "grad_rms":
        jumps = [(site, end, start, factor) for site, start, end, factor in reversed(jumps)]
    return Jump(*max(jumps, key=itemgetter(3), default=("", 0.0, 0.0, 1.0)))


def jump_clause(name: str, jump: Jump) -> str:
    """A jump of a series as a clause."""
    subject, where = PHRASES[name]
    if jump.start == 0 or jump.end == 0:
        return f"{subject} {'rises from' if jump.start == 0 else 'falls to'} exactly 0 {where} {jump.site}"
    verb = "grows" if jump.end > jump.start else "falls"
    return f"{subject} {verb} most {where} {jump.site}, by a factor of {number(jump.factor)}"


def _jumps(recording: Recording, name: str, row: int) -> Iterator[tuple[str, float, float, float]]:
    """The changes between finite values at successive sites of a stream that have equally many numbers."""
    previous = math.nan
    size = 0
    for site, value in zip(recording.sites, recording.values_at(name, row), strict=True):
        if site.kind == "start":
            previous = math.nan
        if value is not None:
            if site.size == size and 0 <= previous < math.inf and 0 <= value < math.inf:
                yield site.name, previous, value, _factor(previous, value)
            previous, size = value, site.size


def _factor(start: float, end: float) -> float:
    if start == end:
        return 1.0
    return (start / end if start > end else end / start) if start and end else math.inf


def comparable_values(recording: Recording, name: str, row: int) -> list[tuple[str, float]]:
    """The sites where a series was measured in a row, each with its value, of those with the most common size.

    A map of 16 x 32 x 32 numbers and four logits have no sizes per number that could be compared.
    """
    pairs = zip(recording.sites, recording.values_at(name, row), strict=True)
    values = [(site, value) for site, value in pairs if value is not None]
    sizes = [site.size for site, _ in values]
    common = max(Counter(sizes).items(), key=itemgetter(1), default=(0, 0))[0]
    return [(site.name, value) for site, value in values if site.size == common]


def first_non_finite(recording: Recording, row: int) -> NonFinite | None:
    """The first non-finite quantity of a row in the order of computation; None if all are finite."""

    def non_finite_indices(name: str) -> list[int]:
        values = recording.values_at(name, row) if row in recording.non_finite else []
        return [index for index, value in enumerate(values) if value is not None and not math.isfinite(value)]

    if act := non_finite_indices("act_rms"):
        return NonFinite("signal", recording.sites[act[0]].name)
    for name, quantity in AFTER_SIGNAL.items():
        if non_finite_indices(name):
            return NonFinite(quantity, "")
    if grad := non_finite_indices("grad_rms"):
        return NonFinite("gradient", recording.sites[grad[-1]].name)
    if weights := non_finite_indices("weight_grad_rms"):
        if len(weights) == len(recording.blocks):  # clipping by the norm spreads a single one to all
            return NonFinite("gradient of all weights", "")
        return NonFinite("weights' gradient", recording.blocks[weights[-1]].name)
    return NonFinite("gradient of a bias or gain", "") if non_finite_indices("grad_norm") else None


def _skipped_update(recording: Recording, row: int) -> str:
    return "; AMP left its update out" if row in recording.skipped else ""


def update_sentence(recording: Recording, row: int) -> str:
    """The block that the update of a row changed most; empty if no update was measured."""
    pairs = zip(recording.blocks, recording.values_at("update_to_weight", row), strict=True)
    sizes = [(block.name, value) for block, value in pairs if value is not None and not math.isnan(value)]
    if not sizes:
        return ""
    name, size = max(sizes, key=lambda pair: pair[1])
    if size == 0:
        return f"The update of step {recording.steps[row]} changed no block."
    return f"The update of step {recording.steps[row]} changed {name} most, by {number(100 * size)}% of its size."


def weight_sentence(recording: Recording, row: int) -> str:
    """The spread of the blocks' weight gradients; empty if none was measured."""
    values = [value for value in recording.values_at("weight_grad_rms", row) if value is not None]
    if not all(map(math.isfinite, values)):
        return "Some blocks' weight gradients are not finite."
    positive = [value for value in values if value > 0]
    if not positive:
        return "No block's weights receive a gradient." if values else ""
    zeros = len(values) - len(positive)
    others = f"; {zeros} of {len(values)} receive none" if zeros else ""
    ratio = number(_factor(min(positive), max(positive)))
    return f"The largest of the blocks' weight gradients is {ratio} times the smallest{others}."


def non_finite_sentence(recording: Recording, row: int) -> str:
    """A sentence on the first non-finite quantity of a row; empty if all are finite."""
    non_finite = first_non_finite(recording, row)
    if non_finite is None:
        return ""
    where = f"at {non_finite.place} in" if non_finite.place else "of"
    step = f"step {recording.steps[row]}{_skipped_update(recording, row)}"
    return f"The first number that is not finite is the {non_finite.quantity} {where} {step}."


def recording_status(recording: Recording, now: float) -> str:
    """Whether a recording is growing, has ended, or stopped without its last line. `now`: seconds since 1970."""
    if end := recording.end:
        return str(STATUS[end["end"]]).replace("{reason}", end["reason"])
    seconds = recording.seconds[-1] if recording.seconds else 0.0
    silence = now - _start_time(recording) - seconds
    if recording.problem or not math.isfinite(silence):
        return str(STATUS["unknown"])
    seconds_per_row = seconds / max(1, len(recording))
    if silence <= max(STATUS["pause"], STATUS["pauses"] * seconds_per_row):
        return str(STATUS["growing"])
    size, unit = next((size, unit) for start, size, unit in reversed(STATUS["units"]) if silence >= start)
    return str(STATUS["late"]).replace("{time}", f"{math.floor(silence / size)} {unit}")


def _start_time(recording: Recording) -> float:
    """The creation time in seconds since 1970; NaN if the header gives none in UTC."""
    match = UTC_TIME.fullmatch(recording.header["created"])
    if match is None:
        return math.nan
    try:
        # Python 3.10 reads neither "Z" nor fractions of any length.
        return datetime.fromisoformat(f"{match[1]}+00:00").timestamp() + float(match[2] or 0)
    except ValueError:
        return math.nan


def change_clause(name: str, sizes: Sequence[float], path: str) -> str:
    """How sizes change over depth as a clause: the last over the first, and how far apart those between lie."""
    start, end = sizes[0], sizes[-1]
    if start == 0 and end == 0:
        return f"{name} is exactly 0 at both ends"
    if start == 0 or end == 0:
        return f"{name} {'starts at' if start == 0 else 'falls to'} exactly 0 {path}"
    factor, spread = _factor(start, end), _factor(min(sizes), max(sizes))
    if f"{spread:.3g}" == "1":
        return f"{name} stays the same size {path}"
    if spread < UNCHANGED_FACTOR:
        return f"{name} stays within a factor of {number(spread)} {path}"
    if factor < UNCHANGED_FACTOR:
        ends = (
            "as large as it began"
            if f"{factor:.3g}" == "1"
            else f"{number(factor)} times {'larger' if end > start else 'smaller'}"
        )
        return f"{name} varies by a factor of {number(spread)} {path} and ends {ends}"
    return f"{name} {'grows' if end > start else 'falls'} by a factor of {number(factor)} {path}"


def capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def common_prefix(names: Sequence[str]) -> str:
    """The modules shared by all names except the first and the last, with a final dot: "transformer.h.".

    Empty for fewer than MIN_PREFIX_NAMES names. A table prints the prefix once.
    """
    inner = names[1:-1] if len(names) >= MIN_PREFIX_NAMES else [""]
    prefix = inner[0]
    for name in inner:
        while not name.startswith(prefix):
            prefix = prefix[:-1]
    return prefix[: prefix.rfind(".") + 1]


def truncate(name: str, width: int) -> str:
    """A name shortened in the middle to `width` characters, without control characters, which a terminal would obey."""
    clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    if len(clean) <= width:
        return clean
    left = (width - 1) // 2
    return f"{clean[:left]}…{clean[len(clean) - (width - 1 - left) :]}"
