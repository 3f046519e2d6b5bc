"""The torch modules: norms, branches, the sublayer, stacks, initialisation, and the builder."""

from models.nets.branches import ACTIVATIONS, Alibi, OneLayer, Rotary, TwoLayers
from models.nets.build import Net, build_model, count_parameters
from models.nets.initialisation import INITS
from models.nets.norms import NORMS, build_norm
from models.nets.stacked import stack_nets
from models.nets.stacks import STACKS
from models.nets.sublayer import Gate, IdentitySublayer, Sublayer, build_skip

__all__ = [
    "ACTIVATIONS",
    "INITS",
    "NORMS",
    "STACKS",
    "Alibi",
    "Gate",
    "IdentitySublayer",
    "Net",
    "OneLayer",
    "Rotary",
    "Sublayer",
    "TwoLayers",
    "build_model",
    "build_norm",
    "build_skip",
    "count_parameters",
    "stack_nets",
]
