"""The examples' data, from the repository: handwritten digits and the first chapters of Moby-Dick."""

import gzip
from pathlib import Path

import torch
from torch import Tensor

DATA = Path(__file__).parents[1] / "models" / "tasks" / "data"


def digits() -> tuple[Tensor, Tensor]:
    """Images with mean 0 and mean square 1, shape (N, 64), and labels, shape (N,)."""
    lines = gzip.decompress((DATA / "digits.csv.gz").read_bytes()).decode("ascii").split()
    table = torch.tensor([[float(number) for number in line.split(",")] for line in lines])
    pixels = table[:, :-1] - table[:, :-1].mean()
    return pixels / pixels.square().mean().sqrt(), table[:, -1].long()


def book() -> tuple[Tensor, int]:
    """The text as indices of symbols, shape (N,), and the number of symbols."""
    text = (DATA / "moby_dick.txt").read_text(encoding="ascii")
    alphabet = sorted(set(text))
    index_of = {letter: index for index, letter in enumerate(alphabet)}
    return torch.tensor([index_of[letter] for letter in text]), len(alphabet)


def windows(text: Tensor, count: int, length: int) -> Tensor:
    """Random excerpts of the text, shape (count, length)."""
    start = torch.randint(len(text) - length, (count, 1))
    return text[start + torch.arange(length)]
