"""The examples' data, from the repository: handwritten digits and the first chapters of Moby-Dick."""

import gzip
from pathlib import Path

import torch
from torch import Tensor

DATA = Path(__file__).parents[1] / "models" / "tasks" / "data"


def digits() -> tuple[Tensor, Tensor]:
    """Images (N, 64) of mean 0 and mean square 1, and labels (N,)."""
    lines = gzip.decompress((DATA / "digits.csv.gz").read_bytes()).decode("ascii").split()
    table = torch.tensor([[float(number) for number in line.split(",")] for line in lines])
    pixels = table[:, :-1] - table[:, :-1].mean()
    return pixels / pixels.square().mean().sqrt(), table[:, -1].long()


def book() -> tuple[Tensor, int]:
    """The text as symbols (N,), and how many symbols there are."""
    text = (DATA / "moby_dick.txt").read_text(encoding="ascii")
    alphabet = sorted(set(text))
    code = {letter: at for at, letter in enumerate(alphabet)}
    return torch.tensor([code[letter] for letter in text]), len(alphabet)


def windows(text: Tensor, count: int, length: int) -> Tensor:
    """Pieces of the text from random places, (count, length)."""
    start = torch.randint(len(text) - length, (count, 1))
    return text[start + torch.arange(length)]
