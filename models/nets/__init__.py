"""The torch modules: norms, branches, the sublayer, stacks, initialisation, and the builder."""

from models.nets.branches import ACTIVATIONS, Alibi, OneLayer, Rotary, TwoLayers
from models.nets.build import Net, build_model, count_parameters
from models.nets.initialisation import INITS
from models.nets.norms import NORMS, build_norm
from models.nets.stacked import stacked
from models.nets.stacks import STACKS
from models.nets.sublayer import Gate, IdentitySublayer, Sublayer, skip_path

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
    "count_parameters",
    "skip_path",
    "stacked",
]
