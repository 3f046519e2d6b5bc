"""Tasks: their shapes and sources. `models/tasks` has their data under the same keys."""

from dataclasses import dataclass

from models.spec.knob import VocabularyChoice, describe

MAX_TOKENS = 32  # per sample
SYMBOLS = 16  # of the sequence tasks


@dataclass(frozen=True)
class Task(VocabularyChoice):
    """A classification task. `kind` (points, image, sequence or text) selects the picture of its predictions.

    `tokens` is the length of a sample; if `row_tokens` is set, a transformer splits a sample into that many. An MLP
    reads `features` real inputs per token. Where tokens are symbols, `features` is 0 and `vocabulary` counts them.
    `answers` counts the targets of the held-out samples.
    """

    kind: str
    classes: int
    tokens: int
    answers: int
    features: int = 0
    vocabulary: int = 0
    row_tokens: int = 0
    source: str = "made on the spot"

    def length(self, net: str) -> int:
        """Tokens per sample in a net of this kind."""
        return self.row_tokens if net == "transformer" and self.row_tokens else self.tokens

    def inputs(self, net: str) -> int:
        """Real inputs per token in a net of this kind; 0 where tokens are symbols."""
        return self.features * self.tokens // self.length(net)


TASKS = {
    "digits": Task(
        "image",
        10,
        1,
        359,
        features=64,
        row_tokens=8,
        source="UCI Optical Recognition of Handwritten Digits, Alpaydin & Kaynak 1998, CC BY 4.0",
    ),
    "book": Task(
        "text",
        75,
        MAX_TOKENS,
        64 * MAX_TOKENS,
        vocabulary=75,
        source="Herman Melville, Moby-Dick (1851), public domain",
    ),
    "spiral": Task("points", 3, 1, 300, features=2),
    "circles": Task("points", 2, 1, 300, features=2),
    "xor": Task("points", 2, 1, 300, features=2),
    "linear": Task("points", 2, 1, 300, features=2),
    "copy": Task("sequence", SYMBOLS, 2 * SYMBOLS, 64 * SYMBOLS, vocabulary=SYMBOLS),
    "reverse": Task("sequence", SYMBOLS, 2 * SYMBOLS, 64 * SYMBOLS, vocabulary=SYMBOLS),
    "sort": Task("sequence", SYMBOLS, 2 * SYMBOLS, 64 * SYMBOLS, vocabulary=SYMBOLS),
    "successor": Task("sequence", SYMBOLS, 2 * SYMBOLS, 64 * 2 * SYMBOLS, vocabulary=SYMBOLS),
    "recall": Task("sequence", SYMBOLS, 2 * SYMBOLS, 64 * 8, vocabulary=2 * SYMBOLS),
}

describe(tasks=TASKS)


def needs_attention(task: str) -> bool:
    """Whether the answers stand in other tokens than the one that is asked."""
    return TASKS[task].kind == "sequence" and task != "successor"


def predicts_every_token(task: str) -> bool:
    """Whether a task has a target for each token, not one for a whole sample."""
    return TASKS[task].kind in ("sequence", "text")
