"""Cautions: configurations that are legal yet misleading."""

from models.spec.config import RunConfig
from models.spec.plan import normed_over_batch
from models.spec.tasks import TASKS


def note(cfg: RunConfig) -> str | None:
    """Why a configuration cannot learn its task, or need not, in sentences for the page; None without a reason."""
    kind = TASKS[cfg.task].kind
    if kind not in ("sequence", "text"):
        return None
    sentences = []
    if cfg.net == "mlp" and kind == "sequence":
        sentences.append(f"An MLP works token by token: it cannot look back, so it cannot {cfg.task}.")
    if cfg.net == "mlp" and kind == "text":
        sentences.append("An MLP works token by token: it predicts the next character from one character alone.")
    if cfg.net == "transformer" and cfg.mask == "none":
        sentences.append(
            "Without a mask a token sees the next one, which is its answer: a low loss then proves nothing."
        )
    if normed_over_batch(cfg):
        sentences.append(
            "In training, batch norm averages over later tokens too: what it passes on has seen the future."
        )
    return " ".join(sentences) or None
