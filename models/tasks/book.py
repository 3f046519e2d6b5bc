"""`book`: the next character of Moby-Dick."""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.generator import generator
from models.spec import RunConfig
from models.tasks.base import HELD_OUT_SEED, Picture, Predict, TaskData, moved

FILE = Path(__file__).parent / "data" / "moby_dick.txt"
HELD_OUT_WINDOWS = 64
SAMPLE = 48  # characters that the net writes for the picture


@cache
def text() -> str:
    """The whole text; it is ASCII."""
    return FILE.read_text(encoding="ascii")


@cache
def alphabet() -> str:
    """The characters of the text, sorted: class i is character i."""
    return "".join(sorted(set(text())))


def split() -> int:
    """Where the held-out last tenth begins."""
    return len(text()) * 9 // 10


@cache
def codes(device: torch.device) -> Tensor:
    """The text as classes (N,)."""
    table = np.zeros(128, dtype=np.int64)
    table[[ord(character) for character in alphabet()]] = range(len(alphabet()))
    return torch.from_numpy(table[np.frombuffer(text().encode("ascii"), dtype=np.uint8)]).to(device)


@cache
def held_out_windows(tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Windows spread evenly over the last tenth: x and y (64, T)."""
    start = np.linspace(split(), len(text()) - tokens - 1, HELD_OUT_WINDOWS).astype(np.int64)
    return windows(codes(device), torch.from_numpy(start).to(device), tokens)


def windows(codes_N: Tensor, start_B: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """Windows x (B, T) of the text, and y (B, T), the character after each."""
    at = start_B[:, None] + torch.arange(tokens + 1, device=start_B.device)
    window = codes_N[at]
    return window[:, :-1], window[:, 1:]


def decoded(classes: Tensor) -> str:
    """Classes as text."""
    return "".join(alphabet()[i] for i in classes.tolist())


class Book(TaskData):
    """Windows from anywhere in the first nine tenths of the book; the last tenth is held out."""

    def __init__(self, cfg: RunConfig, device: torch.device) -> None:
        super().__init__(cfg, device)
        self.codes = codes(device)

    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        start = torch.randint(split() - self.cfg.tokens, (count,), generator=source)
        return windows(self.codes, moved(start, self.device), self.cfg.tokens)

    @property
    def held_out(self) -> tuple[Tensor, Tensor]:
        return held_out_windows(self.cfg.tokens, self.device)

    def picture(self, predict: Predict) -> Picture:
        """`prompt`, the start of a held-out sentence, and `sample`, the net's continuation at temperature 1.

        The sample may hold any character of the alphabet, line breaks and quotation marks too.
        """
        begin = text().index(". ", split()) + 2
        window = self.codes[begin : begin + self.cfg.tokens][None]
        prompt = decoded(window[0])
        # The argmax of logits + Gumbel noise is a sample; with the same noise each time, only the net changes the text.
        noise = -torch.empty(SAMPLE, len(alphabet())).exponential_(generator=generator(HELD_OUT_SEED, "sample")).log()
        written = []
        for noise_C in noise.to(self.device):
            character = (predict(window)[:, -1] + noise_C).argmax(-1, keepdim=True)
            window = torch.cat((window[:, 1:], character), dim=1)
            written.append(character[0])
        return {"kind": "text", "prompt": prompt, "sample": decoded(torch.cat(written))}

    def name_of(self, target: int) -> str:
        """A character, quoted: the blank and the line break are some."""
        return repr(alphabet()[target])
