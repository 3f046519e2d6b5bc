"""The tasks in words and shapes; their data is made in `models/tasks`, under the same keys."""

from dataclasses import dataclass
from typing import Any

MAX_TOKENS = 32
SYMBOLS = 16


@dataclass(frozen=True)
class Task:
    """What a net is asked. `kind` decides the picture that goes with it: points, image, sequence or text.

    `tokens` and `row_tokens` are the sequence lengths that an MLP and a transformer see; `features` is the number of
    real inputs per token of an MLP, or 0 where tokens are symbols of an alphabet of `vocabulary`.
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
    "linear": Task("on which side of a straight line does the point lie? no branch is needed for it", "points", 2, 1, features=2),
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


def note(cfg: Any) -> str | None:
    """What a configuration cannot learn or need not learn of its task, in sentences for the page; None if there is nothing."""
    kind = TASKS[cfg.task].kind
    if kind not in ("sequence", "text"):
        return None
    sentences = []
    if cfg.net == "mlp" and kind == "sequence":
        sentences.append(f"An MLP works token by token: it cannot look back, so it cannot {cfg.task}.")
    if cfg.net == "mlp" and kind == "text":
        sentences.append("An MLP works token by token: it guesses the next character from one character alone.")
    if cfg.net == "transformer" and cfg.mask == "none":
        sentences.append("Without a mask a token sees the next one, which is its answer: a low loss then proves nothing.")
    if _has_batch_norm(cfg):
        sentences.append("In training, batch norm averages over later tokens too: what it passes on has seen the future.")
    return " ".join(sentences) or None


def _has_batch_norm(cfg: Any) -> bool:
    """Whether some slot of the net holds batch norm; the stacks of several streams bring norms of their own."""
    from models.spec.plan import plan

    arranged = plan(cfg)
    slots = [(s.norm_in, s.norm_mid, s.norm_out, s.norm_add) for s in arranged.sublayers if not s.identity]
    own = cfg.norm if cfg.stack != "single" else "none"
    return "batch norm" in {own, arranged.final_norm, *(norm for slot in slots for norm in slot)}
