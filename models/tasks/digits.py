"""`digits`: 8x8 handwritten digits, one token for an MLP, eight row tokens for a transformer."""

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.spec import RunConfig
from models.tasks.base import NO_LOSS, Picture, Predict, TaskData, class_round_robin, to_device

FILE = Path(__file__).parent / "data" / "digits.csv.gz"
HELD_OUT = 359  # the last rows of the file, which is sorted by writer
SIDE = 8
INK = 16  # the darkest pixel
MISTAKES = 8


@cache
def images() -> tuple[np.ndarray, np.ndarray]:
    """Pixels (N, 64) from 0 to 16 and labels (N,), both uint8, in the order of the file."""
    text = gzip.decompress(FILE.read_bytes()).strip().replace(b"\n", b",")
    table = np.fromstring(text.decode("ascii"), dtype=np.uint8, sep=",").reshape(-1, SIDE * SIDE + 1)
    return table[:, :-1], table[:, -1]


@cache
def samples(tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """All images as x (N, T, 64/T), and y (N, T) with the label at the last token.

    The mean training image is subtracted, and one factor scales the training set to unit mean square.
    """
    pixels, labels = images()
    ink = pixels / INK
    centred = ink - ink[:-HELD_OUT].mean(axis=0)
    scaled = centred / np.sqrt(np.square(centred[:-HELD_OUT]).mean())
    y = torch.full((len(labels), tokens), NO_LOSS)
    y[:, -1] = torch.from_numpy(labels)
    x = torch.from_numpy(scaled.astype(np.float32)).reshape(len(labels), tokens, -1)
    return x.to(device), y.to(device)


class Digits(TaskData):
    """Training images with replacement; the last HELD_OUT are held out."""

    def __init__(self, cfg: RunConfig, device: torch.device) -> None:
        super().__init__(cfg, device)
        self.x, self.y = samples(cfg.tokens, device)

    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        chosen = to_device(torch.randint(len(self.x) - HELD_OUT, (count,), generator=source), self.device)
        return self.x[chosen], self.y[chosen]

    @property
    def held_out(self) -> tuple[Tensor, Tensor]:
        return self.x[-HELD_OUT:], self.y[-HELD_OUT:]

    def picture(self, predict: Predict) -> Picture:
        """The most confident mistakes on held-out images, and the answers of `first_picture`.

        `mistakes` (n, 8, 8) in 0 to 16, at most MISTAKES, with `truth`, `guess` and `confidence` for each.
        """
        x, y = self.held_out
        confidence, guess = (tensor.cpu().numpy() for tensor in predict(x)[:, -1].softmax(-1).max(-1))
        truth, ten = y[:, -1].cpu().numpy(), first_of_each_digit()
        wrong = np.flatnonzero(guess != truth)
        mistakes = wrong[np.argsort(-confidence[wrong], kind="stable")][:MISTAKES]
        return {
            "kind": "image",
            "mistakes": images()[0][-HELD_OUT:][mistakes].reshape(-1, SIDE, SIDE),
            "truth": truth[mistakes].tolist(),
            "guess": guess[mistakes].tolist(),
            "confidence": confidence[mistakes].tolist(),
            **_answers(guess[ten], confidence[ten]),
        }

    def first_picture(self, predict: Predict) -> Picture:
        """The first held-out image of every digit: `ten` (10, 8, 8), `ten_guess`, `ten_confidence` (NaN: none)."""
        logits = predict(self.held_out[0][first_of_each_digit()])[:, -1]
        confidence, guess = (tensor.cpu().numpy() for tensor in logits.softmax(-1).max(-1))
        return _answers(guess, confidence)


@cache
def first_of_each_digit() -> np.ndarray:
    """The indices of the first 0, the first 1, ..., the first 9 among the held-out images."""
    return class_round_robin(images()[1][-HELD_OUT:], 10)


def _answers(guess: np.ndarray, confidence: np.ndarray) -> Picture:
    pixels = images()[0][-HELD_OUT:][first_of_each_digit()].reshape(-1, SIDE, SIDE)
    return {"ten": pixels, "ten_guess": guess.tolist(), "ten_confidence": confidence.tolist()}
