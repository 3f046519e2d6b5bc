"""How many multiplications the next token of a text costs a transformer, with keys and values kept and without.

Legend: D width, H hidden units of a feed-forward net, C classes.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DecoderSize:
    """Of a net that reads text from left to right."""

    depth: int
    width: int
    hidden: int
    classes: int

    @property
    def matrices(self) -> int:
        """Multiplications of one token with all matrices: Q, K, V, O and two of the feed-forward net, and the head."""
        return self.depth * (4 * self.width**2 + 2 * self.width * self.hidden) + self.width * self.classes

    def again(self, tokens: np.ndarray) -> np.ndarray:
        """Multiplications to read so many tokens at once, every query with every key."""
        return tokens * self.matrices + self.depth * 2 * self.width * tokens**2

    def kept(self, tokens: np.ndarray) -> np.ndarray:
        """The same for the last of so many tokens alone, its query with all keys that were kept."""
        return self.matrices + self.depth * 2 * self.width * tokens

    def memory(self, tokens: int) -> int:
        """Numbers that are kept of so many tokens: a key and a value in every block."""
        return 2 * self.depth * self.width * tokens
