"""Lessons on what else makes depth possible: warm-up, initialisation, and gates instead of norms; and on collapse."""

from models.insight.outcome import likeness
from models.lessons.challenges import Challenge, accuracy_at_least, cosine_at_most, loss_within, stream_within
from models.lessons.findings import also, by_learning, by_ratio, comes_below
from models.lessons.lesson import Code, Lesson
from models.lessons.signal import DIGITS, STEPS
from models.spec import RunConfig

_ADAM = {"optimizer": "adam", "lr": 0.003, "steps": 150}
_WARM = {
    "post-norm": RunConfig.arranged("post-norm", **_ADAM),
    "post-norm, warm-up 60": RunConfig.arranged("post-norm", warmup=60, **_ADAM),
    "pre-norm": RunConfig.arranged("pre-norm", **_ADAM),
}
_WARM_FATES: dict[tuple[bool, ...], str] = {
    (True, True, True): "all three",
    (False, True, True): "all but post-norm without a warm-up",
    (True, True, False): "both post-norm nets",
    (False, False, True): "only pre-norm: a warm-up changes nothing",
    (False, True, False): "only post-norm with a warm-up",
}

WARMUP = Lesson(
    key="warmup",
    title="Warm-up",
    question=(
        "32 blocks trained by Adam at a rate of 0.003: post-norm, post-norm whose rate rises from 0 over the first 60 "
        "steps, and pre-norm without. Which have a loss below 1 (mean of 10 batches) at some time in 150 steps?"
    ),
    options=tuple(_WARM_FATES.values()),
    nets=_WARM,
    charts=("grad_rms", "sample_cosine", "loss"),
    finding=by_learning(_WARM_FATES, list(_WARM), DIGITS, comes_below(1.0)),
    why=(
        "Adam's first steps move every weight by about the learning rate, however small its gradient is. In post-norm "
        "the head sees mostly what the last blocks have made; when all blocks jump at once, this changes altogether, "
        "and the net ends where all samples look alike, from where it does not come back. Small first steps let it "
        "leave that region. They do not make it robust: at the full rate its loss may jump up again, which a falling "
        "rate prevents. In pre-norm the input arrives past all blocks, so that the same steps do little harm. Large "
        "pre-norm models are still warmed up: less is at stake, not nothing."
    ),
    sources={
        "Xiong 2020": "https://arxiv.org/abs/2002.04745",
        "Liu 2020 (Admin: what makes it hard to train)": "https://arxiv.org/abs/2004.08249",
        "Huang 2020 (T-Fixup)": "https://proceedings.mlr.press/v119/huang20f.html",
    },
    code=Code("models/training/schedule.py", "learning_rates"),
    challenge=Challenge(
        "Let post-norm end well: a held-out accuracy of 80% after the last of 150 steps. You may touch warm-up and "
        "schedule only.",
        _WARM["post-norm"],
        ("warmup", "schedule"),
        (accuracy_at_least(0.8),),
    ),
)

_ONE_LAYER = {"layers_per_branch": 1, "init": "he", "steps": STEPS}
_LEVEL = {
    "plain": RunConfig.arranged("plain", **_ONE_LAYER),
    "with a skip": RunConfig.arranged("residual only", **_ONE_LAYER),
    "with skip and norm": RunConfig(**_ONE_LAYER),  # type: ignore[arg-type]
}
_LEVEL_FATES: dict[tuple[bool, ...], str] = {
    (True, True, True): "all three learn",
    (True, False, True): "plain, and with skip and norm",
    (False, True, True): "with a skip, and with skip and norm",
    (False, False, True): "only the net with skip and norm",
    (False, False, False): "none learns",
}

INIT = Lesson(
    key="init",
    title="Init against norm",
    question=(
        "He's initialisation is made so that ReLU layers keep the mean square of their signal. 32 layers with it: "
        "plain, with a skip around each, with skip and pre-norm. Which lose half of the loss of guessing, or more, in "
        "120 steps?"
    ),
    options=tuple(_LEVEL_FATES.values()),
    nets=_LEVEL,
    charts=("act_rms", "sample_cosine", "loss"),
    finding=by_learning(_LEVEL_FATES, list(_LEVEL), DIGITS),
    why=(
        "An initialisation is a promise about one arrangement. He's factor 2 makes up for what ReLU throws away in a "
        "plain net: there the signal stays level (on average over seeds; one narrow net may be off by much). Put a "
        "skip around the same layer and its output comes on top of what was there: the mean square doubles, or worse, "
        "since ReLU's outputs share a mean and add up. A norm keeps its promise whatever the weights are, at every "
        "step of the training; an initialisation keeps it only at the first. And level sizes alone do not save the "
        "plain net: look at its sample cosine."
    ),
    sources={
        "He 2015": "https://arxiv.org/abs/1502.01852",
        "Zhang 2019 (Fixup: init for nets with skips)": "https://arxiv.org/abs/1901.09321",
        "Hanin & Rolnick 2018": "https://arxiv.org/abs/1803.01719",
    },
    code=Code("models/nets/initialisation.py", "initialise"),
    challenge=Challenge(
        "No norm, 32 blocks with a skip: keep the signal (residual stream) within a factor of 1.5 before training, and "
        "reach a loss of 0.1 within 100 steps. You may touch the initialisation only.",
        RunConfig.arranged("residual only", steps=100),
        ("init",),
        (stream_within(1.5), loss_within(0.1, 100)),
    ),
)

