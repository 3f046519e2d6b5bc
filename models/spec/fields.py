"""The fields of a run, each with its default, label, help, bounds and choices. Illegal combinations are in `rules`."""

from dataclasses import dataclass
from typing import Annotated

from models.spec.knob import Knob, Knobs, knobs_of, whole
from models.spec.overrides import Override
from models.spec.placement import PLACEMENTS
from models.spec.scales import BRANCH_SCALES, INPUT_SCALES, SKIP_SCALES
from models.spec.tasks import TASKS
from models.spec.vocabulary import (
    ACTIVATIONS,
    DEVICES,
    INITS,
    MASKS,
    NETS,
    NORMS,
    OPTIMIZERS,
    POSITIONS,
    SCHEDULES,
    STACKS,
)

MLP, TRANSFORMER = ("mlp",), ("transformer",)


@dataclass(frozen=True)
class Fields:
    """The settings of a run, whether legal together or not.

    The defaults are the first lesson: pre-norm learns the digits, and without the skip or the norm it does not.
    """

    net: Annotated[str, Knob("Net", "What a block is made of.", choices=NETS, group="network", control="segments")] = (
        "mlp"
    )
    task: Annotated[str, Knob("Task", "What the net is asked to learn.", choices=TASKS, group="task")] = "digits"
    depth: Annotated[
        int,
        Knob(
            "Depth",
            "Blocks in the stack; a transformer block is two sublayers. Up to 48 for a transformer.",
            1,
            128,
            group="network",
            control="slider",
        ),
    ] = 32
    width: Annotated[
        int, Knob("Width", "Features per token, the size of the stream.", 8, 512, 8, group="network", control="slider")
    ] = 64
    heads: Annotated[
        int, Knob("Heads", "Attention heads; must divide the width.", 1, 16, nets=TRANSFORMER, control="slider")
    ] = 4
    expansion: Annotated[
        int,
        Knob("Expansion", "Hidden features of a two-layer branch, as a multiple of the width.", 1, 8, control="slider"),
    ] = 1
    layers_per_branch: Annotated[
        int, Knob("Layers per branch", "1: act(Wx). 2: W2 act(W1 x).", 1, 2, nets=MLP, control="slider")
    ] = 2
    activation: Annotated[
        str, Knob("Activation", "The non-linearity inside the branch.", choices=ACTIVATIONS, group="network")
    ] = "relu"
    position: Annotated[
        str, Knob("Position", "How a transformer learns the order of its tokens.", choices=POSITIONS, nets=TRANSFORMER)
    ] = "sinusoidal"
    mask: Annotated[str, Knob("Mask", "Which tokens attention may look at.", choices=MASKS, nets=TRANSFORMER)] = (
        "causal"
    )
    residual: Annotated[
        bool,
        Knob(
            "Residual",
            "On: a residual connection carries the stream past every branch. Off: it does not.",
            group="network",
        ),
    ] = True
    placement: Annotated[
        str,
        Knob(
            "Placement",
            "Where the norm sits relative to the branch and the add.",
            choices=PLACEMENTS,
            group="network",
        ),
    ] = "pre-norm"
    norm: Annotated[str, Knob("Norm", "Which normalisation fills the slots.", choices=NORMS, group="network")] = (
        "layer norm"
    )
    eps: Annotated[
        float,
        Knob(
            "Eps",
            "Added inside the root: to the variance, or RMS norm's mean square.",
            1e-12,
            1.0,
            log=True,
        ),
    ] = 1e-5
    affine: Annotated[bool, Knob("Affine", "Learned gain and bias after each norm; RMS norm has only a gain.")] = True
    qk_norm: Annotated[
        bool,
        Knob("QK-norm", "RMS norm on queries and keys, per head, whatever the norm is.", nets=TRANSFORMER),
    ] = False
    skip_scale: Annotated[
        float | str,
        Knob(
            "Skip weight",
            "The factor on the residual path: a number, which can be typed in, or a rule.",
            0.0,
            256.0,
            rules=SKIP_SCALES,
        ),
    ] = 1.0
    branch_scale: Annotated[
        float | str,
        Knob(
            "Branch scale",
            "The factor on the branch before the add: a number, which can be typed in, a rule or a learned gate.",
            0.0,
            256.0,
            rules=BRANCH_SCALES,
        ),
    ] = 1.0
    input_scale: Annotated[str, Knob("Input scale", "The factor on what the branch reads.", choices=INPUT_SCALES)] = (
        "one"
    )
    stack: Annotated[str, Knob("Stack", "How many streams there are and how blocks are joined.", choices=STACKS)] = (
        "single"
    )
    skip_repeats: Annotated[
        int,
        Knob(
            "Skip repeats",
            "2: recursive skip, the stream is added and normalised once more (Liu 2020).",
            1,
            2,
            control="slider",
        ),
    ] = 1
    init: Annotated[
        str,
        Knob(
            "Initialisation",
            "How the branch weights are drawn. With he, a branch of one ReLU layer keeps the mean square, one of two "
            "doubles it.",
            choices=INITS,
            group="network",
        ),
    ] = "fan-in"
    init_gain: Annotated[
        float, Knob("Init gain", "Multiplies every branch weight at the start.", 0.01, 10.0, log=True)
    ] = 1.0
    optimizer: Annotated[
        str, Knob("Optimiser", "How a gradient becomes a step.", choices=OPTIMIZERS, group="training")
    ] = "momentum"
    lr: Annotated[float, Knob("Learning rate", "The size of a step.", 1e-6, 10.0, group="training", log=True)] = 0.01
    warmup: Annotated[
        int, Knob("Warm-up", "Steps over which the learning rate rises from 0.", 0, 5000, group="training")
    ] = 0
    schedule: Annotated[
        str, Knob("Schedule", "What the learning rate does after warm-up.", choices=SCHEDULES, group="training")
    ] = "constant"
    clip: Annotated[
        float, Knob("Clip", "Gradients longer than this are shortened to it; 0 is off.", 0.0, 1000.0, group="training")
    ] = 0.0
    weight_decay: Annotated[
        float, Knob("Weight decay", "Pulls the weight matrices towards zero.", 0.0, 1.0, group="training")
    ] = 0.0
    batch: Annotated[int, Knob("Batch", "Samples per step.", 1, 512, group="training")] = 64
    steps: Annotated[int, Knob("Steps", "Length of the run.", 1, 5000, group="training")] = 300
    seed: Annotated[int, Knob("Seed", "Decides every random number of the run.", 0, 2**31 - 1, group="training")] = 0
    device: Annotated[
        str, Knob("Device", "Where the run is computed; unavailable devices are rejected.", choices=DEVICES)
    ] = "auto"
    overrides: Annotated[tuple[Override, ...], Knob("Overrides", "Exceptions for single blocks.")] = ()

    @property
    def sublayers(self) -> int:
        """M: one per MLP block, two (attention, feed-forward) per transformer block."""
        return self.depth * (2 if self.net == "transformer" else 1)

    @property
    def tokens(self) -> int:
        """Tokens per sample of this task in this net."""
        return TASKS[self.task].length(self.net)


def knobs() -> Knobs:
    """The accepted types and the knob of every field, in order."""
    return knobs_of(Fields)


def checked(name: str, value: object, kinds: tuple[type, ...], knob: Knob) -> object:
    """The value in its field's own type; ValueError if it is not legal."""
    if kinds == (bool,):
        if isinstance(value, bool):
            return value
        raise ValueError(f"{name} is {value!r}; legal is True or False")
    if float in kinds and (whole(value) or isinstance(value, float)) and knob.holds(value):
        return float(value)  # type: ignore[arg-type]
    if int in kinds and whole(value) and knob.holds(value):
        return value
    if str in kinds and isinstance(value, str) and knob.holds(value):
        return value
    raise ValueError(f"{name} is {value!r}; legal is {knob.legal()}")
