"""The torch modules: norms, branches, the sublayer, stacks, initialisation, and the builder."""

from models.nets.branches import ACTIVATIONS, Alibi, Attention, OneLayer, RelativeBias, Rotary, TwoLayers
from models.nets.build import Net, build_branch, build_model, build_sublayer, count_parameters
from models.nets.initialisation import INITS
from models.nets.norms import NORMS, build_norm
from models.nets.stacked import stacked
from models.nets.stacks import STACKS, DLCLStack, ResiDualStack, Stack
from models.nets.sublayer import Gate, IdentitySublayer, RecursiveSublayer, Sublayer, Tap, skip_path, weighted

__all__ = [
    "ACTIVATIONS",
    "INITS",
    "NORMS",
    "STACKS",
    "Alibi",
    "Attention",
    "DLCLStack",
    "Gate",
    "IdentitySublayer",
    "Net",
    "OneLayer",
    "RecursiveSublayer",
    "RelativeBias",
    "ResiDualStack",
    "Rotary",
    "Stack",
    "Sublayer",
    "Tap",
    "TwoLayers",
    "build_branch",
    "build_model",
    "build_norm",
    "build_sublayer",
    "count_parameters",
    "skip_path",
    "stacked",
    "weighted",
]
