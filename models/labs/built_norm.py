"""Layer norm built line by line: its code and its numbers from the same choices, and where its digits leave torch's."""

from dataclasses import dataclass

import numpy as np

DECIMALS = 9  # of a number whose digits are compared
TORCH_EPS = 1e-5  # torch's default


@dataclass(frozen=True)
class NormLines:
    """The choices of a layer norm's lines. Those of the Annotated Transformer: the unbiased std, eps beside it."""

    biased: bool = False  # divides the sum of squares by n, not by n - 1
    inside: bool = False  # eps stands inside the root
    eps: float = 1e-6
    affine: bool = True  # with gamma and beta, whose entries start at these:
    gamma: float = 1.0
    beta: float = 0.0

    @property
    def code(self) -> str:
        """The class in torch."""
        how = "-1, unbiased=False, keepdim=True" if self.biased else "-1, keepdim=True"
        spread = f"var = x.var({how})" if self.inside else f"std = x.std({how})"
        divisor = "(var + self.eps).sqrt()" if self.inside else "(std + self.eps)"
        starts = {"gamma": _filled(self.gamma), "beta": _filled(self.beta)}
        rows = [f"self.{name} = nn.Parameter({start})" for name, start in starts.items()]
        lines = [
            "import torch",
            "from torch import nn",
            "",
            "",
            "class LayerNorm(nn.Module):",
            f"    def __init__(self, features, eps={self.eps:g}):",
            "        super().__init__()",
            "        self.eps = eps",
            *(f"        {row}" for row in rows if self.affine),
            "",
            "    def forward(self, x):",
            "        mean = x.mean(-1, keepdim=True)",
            f"        {spread}",
            f"        y = (x - mean) / {divisor}",
            f"        return {'self.gamma * y + self.beta' if self.affine else 'y'}",
        ]
        return "\n".join(lines)

    def normalised(self, x_D: np.ndarray) -> np.ndarray:
        """What the class makes of a token (D,)."""
        x = np.asarray(x_D, float)
        variance = float(x.var(ddof=int(not self.biased)))
        y = (x - x.mean()) / (np.sqrt(variance + self.eps) if self.inside else np.sqrt(variance) + self.eps)
        return self.gamma * y + self.beta if self.affine else y


def _filled(value: float) -> str:
    usual = {1.0: "torch.ones(features)", 0.0: "torch.zeros(features)"}
    return usual.get(value, f"torch.full((features,), {value!r})")


TORCHS = NormLines(biased=True, inside=True, eps=TORCH_EPS)


def digits(value: float) -> str:
    """A number with all decimals that are compared; never a negative zero."""
    return f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}"


def first_difference(value: float, other: float) -> int | None:
    """The place in `digits` of a number at which it leaves another's; None if all agree."""
    own, theirs = digits(value), digits(other)
    if len(own) != len(theirs):
        return 0
    return next((at for at, (a, b) in enumerate(zip(own, theirs, strict=True)) if a != b), None)
