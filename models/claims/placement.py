"""Common errors about where the norm goes: growth, vanishing, the final norm, placements mistaken for each other."""

import numpy as np

from models import answers
from models.claims.card import (
    FAILS,
    HOLDS,
    PARTLY,
    Asked,
    Card,
    Judgement,
    Trained,
    Values,
    arxiv,
    geometric_mean,
    gradient,
    gradient_lines,
    growth,
    in_words,
    size_lines,
    untrained,
    verdict,
)
from models.insight.words import number
from models.spec import RunConfig

VANISHED = 0.1  # share of the gradient reaching the stream's start below which it has vanished
SAME = 1.5  # factor up to which two sizes or branch shares count as the same
NORMALISED = 0.05  # a stream this close to mean square 1 is normalised
GROWN = 1.1  # factor over the output of two layers from which an output has grown
LINEAR = 1.3  # power of depth up to which growth counts as linear
XIONG = arxiv(On_layer_normalization_in_the_transformer="2002.04745")
DEEP: dict[str, object] = {"depth": 32, "width": 64}
SMALL: dict[str, object] = {"net": "transformer", "task": "copy", "depth": 6, "width": 32, "batch": 8}


def _never_explodes(values: Values) -> Judgement:
    signal, trace = values["before training"], values["learning rate 3"]
    size, ended = growth(signal), trace.divergence
    fate = f"d{ended.sentence()[1:]}" if ended else f"ends at loss {number(float(trace.loss[-1]))}."
    said = (
        f"Before training the stream's mean square grows {number(size)} times over 32 blocks. At learning rate 3 the "
        "same "
        f"net {fate}"
    )
    table = {
        "what": ["stream's mean square, end over start", "first step that is not finite"],
        "found": [size, _step(ended)],
    }
    lines = size_lines({"geometric mean of six seeds": signal})
    return Judgement(
        verdict([size < SAME, ended is None]),
        said,
        table,
        "if steps are small, and a growing stream does not count as exploding",
        lines,
    )


def _step(ended: object) -> float:
    return float(getattr(ended, "step", np.nan))


def _vanishes(values: Values) -> Judgement:
    found = {name: gradient(one) for name, one in values.items()}
    return Judgement(
        verdict([one < VANISHED for one in found.values()]),
        f"Gradient at the start of the stream over that at its end: {in_words(found)}. Vanished: below {VANISHED:g}.",
        {"net": list(found), "gradient, start over end": list(found.values())},
        "if the branches return less gradient than the norms take from the residual",
        gradient_lines({name: one for name, one in values.items() if "MLP" in name}),
    )


def _final_norm(values: Values) -> Judgement:
    found = values["torch"]
    grown = found.bare[-1] / found.bare[0]
    said = (
        f"torch's pre-norm encoder comes {'without' if found.absent else 'with'} a final norm: RMS "
        f"{found.bare[0]:.3f} after {found.depth[0]} layers, {found.bare[-1]:.3f} after {found.depth[-1]}; with a "
        f"final norm {found.normed[-1]:.3f}. After post-norm a final norm moves the output by {number(found.moved, 1)}."
    )
    table = {"layers": found.depth, "RMS by default": found.bare, "RMS with a final norm": found.normed}
    return Judgement(verdict([not found.absent, grown < GROWN]), said, table, "if a final norm is passed to it")


def _same_place(values: Values) -> Judgement:
    sandwich, post = growth(values["sandwich"]), growth(values["post-norm"])
    said = (
        f"Over 32 blocks the sandwich's stream grows {number(sandwich)} times in mean square (1 + M is 33), "
        "post-norm's "
        f"{number(post)} times; res-post-norm, which normalises only the branch's output, "
        f"{number(growth(values['res-post-norm']))} times."
    )
    return Judgement(
        verdict([max(sandwich, post) / min(sandwich, post) < SAME]),
        said,
        {"net": list(values), "mean square, end over start": [growth(one) for one in values.values()]},
        lines=size_lines(values),
    )


