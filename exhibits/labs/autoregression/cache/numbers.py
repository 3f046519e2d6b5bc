"""Multiplications that the next token of a text costs a transformer, with and without a key-value cache.

Legend: D width, H hidden units of a feed-forward net, C classes.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DecoderSize:
    """Size of a decoder."""

    depth: int
    width: int
    hidden: int
    classes: int

    @property
    def matrix_cost(self) -> int:
        """Multiplications of one token by the weights: Q, K, V, O, both feed-forward matrices, output head."""
        return self.depth * (4 * self.width**2 + 2 * self.width * self.hidden) + self.width * self.classes

    def uncached_cost(self, tokens: np.ndarray) -> np.ndarray:
        """Multiplications to process all `tokens` anew, every query with every key."""
        return tokens * self.matrix_cost + self.depth * 2 * self.width * tokens**2

    def cached_cost(self, tokens: np.ndarray) -> np.ndarray:
        """Multiplications for the last of `tokens` alone, its query with all cached keys."""
        return self.matrix_cost + self.depth * 2 * self.width * tokens

    def cache_size(self, tokens: int) -> int:
        """Numbers in the cache: a key and a value per token and block."""
        return 2 * self.depth * self.width * tokens
