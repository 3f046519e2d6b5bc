"""`digits`: 8x8 images of handwritten digits, one token for an MLP, eight row tokens for a transformer."""

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.spec import RunConfig
from models.tasks.base import NO_LOSS, Picture, Predict, TaskData, class_round_robin, to_device

FILE = Path(__file__).parent / "data" / "digits.csv.gz"
HELD_OUT = 359  # images at the end of the file, which is sorted by writer
SIDE = 8  # pixels
MAX_INK = 16  # value of the darkest pixel
MAX_MISTAKES = 8


@cache
def images() -> tuple[np.ndarray, np.ndarray]:
    """Pixels (N, 64) from 0 to MAX_INK and labels (N,), both uint8, in the order of the file."""
    text = gzip.decompress(FILE.read_bytes()).strip().replace(b"\n", b",")
    table = np.fromstring(text.decode("ascii"), dtype=np.uint8, sep=",").reshape(-1, SIDE * SIDE + 1)
    return table[:, :-1], table[:, -1]


@cache
def samples(tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """All images as x (N, T, 64/T), with the label at the last token of y (N, T).

    The training images are centred by their mean and scaled by one factor to unit mean square.
    """
    pixels, labels = images()
    ink = pixels / MAX_INK
    centred = ink - ink[:-HELD_OUT].mean(axis=0)
    scaled = centred / np.sqrt(np.square(centred[:-HELD_OUT]).mean())
    y = torch.full((len(labels), tokens), NO_LOSS)
    y[:, -1] = torch.from_numpy(labels)
    x = torch.from_numpy(scaled.astype(np.float32)).reshape(len(labels), tokens, -1)
    return x.to(device), y.to(device)


class Digits(TaskData):
    """Training images, drawn with replacement; the last HELD_OUT images are held out."""

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
        """The most confident mistakes on held-out images, and the entries of `first_picture`.

        `mistakes` (n, 8, 8) from 0 to MAX_INK, n <= MAX_MISTAKES, each with its `truth`, `guess` and `confidence`.
        """
        x, y = self.held_out
        confidence, guess = (tensor.cpu().numpy() for tensor in predict(x)[:, -1].softmax(-1).max(-1))
        truth = y[:, -1].cpu().numpy()
        wrong = np.flatnonzero(guess != truth)
        mistakes = wrong[np.argsort(-confidence[wrong], kind="stable")][:MAX_MISTAKES]
        ten = first_of_each_digit()
        return {
            "kind": "image",
            "mistakes": images()[0][-HELD_OUT:][mistakes].reshape(-1, SIDE, SIDE),
            "truth": truth[mistakes].tolist(),
            "guess": guess[mistakes].tolist(),
            "confidence": confidence[mistakes].tolist(),
            **_digit_guesses(guess[ten], confidence[ten]),
        }

    def first_picture(self, predict: Predict) -> Picture:
        """The first held-out image of every digit: `ten` (10, 8, 8), with `ten_guess` and `ten_confidence`."""
        logits = predict(self.held_out[0][first_of_each_digit()])[:, -1]
        confidence, guess = (tensor.cpu().numpy() for tensor in logits.softmax(-1).max(-1))
        return _digit_guesses(guess, confidence)


@cache
def first_of_each_digit() -> np.ndarray:
    """Indices of the first 0, the first 1, ..., the first 9 among the held-out images, (10,)."""
    return class_round_robin(images()[1][-HELD_OUT:], 10)


def _digit_guesses(guess: np.ndarray, confidence: np.ndarray) -> Picture:
    pixels = images()[0][-HELD_OUT:][first_of_each_digit()].reshape(-1, SIDE, SIDE)
    return {"ten": pixels, "ten_guess": guess.tolist(), "ten_confidence": confidence.tolist()}
