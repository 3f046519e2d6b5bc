"""The examples of the autoregression lab."""

from dataclasses import dataclass

from components.instruments.lens import TEXTS

NO_END = "none"


@dataclass(frozen=True)
class Example:
    """A task, a prompt, and settings for continuing it."""

    task: str
    prompt: str
    temperature: float = 0.0
    length: int = 20
    end: str = NO_END


EXAMPLES = {
    "A prompt, the next token, append, repeat": Example("book", "Call me Ish"),
    "Refinement, which value belongs to this key?": Example("recall", TEXTS["recall"], length=1),
    "Stop at a full stop or at the length": Example("book", "The whale ", temperature=0.8, length=120, end="."),
    "A sequence that is said again": Example("copy", TEXTS["copy"], length=16),
    "A sequence that is said in order": Example("sort", TEXTS["sort"], length=16),
}
