"""Layer norm built line by line: code and numbers from the same choices, and where digits differ from torch."""

from dataclasses import dataclass

import numpy as np

DECIMALS = 9  # of each number, for comparisons
TORCH_EPS = 1e-5  # default of torch.nn.LayerNorm


@dataclass(frozen=True)
class NormLines:
    """The choices in a layer norm's code. Defaults: those of the Annotated Transformer."""

    biased: bool = False  # the variance divides by n, not by n - 1
    inside: bool = False  # eps is added to the variance, inside the root
    eps: float = 1e-6
    affine: bool = True  # learns gamma and beta, with these initial values
    gamma: float = 1.0
    beta: float = 0.0

    @property
    def code(self) -> str:
        """The class in torch."""
        arguments = "-1, unbiased=False, keepdim=True" if self.biased else "-1, keepdim=True"
        spread = f"var = x.var({arguments})" if self.inside else f"std = x.std({arguments})"
        divisor = "(var + self.eps).sqrt()" if self.inside else "(std + self.eps)"
        starts = {"gamma": _constant_tensor(self.gamma), "beta": _constant_tensor(self.beta)}
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

    def apply(self, x_D: np.ndarray) -> np.ndarray:
        """Output of the class for one token (D,)."""
        x = np.asarray(x_D, float)
        y = (x - x.mean()) / self.divisor(x)
        return self.gamma * y + self.beta if self.affine else y

    def divisor(self, x_D: np.ndarray) -> float:
        variance = float(x_D.var(ddof=int(not self.biased)))
        return float(np.sqrt(variance + self.eps) if self.inside else np.sqrt(variance) + self.eps)


def _constant_tensor(value: float) -> str:
    """Code of a vector with this value in every feature."""
    short_forms = {1.0: "torch.ones(features)", 0.0: "torch.zeros(features)"}
    return short_forms.get(value, f"torch.full((features,), {value!r})")


TORCH_NORM = NormLines(biased=True, inside=True, eps=TORCH_EPS)


def digits(value: float) -> str:
    """The number with DECIMALS decimals; a negative zero loses its sign."""
    return f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}"


def first_difference(value: float, other: float) -> int | None:
    """Index of the first character of `digits` in which two numbers differ; None if all agree."""
    digits_of_value, digits_of_other = digits(value), digits(other)
    if len(digits_of_value) != len(digits_of_other):
        return 0
    for index, (a, b) in enumerate(zip(digits_of_value, digits_of_other, strict=True)):
        if a != b:
            return index
    return None


def unbiased_std_shortfall(features: int) -> float:
    """Relative shortfall of the output's RMS when the std is unbiased and eps small: 1 - sqrt((d - 1) / d)."""
    return 1 - float(np.sqrt((features - 1) / features))
