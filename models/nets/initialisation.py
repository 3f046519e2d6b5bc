"""Initialisation. Every parameter is drawn from its own generator, seeded by the run's seed and its name.

So two arrangements under one seed share the weights of the parameters that both have.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from models.generator import generator
from models.spec.scales import deepnorm_gain

OUTPUT_MATRICES = {"w", "w2", "w_o"}
QUERIES_AND_KEYS = {"w_q", "w_k"}

# (weight, generator, role, M): fills a weight (outputs, inputs) in place; `role` is its name in the branch, and M the
# number of sublayers.
Init = Callable[[Tensor, torch.Generator, str, int], None]


def _normal(std: Callable[[int, int], float]) -> Init:
    def draw(weight: Tensor, source: torch.Generator, role: str, sublayers: int) -> None:
        outputs, inputs = weight.shape
        weight.normal_(generator=source).mul_(std(inputs, outputs))

    return draw


_fan_in = _normal(lambda inputs, outputs: inputs**-0.5)
_xavier = _normal(lambda inputs, outputs: math.sqrt(2 / (inputs + outputs)))


def _torch(weight: Tensor, source: torch.Generator, role: str, sublayers: int) -> None:
    bound = weight.shape[1] ** -0.5
    weight.uniform_(-bound, bound, generator=source)


def _orthogonal(weight: Tensor, source: torch.Generator, role: str, sublayers: int) -> None:
    nn.init.orthogonal_(weight, generator=source)


def _gpt2(weight: Tensor, source: torch.Generator, role: str, sublayers: int) -> None:
    _fan_in(weight, source, role, sublayers)
    weight.mul_(sublayers**-0.5 if role in OUTPUT_MATRICES else 1.0)


def _zero_last(weight: Tensor, source: torch.Generator, role: str, sublayers: int) -> None:
    _fan_in(weight, source, role, sublayers)
    weight.mul_(0.0 if role in OUTPUT_MATRICES else 1.0)


def _deepnorm(weight: Tensor, source: torch.Generator, role: str, sublayers: int) -> None:
    _xavier(weight, source, role, sublayers)
    weight.mul_(1.0 if role in QUERIES_AND_KEYS else deepnorm_gain(sublayers))


INITS: dict[str, Init] = {
    "fan-in": _fan_in,
    "he": _normal(lambda inputs, outputs: math.sqrt(2 / inputs)),
    "xavier": _xavier,
    "torch": _torch,
    "orthogonal": _orthogonal,
    "normal 0.02": _normal(lambda inputs, outputs: 0.02),
    "gpt2": _gpt2,
    "zero last": _zero_last,
    "deepnorm": _deepnorm,
}


@torch.no_grad()
def initialise(
    model: nn.Module,
    *,
    init: str,
    gain: float,
    seed: int,
    sublayers: int,
    head_gain: float = 1.0,
    mixing_noise: float = 0.0,
) -> None:
    """Draws every parameter of a net in place.

    Branch matrices follow `init`, times `gain`. The embedding gives the stream unit mean square. The head is
    N(0, 1/D) times `head_gain`, and biases are 0. Gates, the gains of norms and connections keep their modules' initial
    values; to the mixing of streams, N(0, `mixing_noise`^2) is added.
    """
    for name, parameter in model.named_parameters():
        source = generator(seed, name)
        module, _, kind = name.rpartition(".")
        role = module.rpartition(".")[2]
        if kind == "bias":
            parameter.zero_()
        elif ".function.w" in name:
            INITS[init](parameter, source, role, sublayers)
            parameter.mul_(gain)
        elif name == "embed.weight" and isinstance(model.get_submodule(module), nn.Linear):
            _orthogonal_embedding(parameter, source)
        elif name == "embed.weight":
            parameter.normal_(generator=source)
        elif kind == "table_TD":
            parameter.normal_(generator=source).mul_(math.sqrt(0.5))
        elif mixing_noise and name.endswith((".connection.alpha", ".connection.offset")):
            mixing = parameter[-(model.get_submodule(module).streams ** 2) :]  # type: ignore[operator]
            mixing.add_(torch.randn(len(mixing), generator=source), alpha=mixing_noise)
        elif name == "head.weight":
            _fan_in(parameter, source, role, sublayers)
            parameter.mul_(head_gain)


def _orthogonal_embedding(weight: Tensor, source: torch.Generator) -> None:
    """Draws an orthogonal matrix that maps inputs of unit mean square to a stream of unit mean square."""
    outputs, inputs = weight.shape
    nn.init.orthogonal_(weight, generator=source)
    weight.mul_(math.sqrt(max(outputs, inputs) / inputs))
