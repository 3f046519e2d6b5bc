"""Lessons on the norm itself: what it averages over, where it goes, and why one precedes the output head."""

from models.lessons.challenges import Challenge, accuracy_at_least, first_loss_at_most, loss_within
from models.lessons.findings import DIGITS, also, by_learning, by_ratio, recognises
from models.lessons.lesson import Code, Lesson
from models.lessons.signal import SLIM, STEPS
from models.spec import RunConfig

_TWO = {
    "layer norm": RunConfig(depth=16, batch=2, steps=STEPS),
    "batch norm": RunConfig(depth=16, batch=2, norm="batch norm", steps=STEPS),
}
_BETTER: dict[tuple[bool, ...], str] = {
    (True, True): "both do",
    (True, False): "only layer norm",
    (False, True): "only batch norm",
    (False, False): "neither",
}

BATCH = Lesson(
    key="batch",
    title="Layer norm vs. batch norm",
    question=(
        "Batches of two digits, 16 pre-norm blocks. With which norm does the net recognise more than half of the "
        "unseen digits after 120 steps?"
    ),
    options=tuple(_BETTER.values()),
    nets=_TWO,
    charts=("loss", "act_rms", "grad_rms"),
    found=by_learning(_BETTER, list(_TWO), DIGITS, recognises(0.5)),
    why=(
        "Layer norm takes mean and variance over the features of one token: the batch does not matter. Batch norm "
        "takes them for each feature over the batch. The mean of two numbers lies in the middle, so whatever they "
        "were, they come out as +1 and -1: their distance, and with it most of the information, is lost. And after "
        "training batch norm uses running averages, which batches of two estimate badly."
    ),
    sources={
        "Ba 2016 (layer norm)": "https://arxiv.org/abs/1607.06450",
        "Ioffe & Szegedy 2015 (batch norm)": "https://arxiv.org/abs/1502.03167",
        "Wu & He 2018 (group norm: small batches)": "https://arxiv.org/abs/1803.08494",
    },
    code=Code("models/nets/norms.py", "TokenBatchNorm"),
    challenge=Challenge(
        "Make batch norm reach a held-out accuracy of 85% after 120 steps with batches of at most 16. You may change "
        "only the batch size.",
        _TWO["batch norm"],
        ("batch",),
        (accuracy_at_least(0.85),),
        (("batch", 1, 16),),
    ),
)

_PLACED = {name: RunConfig.arranged(name, **SLIM) for name in ("post-norm", "pre-norm", "sandwich")}
_FREE: dict[tuple[bool, ...], str] = {
    (True, True, True): "all three learn",
    (False, True, True): "pre-norm and sandwich learn, post-norm does not",
    (True, False, True): "post-norm and sandwich learn, pre-norm does not",
    (False, True, False): "only pre-norm learns",
    (False, False, False): "none learns",
}

PLACE = Lesson(
    key="placement",
    title="Where the norm goes",
    question=(
        "Three nets of 64 blocks with a residual and a layer norm, all with the same initial weights. The norm sits "
        "after the add (post-norm), before the branch (pre-norm), or on both sides of the branch (sandwich). Which "
        "nets learn the digits in 120 steps?"
    ),
    options=tuple(_FREE.values()),
    nets=_PLACED,
    charts=("loss", "grad_rms", "sample_cosine"),
    found=by_learning(_FREE, list(_PLACED), DIGITS),
    why="Before training post-norm looks best of the three: signal and gradient are level. Watch the sample cosine. "
    "The norm after the add scales residual and branch down together, so that only $(1+v)^{-L/2}$ of the input "
    "arrives, where $v$ is the mean square that a branch adds: with $v = 1/2$ and 64 blocks that is 2e-6. What arrives "
    "instead is the work of the last blocks, which ReLU has made alike for all samples. Where the residual passes no "
    "norm, the input arrives whole. The price of pre-norm is a signal that grows as $\\sqrt{1+vL}$, so that later "
    "blocks count for less.",
    sources={
        "Vaswani 2017 (post-norm)": "https://arxiv.org/abs/1706.03762",
        "Xiong 2020 (pre-norm)": "https://arxiv.org/abs/2002.04745",
        "Ding 2021 (sandwich)": "https://arxiv.org/abs/2105.13290",
    },
    code=Code("models/nets/sublayer.py", "Sublayer"),
    challenge=Challenge(
        "Make the post-norm net of 64 blocks reach a loss of 0.1 within 150 steps. You may change only warm-up and "
        "skip weight.",
        RunConfig(depth=64, width=32, batch=32, placement="post-norm", steps=150),
        ("warmup", "skip_scale"),
        (loss_within(0.1, 150),),
    ),
)


def without_final_norm(depth: int, **fields: object) -> RunConfig:
    """Pre-norm without a final norm: placement "none", which has no final norm, with pre-norm set in every block."""
    blocks = tuple((block, "placement", "pre-norm") for block in range(1, depth + 1))
    return RunConfig(depth=depth, placement="none", overrides=blocks, **fields)  # type: ignore[arg-type]


_HEADS = {
    "with a final norm": RunConfig(init="he", steps=60),
    "without": without_final_norm(32, init="he", steps=60),
}
_SURE = ("about the loss at chance", "about twice as much", "more than three times as much")

_FIRST_LOSS = by_ratio(
    _SURE,
    (1.5, 3),
    lambda trace: float(trace.loss[0]) / DIGITS,
    of=1,
    sentence="Without a final norm the first loss is {:.2g} times that at chance.",
)

FINAL = Lesson(
    key="final",
    title="Why the final norm",
    question=(
        "32 pre-norm blocks with He's initialisation. Pre-norm nets have one more norm, between the last block and "
        "the output head. Without it, how large is the loss before training, compared with chance (ln 10 = 2.30)?"
    ),
    options=_SURE,
    nets=_HEADS,
    charts=("loss", "act_rms", "grad_rms"),
    before=_FIRST_LOSS,
    found=also(_FIRST_LOSS, list(_HEADS)),
    why="Pre-norm leaves the residual path alone, so the signal grows by a factor of $\\sqrt{1+vL}$. Every block reads "
    "a normalised copy and does not notice. The output head does: logits that are many times too large mean a net that "
    "is very sure and wrong. The final norm gives the head a signal of the size it expects, whatever the depth. It "
    "belongs to no block and is easily forgotten: torch's `nn.TransformerEncoder` has none unless one is passed to it.",
    sources={
        "Radford 2019 (GPT-2 adds it)": "https://openai.com/index/better-language-models/",
        "Xiong 2020": "https://arxiv.org/abs/2002.04745",
    },
    code=Code("models/nets/build.py", "Net"),
    challenge=Challenge(
        "Do without the final norm: a loss of at most 3.5 before training, and 0.2 within 60 steps. You may change "
        "only the branch scale.",
        without_final_norm(32, init="he", steps=60),
        ("branch_scale",),
        (first_loss_at_most(3.5), loss_within(0.2, 60)),
    ),
)
