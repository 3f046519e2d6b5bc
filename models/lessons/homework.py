"""Homework: signed links that hide parts of a page, the code that shows them, and signed texts that students hand in.

Everything is signed with a secret of this server, so nothing is stored for a link, and nobody without the secret can
make a link, find its code, or change a text that was handed in.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from models.lessons.board import CODE_LETTERS, typed_code
from models.lessons.questions import plain
from models.lessons.stops import read_stop, title_of
from models.log import error_facts, event
from models.spec.bounds import MAX_STOP_CHARS

SECRET_VARIABLE = "PLAYGROUND_HOMEWORK_SECRET"  # environment variable: the secret, if several servers share it
MAX_TOKEN_CHARS = 2 * MAX_STOP_CHARS
MAX_NAME_CHARS, MAX_ANSWER_CHARS = 60, 2000
MAX_DEEDS, MAX_DEED_CHARS = 100, 200
MAX_HANDED_IN_CHARS = 500_000  # of all texts that are checked at once
CODE_LENGTH = 8
SIGNATURE = re.compile(r"Signature: ([0-9a-f]{64})")
HEADING, NAME, OPENED, HANDED_IN, TRIES, ANSWER = "Homework: ", "Name: ", "Opened: ", "Handed in: ", "Tries: ", "| "

# In `sys`, because Streamlit reloads this module for the pages when a source file changes, but not for the routes.
_secret: bytearray = sys.__dict__.setdefault("_add_norm_homework_secret", bytearray(secrets.token_bytes(32)))


@dataclass(frozen=True)
class Homework:
    """A link for homework: the stop that it opens and the names that it hides. `token` is its signed text."""

    stop: str
    hide: tuple[str, ...]
    token: str

    @property
    def id(self) -> str:
        return _mac("id", self.token)[:8]

    @property
    def code(self) -> str:
        """The code that shows what the link hides."""
        number = int(_mac("code", self.token), 16)
        return "".join(CODE_LETTERS[number // len(CODE_LETTERS) ** at % len(CODE_LETTERS)] for at in range(CODE_LENGTH))

    def opens(self, typed: str) -> bool:
        """Whether a typed code is the homework's."""
        return hmac.compare_digest(typed_code(typed).encode(errors="replace"), self.code.encode())


@dataclass(frozen=True)
class Checked:
    """A text that was handed in, as far as it can be read. `is_genuine`: this server signed it as it stands."""

    is_genuine: bool
    homework: str
    name: str
    opened: str
    handed_in: str
    tries: str


def use_secret_of(folder: Path) -> None:
    """Takes the server's secret from the environment, else from a file in a folder, which it makes if there is none."""
    if shared := os.environ.get(SECRET_VARIABLE):
        _secret[:] = hashlib.sha256(shared.encode()).digest()
        return
    file = folder / "homework.key"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                out.write(_secret.hex())
        _secret[:] = bytes.fromhex(file.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        event("homework_secret_lost", logging.WARNING, **error_facts(error))


def _mac(purpose: str, text: str) -> str:
    return hmac.new(_secret, f"{purpose}\n{text}".encode(), hashlib.sha256).hexdigest()


def new_homework(stop: str, hide: tuple[str, ...], nonce: str) -> Homework:
    """The link to a stop that hides names; another `nonce` gives another code."""
    payload = urlsafe_b64encode(json.dumps([stop, list(hide), nonce]).encode()).decode().rstrip("=")
    return Homework(stop, hide, f"{payload}.{_mac('link', payload)[:32]}")


def homework_from(token: str) -> Homework | None:
    """The homework of a link; None if this server has not signed it."""
    payload, _, signature = token[:MAX_TOKEN_CHARS].partition(".")
    if not hmac.compare_digest(signature.encode(errors="replace"), _mac("link", payload)[:32].encode()):
        return None
    try:
        stop, hide, _ = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return Homework(read_stop(str(stop))[0], tuple(map(str, hide)), token)
    except (ValueError, TypeError):  # a page that this version does not have
        return None


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def handed_in(homework: Homework, name: str, answer: str, deeds: list[tuple[str, str]]) -> str:
    """The signed text of what a student did: `deeds` are times and texts, the first one the opening of the link."""
    lines = [
        f"{HEADING}{plain(title_of(homework.stop))} ({homework.id})",
        f"{NAME}{plain(name)[:MAX_NAME_CHARS]}",
        f"{OPENED}{deeds[0][0] if deeds else now()}",
        f"{HANDED_IN}{now()}",
        f"{TRIES}{len(deeds)}",
        *(f"{ANSWER}{plain(line)}".rstrip() for line in answer[:MAX_ANSWER_CHARS].splitlines()),
        *(f"{time} {plain(deed)[:MAX_DEED_CHARS]}" for time, deed in deeds),
    ]
    text = _normal("\n".join(lines))
    return f"{text}\nSignature: {_mac('text', text)}\n"


def checked(text: str) -> list[Checked]:
    """What is in one or several texts that were handed in; the last one may lack its signature."""
    texts, lines = [], list[str]()
    for line in _normal(text[:MAX_HANDED_IN_CHARS]).split("\n"):
        signature = SIGNATURE.fullmatch(line)
        if signature is None:
            lines.append(line)
            continue
        texts.append(_read("\n".join(lines), signature[1]))
        lines = []
    return [*texts, *([_read("\n".join(lines), "")] if any(lines) else [])]


def _read(text: str, signature: str) -> Checked:
    values = [
        next((line.removeprefix(start) for line in text.split("\n") if line.startswith(start)), "")
        for start in (HEADING, NAME, OPENED, HANDED_IN, TRIES)
    ]
    return Checked(hmac.compare_digest(_mac("text", text), signature), *values)


def _normal(text: str) -> str:
    """A text without what mail programs and editors change: line ends, spaces there, and empty lines."""
    lines = text.replace("\ufeff", "").splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())
