"""A digest: a result in a few URL-safe characters, enough to tell whether a run gave the same result elsewhere.

`1.<version of torch>.<numbers>`: the loss at log-spaced steps, and activation and gradient at both ends of the stream
in the last row, each rounded to three significant digits.
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
MAX_DIGEST_CHARS = 400
DIGITS = 3  # significant
TOLERANCE = 0.6  # units of the last digit; rounding alone explains 0.5
# Mantissas that encode non-finite numbers.
INF = 32767
NAN = 32766
NON_FINITE = {INF: math.inf, NAN: math.nan}
DIGEST = re.compile(r"(\d{1,4})\.([A-Za-z0-9._-]{1,40})\.([A-Za-z0-9_-]+)")  # format, version of torch, numbers
ENDS = ("activation at the input", "activation at the end", "gradient at the input", "gradient at the end")


@dataclass(frozen=True)
class Comparison:
    """Whether a trace agrees with a digest, as a sentence too; `same` is None while undecidable."""

    same: bool | None
    sentence: str


def digest_of(trace: Trace, torch_version: str | None = None) -> str:
    """Digest of a trace with at least one row. `torch_version`: default the installed one. ValueError if empty."""
    if len(trace) == 0:
        raise ValueError("trace is empty; a digest needs one row at least")
    rows = len(trace)
    numbers = [float(trace.loss[step]) for step in _sampled_rows(rows)] + _stream_ends(trace, rows - 1)
    packed = struct.pack(">H", rows) + b"".join(
        struct.pack(">hb", *_mantissa_and_exponent(number)) for number in numbers
    )
    text = base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")
    return f"{FORMAT}.{_digest_version(torch_version or _installed_version())}.{text}"


def compare(digest: str, trace: Trace, torch_version: str | None = None) -> Comparison:
    """Compares a trace with a digest; the sentence says where and by how much they differ, with both torch versions."""
    try:
        there, rows, numbers = _parse(digest)
    except ValueError as error:
        return Comparison(None, str(error))
    versions = TEXTS("versions", there=there, here=_digest_version(torch_version or _installed_version()))
    comparable = [
        (step, number) for step, number in zip(_sampled_rows(rows), numbers, strict=False) if step < len(trace)
    ]
    for step, number in comparable:
        if not _agrees(number, float(trace.loss[step])):
            difference = _difference_in_words(float(trace.loss[step]), number)
            return Comparison(False, TEXTS("loss differs", step=step, apart=difference, versions=versions))
    if len(trace) < rows and trace.divergence is not None:
        return Comparison(False, TEXTS("ended early", steps=len(trace), rows=rows, versions=versions))
    if len(trace) < rows:
        return Comparison(None, TEXTS("same so far", steps=len(trace), rows=rows))
    for name, number, here in zip(ENDS, numbers[-len(ENDS) :], _stream_ends(trace, rows - 1), strict=True):
        if not _agrees(number, here):
            difference = _difference_in_words(here, number)
            return Comparison(False, TEXTS("end differs", end=name, apart=difference, versions=versions))
    return Comparison(True, TEXTS("same", losses=len(comparable), digits=DIGITS, versions=versions))


def _sampled_rows(rows: int) -> list[int]:
    """Rows whose loss a digest contains: 0, 1, 2, 4, 8, ... and the last."""
    powers = [0, *(2**power for power in range(rows.bit_length()))]
    return sorted({step for step in powers if step < rows} | {rows - 1})


def _stream_ends(trace: Trace, row: int) -> list[float]:
    return [float(series[row][end]) for series in (trace.act_rms, trace.grad_rms) for end in (0, -1)]


def _mantissa_and_exponent(number: float) -> tuple[int, int]:
    """Mantissa of DIGITS digits, and exponent of ten."""
    if not math.isfinite(number):
        return (NAN if math.isnan(number) else INF), 0
    mantissa, exponent = f"{number:.{DIGITS - 1}e}".split("e")
    return round(float(mantissa) * 100), int(exponent)


def _number(mantissa: int, exponent: int) -> float:
    return NON_FINITE[mantissa] if mantissa in NON_FINITE else float(f"{mantissa}e{exponent - DIGITS + 1}")


def _agrees(rounded: float, exact: float) -> bool:
    """Whether a number of a digest is the rounded one, to within TOLERANCE; NaN agrees with NaN."""
    if not (math.isfinite(rounded) and math.isfinite(exact)):
        return (math.isnan(rounded), rounded == math.inf) == (math.isnan(exact), exact == math.inf)
    if rounded == 0:
        return exact == 0
    unit = 10.0 ** (math.floor(math.log10(abs(rounded)) + 1e-9) - DIGITS + 1)
    return abs(rounded - exact) <= TOLERANCE * unit


def _difference_in_words(here: float, there: float) -> str:
    """Both numbers, and their relative difference or ratio if it is defined."""
    numbers = f"{here:.4g} here, {there:.3g} there"
    if not (math.isfinite(here) and math.isfinite(there)) or here * there <= 0:
        return numbers
    ratio = max(here / there, there / here)
    return f"{numbers}, {ratio - 1:.2%} apart" if ratio < 2 else f"{numbers}, a factor of {ratio:.3g} apart"


def _parse(digest: str) -> tuple[str, int, list[float]]:
    """Parses a digest into torch version, rows and numbers; ValueError with a sentence for anything else."""
    match = DIGEST.fullmatch(digest) if len(digest) <= MAX_DIGEST_CHARS else None
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
    if rows == 0 or len(numbers) != len(_sampled_rows(rows)) + len(ENDS):
        raise ValueError(TEXTS("unreadable"))
    return match[2], rows, numbers


def _digest_version(torch_version: str) -> str:
    """A version without its build ("2.13.0+cpu" as "2.13.0"), restricted to the characters of a digest."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", torch_version.partition("+")[0])[:40] or "unknown"


def _installed_version() -> str:
    """Installed version of torch, without importing it."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return "unknown"
