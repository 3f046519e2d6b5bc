"""The fields of a run with their defaults, labels, ranges and choices. `rules` has the illegal combinations."""

from dataclasses import dataclass
from typing import Annotated

from models.spec.knob import Knob, Knobs, is_integer, knobs_of, plain
from models.spec.overrides import Override
from models.spec.placement import PLACEMENTS
from models.spec.scales import BRANCH_SCALES, INPUT_SCALES, SKIP_SCALES
from models.spec.tasks import TASKS
from models.spec.vocabulary import (
    ACTIVATIONS,
    DECAYED,
    DEVICES,
    INITS,
    MASKS,
    NETS,
    NORMS,
    OPTIMIZERS,
    PARAMETRIZATIONS,
    POSITIONS,
    SCHEDULES,
    STACKS,
)

SLIDER_WIDTHS = (*range(1, 8), *range(8, 513, 8))
MLP, TRANSFORMER = ("mlp",), ("transformer",)
BY_DEPTH = "muP + 1/depth"  # the parametrization that divides branches by the depth


@dataclass(frozen=True)
class Fields:
    """The settings of a run, not checked for legality.

    The defaults are the net of the first lesson, which learns the digits only with the residual and the norm.
    """

    net: Annotated[str, Knob("Net", choices=NETS, group="network", control="segments")] = "mlp"
    task: Annotated[str, Knob("Task", choices=TASKS, group="task")] = "digits"
    depth: Annotated[int, Knob("Depth", 1, 128, group="network", control="slider")] = 32
    width: Annotated[int, Knob("Width", 1, 512, 8, group="network", control="steps", stops=SLIDER_WIDTHS)] = 64
    heads: Annotated[int, Knob("Heads", 1, 16, nets=TRANSFORMER, control="slider")] = 4
    expansion: Annotated[int, Knob("Expansion", 1, 8, control="slider")] = 1
    layers_per_branch: Annotated[int, Knob("Layers per branch", 1, 2, nets=MLP, control="slider")] = 2
    activation: Annotated[str, Knob("Activation", choices=ACTIVATIONS, group="network")] = "relu"
    position: Annotated[str, Knob("Position", choices=POSITIONS, nets=TRANSFORMER)] = "sinusoidal"
    mask: Annotated[str, Knob("Mask", choices=MASKS, nets=TRANSFORMER)] = "causal"
    residual: Annotated[bool, Knob("Residual", group="network")] = True
    placement: Annotated[str, Knob("Placement", choices=PLACEMENTS, group="network")] = "pre-norm"
    norm: Annotated[str, Knob("Norm", choices=NORMS, group="network")] = "layer norm"
    eps: Annotated[float, Knob("Eps", 1e-12, 1.0, log=True)] = 1e-5
    affine: Annotated[bool, Knob("Affine")] = True
    qk_norm: Annotated[bool, Knob("QK-norm", nets=TRANSFORMER)] = False
    value_residual: Annotated[bool, Knob("Value residual", nets=TRANSFORMER)] = False
    skip_scale: Annotated[float | str, Knob("Skip weight", 0.0, 256.0, rules=SKIP_SCALES)] = 1.0
    branch_scale: Annotated[float | str, Knob("Branch scale", 0.0, 256.0, rules=BRANCH_SCALES)] = 1.0
    input_scale: Annotated[str, Knob("Input scale", choices=INPUT_SCALES)] = "one"
    branch_dropout: Annotated[float, Knob("Branch dropout", 0.0, 0.9, 0.05)] = 0.0
    stream_dropout: Annotated[float, Knob("Stream dropout", 0.0, 0.9, 0.05)] = 0.0
    stack: Annotated[str, Knob("Stack", choices=STACKS)] = "single"
    streams: Annotated[int, Knob("Streams", 2, 4, control="slider")] = 4
    mixing_noise: Annotated[float, Knob("Mixing noise", 0.0, 1.0, 0.05)] = 0.0
    sinkhorn: Annotated[int, Knob("Sinkhorn iterations", 0, 40)] = 20
    depth_block: Annotated[int, Knob("Depth block", 1, 128)] = 1
    skip_repeats: Annotated[int, Knob("Skip repeats", 1, 2, control="slider")] = 1
    init: Annotated[str, Knob("Initialisation", choices=INITS, group="network")] = "fan-in"
    init_gain: Annotated[float, Knob("Init gain", 0.01, 10.0, log=True)] = 1.0
    parametrization: Annotated[str, Knob("Parametrisation", choices=PARAMETRIZATIONS)] = "standard"
    optimizer: Annotated[str, Knob("Optimiser", choices=OPTIMIZERS, group="training")] = "momentum"
    lr: Annotated[float, Knob("Learning rate", 1e-6, 10.0, group="training", log=True)] = 0.01
    warmup: Annotated[int, Knob("Warm-up", 0, 5000, group="training")] = 0
    schedule: Annotated[str, Knob("Schedule", choices=SCHEDULES, group="training")] = "constant"
    clip: Annotated[float, Knob("Clip", 0.0, 1000.0, group="training")] = 0.0
    weight_decay: Annotated[float, Knob("Weight decay", 0.0, 1.0, group="training")] = 0.0
    decayed: Annotated[str, Knob("Decayed", choices=DECAYED)] = "matrices"
    batch: Annotated[int, Knob("Batch", 1, 512, group="training")] = 64
    steps: Annotated[int, Knob("Steps", 1, 5000, group="training")] = 300
    seed: Annotated[int, Knob("Seed", 0, 2**31 - 1, group="training")] = 0
    device: Annotated[str, Knob("Device", choices=DEVICES)] = "auto"
    overrides: Annotated[tuple[Override, ...], Knob("Overrides")] = ()

    @property
    def sublayers(self) -> int:
        """M, the number of sublayers: one per MLP block, two (attention, feed-forward) per transformer block."""
        return self.depth * (2 if self.net == "transformer" else 1)

    @property
    def tokens(self) -> int:
        """T, the tokens per sample."""
        return TASKS[self.task].length(self.net)


def knobs() -> Knobs:
    """The accepted types and the knob of every field by name, in order."""
    return knobs_of(Fields)


def legal_value(name: str, value: object, types: tuple[type, ...], knob: Knob) -> object:
    """The value in its field's type. Raises ValueError if it is not legal."""
    if types == (bool,):
        if isinstance(value, bool):
            return value
        raise ValueError(f"{name} is {value!r}; legal is True or False")
    if float in types and (is_integer(value) or isinstance(value, float)) and knob.is_legal(value):
        return float(value)  # type: ignore[arg-type]
    if int in types and is_integer(value) and knob.is_legal(value):
        return value
    if str in types and isinstance(value, str) and knob.is_legal(value):
        return value
    if knob.choices is None and {int, float}.intersection(types) and (is_integer(value) or isinstance(value, float)):
        raise ValueError(knob.refusal(plain(value)))  # type: ignore[arg-type]
    raise ValueError(f"{name} is {value!r}; legal is {knob.legal_values()}")
