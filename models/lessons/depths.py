"""Lessons on what else makes depth trainable (warm-up, initialisation, gates and scales), and on collapse."""

from models.insight.outcome import likeness
from models.lessons.challenges import Challenge, accuracy_at_least, cosine_at_most, loss_within, stream_within
from models.lessons.findings import DIGITS, also, by_learning, by_ratio, comes_below
from models.lessons.lesson import Code, Lesson
from models.lessons.signal import SLIM, STEPS
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
        "32 blocks trained with Adam at a learning rate of 0.003: post-norm, post-norm with a warm-up (the learning "
        "rate rises from 0 over the first 60 steps), and pre-norm without. Which reach a loss below 1 (mean of 10 "
        "batches) at any time in 150 steps?"
    ),
    options=tuple(_WARM_FATES.values()),
    nets=_WARM,
    charts=("loss", "grad_rms", "sample_cosine"),
    found=by_learning(_WARM_FATES, list(_WARM), DIGITS, comes_below(1.0), lowest=True),
    why=(
        "Adam's first steps move every weight by about the learning rate, however small its gradient is (down to about "
        "Adam's epsilon, 1e-8). In post-norm the output head mostly sees the work of the last blocks; when all blocks "
        "jump at once, this changes completely, and the net ends up where all samples look alike and does not recover. "
        "Small first steps avoid that. They do not make it robust: at the full learning rate its loss may jump up "
        "again, which a decaying learning rate prevents. In pre-norm the input passes all blocks along the residuals, "
        "so the same steps do little harm. Large pre-norm models still use warm-up: the risk is smaller, not zero."
    ),
    sources={
        "Xiong 2020": "https://arxiv.org/abs/2002.04745",
        "Liu 2020 (Admin: what makes it hard to train)": "https://arxiv.org/abs/2004.08249",
        "Huang 2020 (T-Fixup)": "https://proceedings.mlr.press/v119/huang20f.html",
    },
    code=Code("models/spec/schedule.py", "learning_rates"),
    challenge=Challenge(
        "Make post-norm end well: a held-out accuracy of 80% after the last of 150 steps. You may change only "
        "warm-up and schedule.",
        _WARM["post-norm"],
        ("warmup", "schedule"),
        (accuracy_at_least(0.8),),
    ),
)

_ONE_LAYER = {"layers_per_branch": 1, "init": "he", "steps": STEPS}
_LEVEL = {
    "plain": RunConfig.arranged("plain", **_ONE_LAYER),
    "with a residual": RunConfig.arranged("residual only", **_ONE_LAYER),
    "with residual and norm": RunConfig(**_ONE_LAYER),  # type: ignore[arg-type]
}
_LEVEL_FATES: dict[tuple[bool, ...], str] = {
    (True, True, True): "all three learn",
    (True, False, True): "plain, and with residual and norm",
    (False, True, True): "all but the plain net",
    (False, False, True): "only the net with residual and norm",
    (False, False, False): "none learns",
}

INIT = Lesson(
    key="init",
    title="Initialisation vs. norm",
    question=(
        "He's initialisation is designed so that ReLU layers keep the mean square of their signal. Three nets of 32 "
        "layers use it: plain, with a residual around each layer, and with residual and pre-norm. Which get below half "
        "the loss at chance in 120 steps?"
    ),
    options=tuple(_LEVEL_FATES.values()),
    nets=_LEVEL,
    charts=("loss", "act_rms", "sample_cosine"),
    found=by_learning(_LEVEL_FATES, list(_LEVEL), DIGITS),
    why=(
        "An initialisation suits one arrangement. He's factor 2 makes up for what ReLU discards in a plain net: there "
        "the signal stays level (on average over seeds; one narrow net may be far off). Put a residual around the same "
        "layer, and its output is added to what was there: the mean square doubles, or worse, since ReLU's outputs "
        "share a mean and add up. A norm fixes the size of what each branch reads, whatever the weights are, at every "
        "training step; an initialisation does so only at the first. A level signal alone does not save the plain net: "
        "what tells digits apart has to pass all of its 32 layers, and training lowers its sample cosine, 0.98 at "
        "first, only slowly. In the net with residual and norm the cosine stays above 0.9 and does no harm: what its "
        "samples share is the mean that each ReLU adds."
    ),
    sources={
        "He 2015": "https://arxiv.org/abs/1502.01852",
        "Zhang 2019 (Fixup: init for residual nets)": "https://arxiv.org/abs/1901.09321",
        "Hanin & Rolnick 2018": "https://arxiv.org/abs/1803.01719",
    },
    code=Code("models/nets/initialisation.py", "initialise"),
    challenge=Challenge(
        "No norm, 32 blocks with residuals: keep the signal within a factor of 1.5 before training, and reach a loss "
        "of 0.1 within 100 steps. You may change only the initialisation.",
        RunConfig.arranged("residual only", steps=100),
        ("init",),
        (stream_within(1.5), loss_within(0.1, 100)),
    ),
)

