"""Common errors about attention: what the scores are divided by, what is linear, and what N counts."""

from models.claims import numbers
from models.claims.card import Card, Computed, Judgement, Values, arxiv, verdict
from models.insight.words import number

ONE = (0.5, 2.0)  # a variance between these is about 1
ROUNDING = 1e-9
VASWANI = arxiv(Attention_is_all_you_need="1706.03762")


def _root(values: Values) -> Judgement:
    found = values["numbers"]
    variance = found["variance"]
    said = (
        f"With d_k = 16 and d_model = 64 the variance of q·k is {number(variance['nothing'])}; over √d_model it is "
        f"{number(variance['√d_model'])}, over √d_k {number(variance['√d_k'])}. The embedding has RMS "
        f"{number(found['embedding'])}, the positions added to it {number(found['position'])}; times √d_model the "
        "embedding "
        f"has {number(found['scaled'])}."
    )
    table = {
        "number": [
            *(f"variance of scores over {name}" for name in variance),
            "RMS of the embedding",
            "times √d_model",
            "position",
        ],
        "found": [*variance.values(), found["embedding"], found["scaled"], found["position"]],
    }
    return Judgement(verdict([ONE[0] < variance["√d_model"] < ONE[1]]), said, table)


def _linear(values: Values) -> Judgement:
    found = values["numbers"]
    said = (
        f"A(x + y) differs from A(x) + A(y) by {number(found['held'], 1)} with the attention weights held fixed, and "
        "by "
        f"{number(found['own'])} when they follow the input; A(x) itself is up to {number(found['size'])}."
    )
    table = {
        "attention weights": ["held fixed", "following the input"],
        "largest difference": [found["held"], found["own"]],
    }
    fates = [found["held"] < ROUNDING * found["size"], found["own"] < ROUNDING * found["size"]]
    return Judgement(verdict(fates), said, table, "if the attention weights are held fixed")


def _rows(values: Values) -> Judgement:
    found = values["numbers"]
    said = (
        f"In X of shape {found['shape']} a change in row 2 moves row 1 of the output by {number(found['tokens'])}: "
        "rows "
        f"see each other. In a batch of shape {found['batched']} a change in sample 2 moves sample 1 by "
        f"{number(found['samples'])}."
    )
    table = {
        "axis": ["first axis of X", "first axis of a batch"],
        "output 1 moves by": [found["tokens"], found["samples"]],
    }
    return Judgement(verdict([found["tokens"] < ROUNDING]), said, table)


CARDS = [
    Card(
        "root-of-d",
        "attention",
        "Scores are divided by √d_model.",
        "By √d_k, the size of one head's keys: only then is their variance 1. In the original paper √d_model "
        "multiplies the embedding before the positions are added: embedding and output head share weights, which are "
        "small.",
        VASWANI,
        "4,000 random pairs q, k of size 16, in a model of width 64; embeddings of variance 1/d beside sinusoidal "
        "positions.",
        {"numbers": Computed(numbers.scores)},
        _root,
    ),
    Card(
        "linear-attention",
        "attention",
        "Self-attention is linear.",
        "It is a weighted sum, and linear only while its weights are held fixed; but these depend on the input "
        "through a softmax.",
        VASWANI,
        "One head on two random inputs and on their sum.",
        {"numbers": Computed(numbers.linear)},
        _linear,
        "formula",
    ),
    Card(
        "n-is-the-batch",
        "attention",
        "In X of shape (N, d_model), N is the batch size.",
        "N is the number of tokens, which attend to each other. A batch adds an axis along which nothing is exchanged.",
        VASWANI,
        "One head; row 2 of X is changed, then sample 2 of a batch.",
        {"numbers": Computed(numbers.rows)},
        _rows,
        "formula",
    ),
]
