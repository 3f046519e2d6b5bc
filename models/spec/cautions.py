"""Cautions about configurations that are legal but misleading."""

from models.spec.config import RunConfig
from models.spec.plan import activations_of, has_dropout, is_one_layer, mixes_values, plan, uses_batch_statistics
from models.spec.tasks import TASKS, needs_attention
from models.spec.vocabulary import MANY_STREAMS, NORMS

ZERO_LAST = (
    "Zero last does not keep branches small where a norm follows them: it scales even a tiny output up, so after the "
    "first update each branch adds a vector of full size."
)

SCALED_TWICE = (
    "LayerNorm scaling and an initialisation scaled with depth both make deep branches small; together they are less "
    "effective, so its paper advises to remove the latter (Sun 2025, 2502.05795)."
)

VARIANCE_SHIFT = (
    "In training, dropout raises the variance that batch norm learns; at inference nothing is dropped, and what the "
    "norm passes on is too small (Li 2018, 1801.05134)."
)

SELF_NORMALISING = (
    "SELU keeps a mean of 0 and a variance of 1 only with weights from N(0, 1/inputs), no norm, and alpha dropout "
    "(Klambauer 2017, 1706.02515); {breaks}."
)
SUMMED = (
    "The head reads the sum of the {streams} streams, at the start {streams} times what one stream would give it, and "
    "no final norm undoes that."
)
NO_SECOND_ATTENTION = (
    "Value residual does nothing here: it takes a second attention, which mixes the values of the first with its own."
)
STREAM_DROPOUT = "Dropout on the stream multiplies its mean square by 1/(1 - rate) = {times:.2f} at every add."


def config_caution(cfg: RunConfig) -> str | None:
    """Why a configuration misleads, in sentences for the page; None if it does not."""
    sentences = []
    if cfg.init == "zero last" and _has_normed_branch(cfg):
        sentences.append(ZERO_LAST)
    if cfg.init == "gpt2" and cfg.input_scale == "1/sqrt(block)":
        sentences.append(SCALED_TWICE)
    if has_dropout(cfg) and uses_batch_statistics(cfg):
        sentences.append(VARIANCE_SHIFT)
    if "selu" in activations_of(cfg):
        breaks = ["ordinary dropout breaks that"] if has_dropout(cfg) else []
        gain = "" if cfg.init_gain == 1 else f" with gain {cfg.init_gain:g}"
        breaks += [f"initialisation {cfg.init}{gain} breaks that"] if cfg.init != "fan-in" or gain else []
        if breaks:
            sentences.append(SELF_NORMALISING.format(breaks=", and ".join(breaks)))
    if cfg.stream_dropout:
        sentences.append(STREAM_DROPOUT.format(times=1 / (1 - cfg.stream_dropout)))
    if cfg.stack in MANY_STREAMS and plan(cfg).final_norm == "none":
        sentences.append(SUMMED.format(streams=cfg.streams))
    if cfg.net == "transformer" and cfg.value_residual and not mixes_values(cfg):
        sentences.append(NO_SECOND_ATTENTION)
    return " ".join(sentences + _task_cautions(cfg)) or None


def _has_normed_branch(cfg: RunConfig) -> bool:
    """Whether a norm over data follows a branch that ends in a matrix."""
    return any(
        NORMS[sublayer.norm_out].over for sublayer in plan(cfg).sublayers if not is_one_layer(cfg, sublayer.kind)
    )


def _task_cautions(cfg: RunConfig) -> list[str]:
    """Why a configuration cannot learn its task, or learns it without effort."""
    sentences: list[str] = []
    kind = TASKS[cfg.task].kind
    if kind == "points" and activations_of(cfg) == {"identity"} and cfg.task != "linear":
        sentences.append(
            "Without an activation only norms bend what this net computes: it can hardly tell these points apart."
        )
    if kind not in ("sequence", "text"):
        return sentences
    if cfg.net == "mlp" and needs_attention(cfg.task):
        sentences.append(f"An MLP works token by token: it cannot look back, so it cannot {cfg.task}.")
    if cfg.net == "mlp" and kind == "text":
        sentences.append("An MLP works token by token: it predicts the next character from one character alone.")
    if cfg.net == "transformer" and cfg.mask == "none":
        sentences.append(
            "Without a mask a token sees the next one, which is its answer: a low loss then proves nothing."
        )
    if uses_batch_statistics(cfg):
        sentences.append(
            "In training, batch norm averages over later tokens too: what it passes on has seen the future."
        )
    return sentences
