"""The first three lessons: what depth does to signal and gradient, and how the residual helps."""

import math

from models.insight.outcome import gradient_change, stream_change
from models.lessons.challenges import Challenge, loss_within
from models.lessons.findings import DIGITS, also, by_learning, by_size
from models.lessons.lesson import Code, Lesson
from models.spec import RunConfig

STEPS = 120
SLIM = {"depth": 64, "width": 32, "batch": 32, "steps": STEPS}  # deep nets that train quickly

_FADING = ("about as large, within a factor of 10", "10 to 1,000 times smaller", "more than 1,000 times smaller")
_PLAIN = {
    "4 blocks": RunConfig.arranged("plain", depth=4, steps=STEPS),
    "32 blocks": RunConfig.arranged("plain", steps=STEPS),
}

_FADED = by_size(
    _FADING, (1, 3), gradient_change, of=1, what="the gradient of 32 blocks", path="on the way back to the input"
)

VANISHING = Lesson(
    key="vanishing",
    title="The gradient on its way back",
    question=(
        "A stack of 32 blocks, each of two layers with a ReLU between them and weights from N(0, 1/inputs); no "
        "residual, no norm. Before training, how large is the gradient at the first block compared with that at the "
        "last?"
    ),
    options=_FADING,
    nets=_PLAIN,
    charts=("grad_rms", "act_rms", "loss"),
    before=_FADED,
    found=also(_FADED, list(_PLAIN)),
    why=(
        "A plain net is a product. Every block multiplies the mean square of the signal by $v$, and on the way back "
        "that of the gradient: after $L$ blocks the RMS has been multiplied by $v^{L/2}$. With fan-in weights and "
        "ReLU $v = 1/2$, because ReLU discards half of the mean square: $2^{-16}$ = 1.5e-5 at 32 blocks, 1/4 at 4 "
        "blocks. A weight's gradient is the product of its block's input and the gradient that arrives there: the "
        "first blocks receive almost no gradient, the last ones almost no input, so all gradients are equally tiny. "
        "The net could represent the digits, but its output is nearly the same for every digit, and the loss does not "
        "move."
    ),
    sources={
        "He 2015 (initialisation)": "https://arxiv.org/abs/1502.01852",
        "Glorot & Bengio 2010": "https://proceedings.mlr.press/v9/glorot10a.html",
    },
    code=Code("models/nets/stacks.py", "Stack.forward"),
    challenge=Challenge(
        "Make the plain net of 8 blocks reach a loss of 0.3 within 80 steps. You may change only the init gain.",
        RunConfig.arranged("plain", depth=8, steps=80),
        ("init_gain",),
        (loss_within(0.3, 80),),
    ),
)

_GROWING = ("within a factor of 3", "3 to 100 times as large", "more than 100 times as large")
_ADDED = {
    "no norm": RunConfig.arranged("residual only", steps=STEPS),
    "no norm, branches at a third": RunConfig.arranged("residual only", steps=STEPS, branch_scale=0.3),
}

_GROWN = by_size(
    _GROWING, (math.log10(3), 2), stream_change, of=0, what="the signal without a norm", path="over 32 blocks"
)

EXPLODING = Lesson(
    key="exploding",
    title="A sum of many branches",
    question=(
        "Now a residual around each of 32 blocks, and still no norm: every branch adds half as much mean square as the "
        "signal already has. Before training, how large is the signal at the end compared with the beginning?"
    ),
    options=_GROWING,
    nets=_ADDED,
    charts=("act_rms", "grad_rms", "loss"),
    before=_GROWN,
    found=also(_GROWN, list(_ADDED)),
    why="Adding is a product too: a branch that adds $v$ times the mean square multiplies it by $1+v$, and the RMS by "
    "$(1+v)^{L/2}$ after $L$ blocks. Half looks harmless, but $1.5^{16}$ is 657. The residual has turned vanishing "
    "into exploding, for the gradient too. Branches scaled by 0.3 add 0.045 and give a factor of 2, and the net "
    "learns.",
    sources={
        "He 2015 (ResNet)": "https://arxiv.org/abs/1512.03385",
        "Zhang 2019 (Fixup)": "https://arxiv.org/abs/1901.09321",
    },
    code=Code("models/nets/sublayer.py", "Sublayer.forward"),
    challenge=Challenge(
        "Make the 32 blocks with residuals and no norm reach a loss of 0.1 within 60 steps. You may change only the "
        "init gain.",
        RunConfig.arranged("residual only", steps=60),
        ("init_gain",),
        (loss_within(0.1, 60),),
    ),
)

_SKIP = {"with residuals": RunConfig(steps=STEPS), "without": RunConfig(steps=STEPS, residual=False)}
_FATES: dict[tuple[bool, ...], str] = {
    (True, True): "both learn",
    (True, False): "only the net with residuals learns",
    (False, True): "only the net without residuals learns",
    (False, False): "neither learns",
}

SKIP = Lesson(
    key="skip",
    title="The residual",
    question=(
        "A layer norm before every branch keeps the size of its input, with or without a residual. Which net of 32 "
        "blocks learns?"
    ),
    options=tuple(_FATES.values()),
    nets=_SKIP,
    charts=("loss", "grad_rms", "sample_cosine"),
    found=by_learning(_FATES, list(_SKIP), DIGITS),
    why="An input of the right size is not enough. Without a residual each block replaces its input, and ReLU draws "
    "all samples a little closer together every time: at the end all of them point in one direction, and the output "
    "head cannot tell them apart. With a residual a block adds to its input instead of replacing it, and later blocks "
    "add ever less beside what they carry, so samples stay distinguishable. A net can have a level gradient and still "
    "not learn: read the sample cosine too.",
    sources={
        "He 2015 (ResNet)": "https://arxiv.org/abs/1512.03385",
        "Balduzzi 2017 (shattered gradients)": "https://arxiv.org/abs/1702.08591",
    },
    code=Code("models/nets/sublayer.py", "Sublayer.forward"),
    challenge=Challenge(
        "How weak may the residual be? Reach a loss of 0.1 within 100 steps with a skip weight of at most 0.9. You may "
        "change only the skip weight.",
        RunConfig(skip_scale=0.5, steps=100),
        ("skip_scale",),
        (loss_within(0.1, 100),),
        (("skip_scale", 0.0, 0.9),),
    ),
)