_DEEP = {name: RunConfig.arranged(name, **SLIM) for name in ("residual only", "post-norm", "ReZero", "DeepNorm")}
_DEEP_FATES: dict[tuple[bool, ...], str] = {
    (True, True, True, True): "all four learn",
    (False, True, False, True): "those with a norm: post-norm and DeepNorm",
    (False, True, True, True): "all but the residual alone",
    (False, False, True, True): "ReZero and DeepNorm",
    (False, False, False, True): "only DeepNorm",
}

GATES = Lesson(
    key="gates",
    title="Depth without norm",
    question=(
        "64 blocks: with a residual alone; with post-norm; ReZero, which has no norm but multiplies every branch by a "
        "gate that starts at 0; and DeepNorm, which is post-norm with a heavier residual and smaller initial weights. "
        "Which learn the digits in 120 steps?"
    ),
    options=tuple(_DEEP_FATES.values()),
    nets=_DEEP,
    charts=("loss", "act_rms", "grad_rms"),
    found=by_learning(_DEEP_FATES, list(_DEEP), DIGITS),
    why="Depth does not need a norm. Without one it needs branches that all together change the signal little: $vL$ "
    "of order 1, where $v$ is the mean square that a branch adds. ReZero starts at $v = 0$, so signal and gradient are "
    "exactly level at any depth, and training opens its gates as needed; at the "
    "first step only the gate of a block has a gradient, its weights have none, while embedding and output head learn "
    "from the start. DeepNorm keeps the norm after the add and makes it harmless: the residual is multiplied by "
    "$M^{1/4}$ and the initial weights by $(4M)^{-1/4}$, where $M$ counts the sublayers, so that the input still "
    "arrives through all norms. With only one of the two it is a different method.",
    sources={
        "Bachlechner 2020 (ReZero)": "https://arxiv.org/abs/2003.04887",
        "Wang 2022 (DeepNorm)": "https://arxiv.org/abs/2203.00555",
    },
    code=Code("models/nets/sublayer.py", "Gate"),
    challenge=Challenge(
        "48 blocks with residuals, no norm and no gate: reach a loss of 0.1 within 80 steps with a signal that grows "
        "by at most a factor of 4 before training. You may change only the branch scale.",
        RunConfig.arranged("residual only", depth=48, steps=80),
        ("branch_scale",),
        (stream_within(4), loss_within(0.1, 80)),
    ),
)

_COLLAPSE = {
    "layer norm, no residual": RunConfig.arranged("plain + norm", steps=STEPS),
    "post-norm": RunConfig.arranged("post-norm", steps=STEPS),
    "pre-norm": RunConfig(steps=STEPS),
}
_ALIKE = ("below 0.3: about as different as before", "0.3 to 0.9: more alike", "above 0.9: nearly the same direction")

_LIKE = by_ratio(
    _ALIKE,
    (0.3, 0.9),
    likeness,
    of=0,
    sentence="Before training, after 32 blocks without residuals, the mean cosine between different samples is {:.2f}.",
)

COLLAPSE = Lesson(
    key="collapse",
    title="Directions after 32 blocks",
    question=(
        "32 blocks with a layer norm in each and no residual: signal and gradient are level. Different digits enter "
        "with a mean cosine near 0, so they point in unrelated directions. What is their mean cosine after the last "
        "block, before training?"
    ),
    options=_ALIKE,
    nets=_COLLAPSE,
    charts=("sample_cosine", "grad_rms", "loss"),
    before=_LIKE,
    found=also(_LIKE, list(_COLLAPSE)),
    why=(
        "Layer norm and RMS norm equalise sizes, not directions. ReLU's outputs are never negative, so any two of them "
        "have a positive cosine, and block by block the cosine climbs towards 1: what remains of the input is a small "
        "difference on top of a large common part. The output head then sees nearly the same vector for every digit. "
        "Batch norm removes that common part, because it subtracts each feature's mean over the batch: with it the "
        "cosine settles near a third (1/π for ReLUs of unrelated inputs). A residual carries the differences past the "
        "layers; how much of them arrives depends on what lies on its path. In a transformer the same happens to "
        "tokens, because attention averages them."
    ),
    sources={
        "Dong 2021 (attention loses rank)": "https://arxiv.org/abs/2103.03404",
        "Noci 2022 (signal propagation in Transformers)": "https://arxiv.org/abs/2206.03126",
    },
    code=Code("addnorm/cosine.py", "mean_cosines"),
    challenge=Challenge(
        "Keep the samples apart in 32 blocks with a layer norm and no residual: a mean sample cosine of at most 0.3 "
        "before training, and a loss of 1.5 within 120 steps. You may change only activation and initialisation.",
        _COLLAPSE["layer norm, no residual"],
        ("activation", "init"),
        (cosine_at_most(0.3), loss_within(1.5, 120)),
    ),
)