def _collapses(values: Values) -> Judgement:
    tokens = {name: float(values[f"{name}, tokens"].cosine[-1]) for name in ("pre-norm", "post-norm")}
    layers = {name: float(np.mean(values[f"{name}, layers"].neighbour_cosine)) for name in ("pre-norm", "post-norm")}
    said = (
        f"Before training the tokens at the stream's end have cosine {tokens['pre-norm']:.3f} in pre-norm and "
        f"{tokens['post-norm']:.3f} in post-norm; neighbouring sublayers {layers['pre-norm']:.3f} and "
        f"{layers['post-norm']:.3f}."
    )
    table = {"net": list(tokens), "tokens alike": list(tokens.values()), "sublayers alike": list(layers.values())}
    fates = [one["pre-norm"] > one["post-norm"] for one in (tokens, layers)]
    return Judgement(
        verdict(fates), said, table, "for layers, not for tokens" if fates[1] else "for tokens, not for layers"
    )


def _exponential(values: Values) -> Judgement:
    square = geometric_mean(values["pre-norm"].mean_square)
    grown = square - square[0]
    half = len(square) // 2
    power = float(np.log(grown[-1] / grown[half]) / np.log((len(square) - 1) / half))
    said = (
        f"The stream's mean square is {number(square[0])} at the start, {number(square[half])} after {half} blocks and "
        f"{number(square[-1])} after {len(square) - 1}: the added part grows like depth to the power {power:.2f}. If "
        f"growth were exponential, the second half would multiply it by {number(square[half] / square[0])} again, to "
        f"{number(square[half] ** 2 / square[0])}."
    )
    table = {"blocks": [0, half, len(square) - 1], "mean square": [square[0], square[half], square[-1]]}
    lines = size_lines({"geometric mean of six seeds": values["pre-norm"]})
    return Judgement(
        HOLDS if power > 2 * LINEAR else PARTLY if power > LINEAR else FAILS,
        said,
        table,
        "if the net has been trained",
        lines,
    )


def _reads(values: Values) -> Judgement:
    read = {name: geometric_mean(one.mean_square)[1:-1] for name, one in values.items()}
    said = (
        f"The input of post-norm's second and later sublayers has mean square {read['post-norm'].min():.3f} to "
        f"{read['post-norm'].max():.3f}; pre-norm's stream, before the branch's norm, {read['pre-norm'].min():.3f} to "
        f"{read['pre-norm'].max():.3f}."
    )
    table = {
        "net": list(read),
        "least": [one.min() for one in read.values()],
        "most": [one.max() for one in read.values()],
    }
    lines = size_lines(values)
    return Judgement(verdict([float(np.abs(read["post-norm"] - 1).max()) > NORMALISED]), said, table, lines=lines)


def _only_alpha(values: Values) -> Judgement:
    share = {name: float(np.mean(one.branch_rms[0] / one.act_rms[0, :-1])) for name, one in values.items()}
    alone, whole = share["skip weight alone"], share["DeepNorm"]
    said = (
        f"Before training a branch is {whole:.3f} of the stream that it reads in DeepNorm, {alone:.3f} with the skip "
        f"weight alone, {number(alone / whole)} times as much: the smaller initial weights are missing."
    )
    table = {"net": list(share), "branch over stream, mean over blocks": list(share.values())}
    return Judgement(verdict([1 / SAME < alone / whole < SAME]), said, table)


_PRE, _POST = (RunConfig.arranged(name, **DEEP) for name in ("pre-norm", "post-norm"))
_LITTLE = {name: RunConfig.arranged(name, **SMALL) for name in ("pre-norm", "post-norm")}

