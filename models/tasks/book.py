"""`book`: predict the next character of Moby-Dick."""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.generator import generator
from models.spec import RunConfig
from models.tasks.base import HELD_OUT_SEED, Picture, Predict, TaskData, to_device

FILE = Path(__file__).parent / "data" / "moby_dick.txt"
HELD_OUT_WINDOWS = 64
PROMPT = "Call me Ish"  # the net continues it in the picture
SAMPLE_CHARS = 48  # length of the continuation
FIRST_SAMPLE_CHARS = 12  # of the one before training
TEMPERATURE = 0.5  # at 1 a small net rarely finishes a word, at 0 it repeats one for ever
MAX_CANDIDATES = 5  # most likely next characters in the picture


@cache
def text() -> str:
    return FILE.read_text(encoding="ascii")


@cache
def alphabet() -> str:
    """The characters of the text, sorted; class i is character i."""
    return "".join(sorted(set(text())))


def held_out_start() -> int:
    """Index of the first held-out character: the last tenth is held out."""
    return len(text()) * 9 // 10


@cache
def text_classes(device: torch.device) -> Tensor:
    """The text as classes, (N,) int64."""
    return encode(text()).to(device)


def encode(characters: str) -> Tensor:
    """Characters of the alphabet as classes, (N,) int64."""
    table = np.zeros(128, dtype=np.int64)
    table[[ord(character) for character in alphabet()]] = range(len(alphabet()))
    return torch.from_numpy(table[np.frombuffer(characters.encode("ascii"), dtype=np.uint8)])


@cache
def held_out_windows(tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Evenly spaced windows of the held-out text: x and y, each (HELD_OUT_WINDOWS, T)."""
    start = np.linspace(held_out_start(), len(text()) - tokens - 1, HELD_OUT_WINDOWS).astype(np.int64)
    return windows(text_classes(device), torch.from_numpy(start).to(device), tokens)


def windows(codes_N: Tensor, start_B: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """Windows x of the text and, as targets y, the next character of each token: both (B, T)."""
    index = start_B[:, None] + torch.arange(tokens + 1, device=start_B.device)
    window = codes_N[index]
    return window[:, :-1], window[:, 1:]


def decode(classes: Tensor) -> str:
    return "".join(alphabet()[i] for i in classes.tolist())


class Book(TaskData):
    """Random windows of the first nine tenths of the book; the last tenth is held out."""

    def __init__(self, cfg: RunConfig, device: torch.device) -> None:
        super().__init__(cfg, device)
        self.codes = text_classes(device)

    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        start = torch.randint(held_out_start() - self.cfg.tokens, (count,), generator=source)
        return windows(self.codes, to_device(start, self.device), self.cfg.tokens)

    @property
    def held_out(self) -> tuple[Tensor, Tensor]:
        return held_out_windows(self.cfg.tokens, self.device)

    def picture(self, predict: Predict) -> Picture:
        """`prompt` and `sample`, a continuation drawn at TEMPERATURE; it ends where probabilities are not finite.

        `p` (n,) is the net's probability of each character of the sample at temperature 1. `candidates` are the most
        likely characters after the prompt, with probabilities `candidate_p`.
        """
        return self._continuation(predict, SAMPLE_CHARS)

    def first_picture(self, predict: Predict) -> Picture:
        """The same as `picture`, with a shorter sample."""
        return self._continuation(predict, FIRST_SAMPLE_CHARS)

    def _continuation(self, predict: Predict, count: int) -> Picture:
        """The picture with a sample of `count` characters."""
        # Gumbel-max: argmax(logits + noise) is a sample. With constant noise, only the net changes the text.
        exponential = torch.empty(SAMPLE_CHARS, len(alphabet())).exponential_(
            generator=generator(HELD_OUT_SEED, "sample")
        )
        gumbel_NC = -exponential.log()[:count].to(self.device)
        text_N = encode(PROMPT).to(self.device)
        probabilities = []
        for gumbel_C in gumbel_NC:
            logits_C = predict(text_N[None, -self.cfg.tokens :])[0, -1]
            text_N = torch.cat((text_N, (logits_C / TEMPERATURE + gumbel_C).argmax(-1, keepdim=True)))
            probabilities.append(logits_C.softmax(-1))
        p_NC = torch.stack(probabilities).cpu()
        sample_N = text_N[len(PROMPT) :].cpu()
        non_finite = (~torch.isfinite(p_NC)).any(1).nonzero()
        end = int(non_finite[0]) if len(non_finite) else count
        candidates = p_NC[0].argsort(descending=True, stable=True)[: MAX_CANDIDATES if end else 0]
        return {
            "kind": "text",
            "prompt": PROMPT,
            "sample": decode(sample_N[:end]),
            "p": p_NC[torch.arange(end), sample_N[:end]].numpy(),
            "candidates": decode(candidates),
            "candidate_p": p_NC[0, candidates].numpy(),
        }

    def class_name(self, target: int) -> str:
        """The character in quotes, which show a blank and a line break."""
        return repr(alphabet()[target])
