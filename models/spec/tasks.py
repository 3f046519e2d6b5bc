"""The tasks: descriptions and shapes. Their data is in `models/tasks`, under the same keys."""

from dataclasses import dataclass

MAX_TOKENS = 32
SYMBOLS = 16


@dataclass(frozen=True)
class Task:
    """What a net is asked; `kind` (points, image, sequence or text) decides the picture that goes with it.

    `tokens` is the length of a sample; a transformer sees `row_tokens` instead if they are given. `features` is the
    number of real inputs per token of an MLP; where tokens are symbols it is 0, and `vocabulary` counts them.
    """

    reading: str
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
        "which digit was written? 1,797 real 8x8 images, 359 of them held out",
        "image",
        10,
        1,
        features=64,
        row_tokens=8,
        source="UCI Optical Recognition of Handwritten Digits, Alpaydin & Kaynak 1998, CC BY 4.0",
    ),
    "book": Task(
        "which character comes next? Moby-Dick, chapters 1 to 22, the last tenth held out",
        "text",
        75,
        MAX_TOKENS,
        vocabulary=75,
        source="Herman Melville, Moby-Dick (1851), public domain",
    ),
    "spiral": Task("on which of three arms of a spiral does the point lie?", "points", 3, 1, features=2),
    "circles": Task("does the point lie on the inner or the outer ring?", "points", 2, 1, features=2),
    "xor": Task("do the two coordinates have the same sign?", "points", 2, 1, features=2),
    "linear": Task(
        "on which side of a straight line does the point lie? no branch is needed for it", "points", 2, 1, features=2
    ),
    "copy": Task("sixteen random symbols, then the same again", "sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=SYMBOLS),
    "reverse": Task("sixteen random symbols, then backwards", "sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=SYMBOLS),
    "sort": Task("sixteen random symbols, then in order", "sequence", SYMBOLS, 2 * SYMBOLS, vocabulary=SYMBOLS),
    "recall": Task(
        "eight keys with their values, then each key again: its value must be looked up",
        "sequence",
        SYMBOLS,
        2 * SYMBOLS,
        vocabulary=2 * SYMBOLS,
    ),
}


def asks_each_token(task: str) -> bool:
    """Whether a task asks an answer of each token, not one of a whole sample."""
    return TASKS[task].kind in ("sequence", "text")