CARDS = [
    Card(
        "pre-norm-stable",
        "placement",
        "Pre-norm never explodes.",
        "Before training its stream's mean square grows with depth, linearly where branches end in a matrix; in "
        "training it grows faster, up to the limit of half precision. And no norm protects against too large a "
        "learning rate.",
        XIONG | arxiv(Peri_LN="2502.02732"),
        "The stream of 32 blocks before training, six seeds; then 40 steps of the same net at learning rate 3.",
        {
            "before training": untrained(_PRE),
            "learning rate 3": Trained(RunConfig.arranged("pre-norm", lr=3.0, steps=40, **DEEP)),
        },
        _never_explodes,
    ),
    Card(
        "post-norm-vanishes",
        "placement",
        "Post-norm has vanishing gradients.",
        "Before training that depends on the branches: every norm after the add shrinks the residual's gradient, and "
        "ReLU branches return about as much, in an MLP and in a plain encoder; sigmoid branches of two layers return "
        "less, and it vanishes. In training it may shrink in any of them: tokens become alike, queries and keys get "
        "almost no gradient, and updates are too large.",
        XIONG | arxiv(Understanding_difficulty_of_training="2004.08249"),
        "The gradient's length before training, six seeds, in two MLPs and in a transformer.",
        {
            "MLP, 32 blocks": untrained(_POST),
            "sigmoid MLP, 64 blocks": untrained(
                RunConfig.arranged("post-norm", activation="sigmoid", depth=64, width=64)
            ),
            "transformer, 6 blocks": untrained(_LITTLE["post-norm"]),
        },
        _vanishes,
    ),
    Card(
        "final-norm",
        "placement",
        "`nn.TransformerEncoder` with `norm_first=True` is a complete pre-norm transformer.",
        "Its `norm` is None by default: the stream, which grows with depth, reaches the output head unnormalised. A "
        "final norm after post-norm changes nothing at the start.",
        XIONG
        | {"nn.TransformerEncoder": "https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html"},
        "torch's encoder with 2, 6 and 12 layers, each initialised anew, and the size of its output.",
        {"torch": Asked(answers.FINAL_NORM)},
        _final_norm,
    ),
    Card(
        "sandwich-is-post-norm",
        "placement",
        "Sandwich norm and post-norm are the same.",
        "Sandwich normalises what a branch reads and writes, post-norm the sum: one stream grows, the other does "
        "not. Peri-LN is the formula of CogView's Sandwich-LN and of Gemma 2; OLMo 2 normalises the branch's output "
        "only.",
        arxiv(CogView="2105.13290", Peri_LN="2502.02732", OLMo_2="2501.00656"),
        "The stream before training, six seeds, 32 blocks.",
        {name: untrained(RunConfig.arranged(name, **DEEP)) for name in ("sandwich", "post-norm", "res-post-norm")},
        _same_place,
    ),
    Card(
        "rank-collapse",
        "placement",
        "Pre-norm suffers from rank collapse, post-norm does not.",
        "There are two collapses. In pre-norm neighbouring layers become alike; in post-norm tokens do, even before "
        "training.",
        arxiv(Signal_propagation_in_transformers="2206.03126", The_curse_of_depth="2502.05795"),
        "Two transformers of 6 blocks before training: cosine between tokens, and between the stream before and "
        "after a sublayer.",
        {
            f"{name}, {what}": Asked(question, cfg, {"step": 0})
            for name, cfg in _LITTLE.items()
            for what, question in (("tokens", answers.COLLAPSE), ("layers", answers.STREAM))
        },
        _collapses,
    ),
    Card(
        "pre-norm-exponential",
        "placement",
        "The variance of pre-norm grows exponentially.",
        "This is said of upper bounds and of trained nets. Before training it grows linearly where branches end in a "
        "matrix: every block adds the same amount. Branches of a single ReLU layer add their mean too, and it grows "
        "like the square of depth.",
        arxiv(The_curse_of_depth="2502.05795", Peri_LN="2502.02732") | XIONG,
        "The stream of 64 blocks before training, six seeds.",
        {"pre-norm": untrained(RunConfig.arranged("pre-norm", depth=64, width=64))},
        _exponential,
    ),
    Card(
        "post-norm-reads-raw",
        "placement",
        "In post-norm a sublayer reads an un-normalised input.",
        "From the second sublayer on it reads the output of the norm before it. It is pre-norm's stream that is "
        "un-normalised.",
        arxiv(Attention_is_all_you_need="1706.03762") | XIONG,
        "The stream before training, six seeds, 32 blocks.",
        {"post-norm": untrained(_POST), "pre-norm": untrained(_PRE)},
        _reads,
    ),
    Card(
        "deepnorm-is-alpha",
        "placement",
        "DeepNorm multiplies the residual by alpha.",
        "It also scales the initial weights of values, outputs and feed-forward nets by beta, but not those of "
        "queries and keys; encoder-decoders have other constants. Without beta it is a different method.",
        arxiv(DeepNet="2203.00555"),
        "Branch over stream before training, 32 blocks: DeepNorm, its skip weight alone, and post-norm.",
        {
            "DeepNorm": Trained(RunConfig.arranged("DeepNorm", steps=1, **DEEP)),
            "skip weight alone": Trained(RunConfig.arranged("DeepNorm", init="xavier", steps=1, **DEEP)),
            "post-norm": Trained(RunConfig.arranged("post-norm", init="xavier", steps=1, **DEEP)),
        },
        _only_alpha,
    ),
]
