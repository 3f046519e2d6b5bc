"""A comparison in the address bar: one key for each column, whose value is the column's link."""

import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlencode

from components.shell.session import Key
from models.spec import RunConfig
from models.spec.pairings import MAX_COLUMNS, PAIRINGS
from models.spec.query import sanitize

LETTERS = "abcde"
KEYS = (*LETTERS, "seeds")  # of the address
MAX_SEEDS = 10
MAX_LINK_CHARS = 4000  # of a column
MAX_LINK_KEYS = 60
MAX_DIGITS = 5  # of the number of seeds
DEFAULT_PAIRING = "residual on and off"

COMPARE_BEGUN = Key("compare_begun", "")  # the last request to play the comparison


def request_play() -> None:
    """Makes the comparison play once, as soon as it is shown."""
    COMPARE_BEGUN.put(secrets.token_hex(8))


def play_request() -> str:
    """The token of the last request to play the comparison; empty if there was none."""
    return COMPARE_BEGUN.get()


def to_query(columns: Sequence[RunConfig], seeds: int) -> dict[str, str]:
    """The columns and the number of seeds as the query of an address."""
    query = {letter: urlencode(cfg.to_query()) for letter, cfg in zip(LETTERS, columns, strict=False)}
    return query | ({"seeds": str(seeds)} if seeds > 1 else {})


def from_query(query: Mapping[str, str]) -> tuple[list[RunConfig], int, list[str]]:
    """Two to five legal configurations, the number of seeds, and notes on what was clamped or ignored."""
    notes: list[str] = []
    columns: list[RunConfig] = []
    for letter in sorted(set(query) & set(LETTERS)):
        cfg, warnings = RunConfig.from_query(
            dict(parse_qsl(query[letter][:MAX_LINK_CHARS], keep_blank_values=True)[:MAX_LINK_KEYS])
        )
        columns.append(cfg)
        notes += [f"column {letter.upper()}: {note}" for note in warnings]
    ignored = [key for key in query if len(key) == 1 and key.isalpha() and key not in LETTERS]
    if ignored:
        notes.append(f"a comparison has at most {MAX_COLUMNS} columns: {len(ignored)} more were ignored")
    if len(columns) == 1:
        columns.append(RunConfig())
        notes.append("a comparison needs two columns: the second is the default network")
    text = query.get("seeds", "1")
    is_number = text.isdecimal() and len(text) <= MAX_DIGITS
    seeds = min(max(int(text), 1), MAX_SEEDS) if is_number else 1
    if text != str(seeds):
        notes.append(f"Seeds {sanitize(text)} is out of range (1 to {MAX_SEEDS}): {seeds} instead")
    return columns or list(PAIRINGS[DEFAULT_PAIRING].make()), seeds, notes
