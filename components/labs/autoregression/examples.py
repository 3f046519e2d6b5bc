"""What the autoregression lab can begin with: examples of the notes, or beside them."""

from dataclasses import dataclass

from components.instruments.lens import TEXTS

NO_END = "none"


@dataclass(frozen=True)
class Example:
    """An example of the notes, or beside them: a task, a prompt, and how it is gone on with."""

    task: str
    prompt: str
    temperature: float = 0.0
    length: int = 20
    end: str = NO_END


EXAMPLES = {
    "Example 19: a prompt, the next token, append, repeat": Example("book", "Call me Ish"),
    "Example 20: refinement, which value belongs to this key?": Example("recall", TEXTS["recall"], length=1),
    "Example 26: stop at a full stop or at the length": Example("book", "The whale ", temperature=0.8, length=120, end="."),
    "A sequence that is said again": Example("copy", TEXTS["copy"], length=16),
    "A sequence that is said in order": Example("sort", TEXTS["sort"], length=16),
}
