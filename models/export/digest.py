"""A digest: a result in a few characters that fit a link, enough to say whether a run came out the same elsewhere.

`1.<version of torch>.<numbers>`: the loss at log-spaced steps, and activation and gradient at both ends of the stream
in the last row, each rounded to three significant digits. Only A-Z, a-z, 0-9, dot, hyphen and underscore.
"""

import base64
import math
import re
import struct
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from models.content import Texts
from models.trace import Trace

TEXTS = Texts("digest")
FORMAT = "1"
LIMIT = 400  # characters
DIGITS = 3
TOLERANCE = 0.6  # units of the last digit: rounding alone explains half a unit
INF, NAN = 32767, 32766  # mantissas that stand for what is not finite
SPECIAL = {INF: math.inf, NAN: math.nan}
ENDS = ("activation at the input", "activation at the end", "gradient at the input", "gradient at the end")


@dataclass(frozen=True)
class Comparison:
    """Whether a trace agrees with a digest, and a sentence; `same` is None if that cannot be said (yet)."""

    same: bool | None
    sentence: str


def digest_of(trace: Trace, torch_version: str | None = None) -> str:
    """The digest of a finished or partial trace of at least one row, computed with this or another version of torch."""
    if len(trace) == 0:
        raise ValueError("trace is empty; a digest needs one row at least")
    rows = len(trace)
    numbers = [float(trace.loss[step]) for step in _steps(rows)] + _ends(trace, rows - 1)
    packed = struct.pack(">H", rows) + b"".join(struct.pack(">hb", *_parts(number)) for number in numbers)
    text = base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")
    return f"{FORMAT}.{_plain(torch_version or _installed())}.{text}"


def compare(digest: str, trace: Trace, torch_version: str | None = None) -> Comparison:
    """Whether a trace has the digest's result, or where and by how much it departs, with both versions of torch."""
    try:
        there, rows, numbers = _read(digest)
    except ValueError as error:
        return Comparison(None, str(error))
    versions = TEXTS("versions", there=there, here=_plain(torch_version or _installed()))
    known = [(step, number) for step, number in zip(_steps(rows), numbers, strict=False) if step < len(trace)]
    for step, number in known:
        if not _agree(number, float(trace.loss[step])):
            apart = _apart(float(trace.loss[step]), number)
            return Comparison(False, TEXTS("loss differs", step=step, apart=apart, versions=versions))
    if len(trace) < rows and trace.divergence is not None:
        return Comparison(False, TEXTS("ended early", steps=len(trace), rows=rows, versions=versions))
    if len(trace) < rows:
        return Comparison(None, TEXTS("same so far", steps=len(trace), rows=rows))
    for name, number, here in zip(ENDS, numbers[-len(ENDS) :], _ends(trace, rows - 1), strict=True):
        if not _agree(number, here):
            apart = _apart(here, number)
            return Comparison(False, TEXTS("end differs", end=name, apart=apart, versions=versions))
    return Comparison(True, TEXTS("same", losses=len(known), digits=DIGITS, versions=versions))


def _steps(rows: int) -> list[int]:
    """The rows that a digest samples: 0, 1, 2, 4, 8, ... and the last."""
    powers = [0, *(2**power for power in range(rows.bit_length()))]
    return sorted({step for step in powers if step < rows} | {rows - 1})


def _ends(trace: Trace, row: int) -> list[float]:
    return [float(series[row][at]) for series in (trace.act_rms, trace.grad_rms) for at in (0, -1)]


def _parts(number: float) -> tuple[int, int]:
    """The mantissa of DIGITS digits and the exponent of ten."""
    if not math.isfinite(number):
        return (NAN if math.isnan(number) else INF), 0
    mantissa, exponent = f"{number:.{DIGITS - 1}e}".split("e")
    return round(float(mantissa) * 100), int(exponent)


def _number(mantissa: int, exponent: int) -> float:
    return SPECIAL[mantissa] if mantissa in SPECIAL else float(f"{mantissa}e{exponent - DIGITS + 1}")


def _agree(rounded: float, exact: float) -> bool:
    if not (math.isfinite(rounded) and math.isfinite(exact)):
        return (math.isnan(rounded), rounded == math.inf) == (math.isnan(exact), exact == math.inf)
    if rounded == 0:
        return exact == 0
    unit = 10.0 ** (math.floor(math.log10(abs(rounded)) + 1e-9) - DIGITS + 1)
    return abs(rounded - exact) <= TOLERANCE * unit


def _apart(here: float, there: float) -> str:
    """Two numbers in words, and how far apart they are if that can be said."""
    numbers = f"{here:.4g} here, {there:.3g} there"
    if not (math.isfinite(here) and math.isfinite(there)) or here * there <= 0:
        return numbers
    ratio = max(here / there, there / here)
    return f"{numbers}, {ratio - 1:.2%} apart" if ratio < 2 else f"{numbers}, a factor of {ratio:.3g} apart"


def _read(digest: str) -> tuple[str, int, list[float]]:
    """The version of torch, rows and numbers in a digest; ValueError with a sentence for anything else."""
    match = (
        re.fullmatch(r"(\d{1,4})\.([A-Za-z0-9._-]{1,40})\.([A-Za-z0-9_-]+)", digest) if len(digest) <= LIMIT else None
    )
    if match is None:
        raise ValueError(TEXTS("unreadable"))
    if match[1] != FORMAT:
        raise ValueError(TEXTS("other format", format=match[1], known=FORMAT))
    try:
        packed = base64.urlsafe_b64decode(match[3] + "=" * (-len(match[3]) % 4))
        rows = struct.unpack(">H", packed[:2])[0]
        numbers = [_number(*parts) for parts in struct.iter_unpack(">hb", packed[2:])]
    except (ValueError, struct.error):
        rows, numbers = 0, []
    if rows == 0 or len(numbers) != len(_steps(rows)) + len(ENDS):
        raise ValueError(TEXTS("unreadable"))
    return match[2], rows, numbers


def _plain(torch_version: str) -> str:
    """A version without its build ("2.13.0+cpu" as "2.13.0"), in the characters of a digest."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", torch_version.partition("+")[0])[:40] or "unknown"


def _installed() -> str:
    """The installed version of torch, without importing it."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return "unknown"
