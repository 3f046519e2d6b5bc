"""The examples of the autoregression lab."""

from dataclasses import dataclass

from components.instruments.lens import TEXTS as PROMPTS

NO_END = "none"


@dataclass(frozen=True)
class PromptExample:
    """A task, a prompt, and settings for continuing it."""

    task: str
    prompt: str
    temperature: float = 0.0
    length: int = 20
    end: str = NO_END


EXAMPLES = {
    "A prompt, the next token, append, repeat": PromptExample("book", "Call me Ish"),
    "Refinement, which value belongs to this key?": PromptExample("recall", PROMPTS["recall"], length=1),
    "Stop at a full stop or at the length": PromptExample("book", "The whale ", temperature=0.8, length=120, end="."),
    "A repeated sequence": PromptExample("copy", PROMPTS["copy"], length=16),
    "A sequence in order": PromptExample("sort", PROMPTS["sort"], length=16),
}
