"""What the look-up of a text's tokens answers."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Lookup:
    """Embedding lookup of the tokens of a text."""

    tokens: tuple[str, ...]  # (T,)
    ids: np.ndarray  # (T,)
    names: tuple[str, ...]  # of the symbols, (C,)
    table: np.ndarray  # the embedding, (C, D)
    enters: np.ndarray  # what the first block reads, (T, D): the row, or sqrt(1/2) times it plus the position's
    position: np.ndarray  # (T, D); (0, D) if no table of positions is added
    apart: float  # largest difference between one-hot rows times the table and the rows looked up


LOOKUP = Question("lookup", Lookup)
