"""`book`: the next character of Moby-Dick."""

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
PROMPT = "Call me Ish"  # what the net continues for the picture
SAMPLE, FIRST_SAMPLE = 48, 12  # characters that it writes, and that it writes before training
TEMPERATURE = 0.5  # of the draws: at 1 a small net rarely finishes a word, at 0 it repeats one for ever
CANDIDATES = 5  # likeliest next characters


@cache
def text() -> str:
    """The whole text; it is ASCII."""
    return FILE.read_text(encoding="ascii")


@cache
def alphabet() -> str:
    """The characters of the text, sorted: class i is character i."""
    return "".join(sorted(set(text())))


def held_out_start() -> int:
    """Where the held-out last tenth begins."""
    return len(text()) * 9 // 10


@cache
def text_classes(device: torch.device) -> Tensor:
    """The text as classes (N,)."""
    return encode(text()).to(device)


def encode(characters: str) -> Tensor:
    """Characters of the alphabet as classes (N,)."""
    table = np.zeros(128, dtype=np.int64)
    table[[ord(character) for character in alphabet()]] = range(len(alphabet()))
    return torch.from_numpy(table[np.frombuffer(characters.encode("ascii"), dtype=np.uint8)])


@cache
def held_out_windows(tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Windows spread evenly over the last tenth: x and y (64, T)."""
    start = np.linspace(held_out_start(), len(text()) - tokens - 1, HELD_OUT_WINDOWS).astype(np.int64)
    return windows(text_classes(device), torch.from_numpy(start).to(device), tokens)


def windows(codes_N: Tensor, start_B: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """Windows x (B, T) of the text, and y (B, T), the character after each."""
    at = start_B[:, None] + torch.arange(tokens + 1, device=start_B.device)
    window = codes_N[at]
    return window[:, :-1], window[:, 1:]


def decode(classes: Tensor) -> str:
    """Classes as text."""
    return "".join(alphabet()[i] for i in classes.tolist())


class Book(TaskData):
    """Windows from anywhere in the first nine tenths of the book; the last tenth is held out."""

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
        """`prompt`, and `sample`, its continuation by the net, drawn at TEMPERATURE.

        `p` (SAMPLE,): the net's own probability of each character written. `candidates`: the likeliest characters after
        the prompt, with `candidate_p`. The sample ends early where the net's numbers are not finite.
        """
        return self._written(predict, SAMPLE)

    def first_picture(self, predict: Predict) -> Picture:
        """As `picture`, with the beginning of the sample only."""
        return self._written(predict, FIRST_SAMPLE)

    def _written(self, predict: Predict, count: int) -> Picture:
        # The argmax of logits + Gumbel noise is a draw; with the same noise each time, only the net changes the text.
        noise = -torch.empty(SAMPLE, len(alphabet())).exponential_(generator=generator(HELD_OUT_SEED, "sample")).log()
        read = encode(PROMPT).to(self.device)
        probabilities = []
        for noise_C in noise[:count].to(self.device):
            logits_C = predict(read[None, -self.cfg.tokens :])[0, -1]
            read = torch.cat((read, (logits_C / TEMPERATURE + noise_C).argmax(-1, keepdim=True)))
            probabilities.append(logits_C.softmax(-1))
        p_NC, written = torch.stack(probabilities).cpu(), read[len(PROMPT) :].cpu()
        lost = (~torch.isfinite(p_NC)).any(1).nonzero()
        end = int(lost[0]) if len(lost) else count
        likeliest = p_NC[0].argsort(descending=True, stable=True)[: CANDIDATES if end else 0]
        return {
            "kind": "text",
            "prompt": PROMPT,
            "sample": decode(written[:end]),
            "p": p_NC[torch.arange(end), written[:end]].numpy(),
            "candidates": decode(likeliest),
            "candidate_p": p_NC[0, likeliest].numpy(),
        }

    def class_name(self, target: int) -> str:
        """A character, quoted: the blank and the line break are some."""
        return repr(alphabet()[target])