_SLIM = {"depth": 64, "width": 32, "batch": 32, "steps": STEPS}
_DEEP = {name: RunConfig.arranged(name, **_SLIM) for name in ("residual only", "post-norm", "ReZero", "DeepNorm")}
_DEEP_FATES: dict[tuple[bool, ...], str] = {
    (True, True, True, True): "all four learn",
    (False, True, False, True): "those with a norm: post-norm and DeepNorm",
    (False, True, True, True): "all but the bare skip",
    (False, False, True, True): "ReZero and DeepNorm",
    (False, False, False, True): "only DeepNorm",
}

GATES = Lesson(
    key="gates",
    title="Depth without norm",
    question=(
        "64 blocks. ReZero has no norm: a gate that starts at 0 stands before every add. DeepNorm is post-norm with a "
        "heavier skip and smaller weights. Beside them a bare skip and usual post-norm. Which learn the digits in 120 "
        "steps?"
    ),
    options=tuple(_DEEP_FATES.values()),
    nets=_DEEP,
    charts=("act_rms", "grad_rms", "loss"),
    finding=by_learning(_DEEP_FATES, list(_DEEP), DIGITS),
    why="What depth needs is not a norm but a signal (residual stream) that is little changed by any one block. ReZero "
    "starts as the identity, so signal and gradient are exactly level at any depth, and opens its gates as training "
    "asks for it; at the first step no weight of a block has a gradient, only its gate has, while embedding and head "
    "learn from the start. DeepNorm keeps the norm after the add and makes it harmless: the skip weighs $M^{1/4}$, the "
    "weights are smaller by $(4M)^{-1/4}$, so that the input still arrives through all norms. With one of the two "
    "parts alone it is another method.",
    sources={
        "Bachlechner 2020 (ReZero)": "https://arxiv.org/abs/2003.04887",
        "Wang 2022 (DeepNorm)": "https://arxiv.org/abs/2203.00555",
    },
    code=Code("models/nets/sublayer.py", "Gate"),
    challenge=Challenge(
        "48 blocks with a skip, no norm and no gate: reach a loss of 0.1 within 80 steps with a signal that grows by "
        "at most a factor of 4 before training. You may touch the branch scale only.",
        RunConfig.arranged("residual only", depth=48, steps=80),
        ("branch_scale",),
        (stream_within(4), loss_within(0.1, 80)),
    ),
)

_COLLAPSE = {
    "layer norm, no skip": RunConfig.arranged("plain + norm", steps=STEPS),
    "post-norm": RunConfig.arranged("post-norm", steps=STEPS),
    "pre-norm": RunConfig(steps=STEPS),
}
_ALIKE = ("below 0.3: about as different as before", "0.3 to 0.9: more alike", "above 0.9: nearly the same direction")

COLLAPSE = Lesson(
    key="collapse",
    title="What collapses",
    question=(
        "32 layers with a layer norm in each and no skip: signal and gradient are level. Different digits enter with a "
        "cosine near 0 between them. What is their mean cosine after the last layer, before any training?"
    ),
    options=_ALIKE,
    nets=_COLLAPSE,
    charts=("sample_cosine", "grad_rms", "loss"),
    finding=also(
        by_ratio(
            _ALIKE,
            (0.3, 0.9),
            likeness,
            of=0,
            sentence="After 32 layers without a skip the mean cosine between different samples is {:.2f}.",
        ),
        list(_COLLAPSE),
    ),
    why=(
        "A layer norm or an RMS norm levels sizes, not directions. ReLU's outputs are never negative, so any two of "
        "them have a positive cosine, and layer after layer the cosine climbs towards 1: what is left of the input is "
        "a small difference on top of a large common part. The head then sees nearly the same vector for every digit. "
        "Batch norm takes that common part away, because it subtracts every feature's mean over the batch: with it the "
        "cosine settles near 0.4. A skip carries the differences past the layers; how much of them arrives depends on "
        "what stands on the skip path. In a transformer the same happens to tokens, because attention averages."
    ),
    sources={
        "Dong 2021 (attention loses rank)": "https://arxiv.org/abs/2103.03404",
        "Noci 2022 (signal propagation in Transformers)": "https://arxiv.org/abs/2206.03126",
    },
    code=Code("models/training/frames.py", "mean_cosines"),
    challenge=Challenge(
        "Keep the samples apart in 32 layers with a layer norm and no skip: a mean sample cosine of at most 0.3 before "
        "training, and a loss of 1.5 within 120 steps. You may touch activation and initialisation only.",
        _COLLAPSE["layer norm, no skip"],
        ("activation", "init"),
        (cosine_at_most(0.3), loss_within(1.5, 120)),
    ),
)
