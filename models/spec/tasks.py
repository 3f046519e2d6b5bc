"""The tasks: descriptions and shapes. Their data is in `models/tasks`, under the same keys."""

from dataclasses import dataclass

from models.spec.knob import Choice, describe

MAX_TOKENS = 32
SYMBOLS = 16


@dataclass(frozen=True)
class Task(Choice):
    """What a net is asked; `kind` (points, image, sequence or text) decides the picture that goes with it.

    `tokens` is the length of a sample; a transformer sees `row_tokens` instead if they are given. `features` is the
    number of real inputs per token of an MLP; where tokens are symbols it is 0, and `vocabulary` counts them.
    """

    kind: str
    classes: int
    tokens: int
    features: int = 0
    vocabulary: int = 0
    row_tokens: int = 0
    source: str = "made on the spot"

    def length(self, net: str) -> int:
        """Tokens per sample for this net."""
        return self.row_tokens if net == "transformer" and self.row_tokens else self.tokens

    def inputs(self, net: str) -> int:
        """Real inputs per token for this net; 0 where tokens are symbols."""
        return self.features * self.tokens // self.length(net)


TASKS = {
    "digits": Task(
        "image",
        10,
        1,
        features=64,
        row_tokens=8,
        source="UCI Optical Recognition of Handwritten Digits, Alpaydin & Kaynak 1998, CC BY 4.0",
    ),
    "book": Task("text", 75, MAX_TOKENS, vocabulary=75, source="Herman Melville, Moby-Dick (1851), public domain"),
    "spiral": Task("points", 3, 1, features=2),
    "circles": Task("points", 2, 1, features=2),
    "xor": Task("points", 2, 1, features=2),
    "linear": Task("points", 2, 1, features=2),
    "copy": Task("sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=SYMBOLS),
    "reverse": Task("sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=SYMBOLS),
    "sort": Task("sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=SYMBOLS),
    "successor": Task("sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=SYMBOLS),
    "recall": Task("sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=2 * SYMBOLS),
}

describe(tasks=TASKS)


def predicts_every_token(task: str) -> bool:
    """Whether a task asks an answer of each token, not one of a whole sample."""
    return TASKS[task].kind in ("sequence", "text")
