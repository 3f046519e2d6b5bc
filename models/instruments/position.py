"""How well a token's place can be read from the stream, and how a net does at places beyond those of training.

Legend: S sites, B sequences, T tokens, D width, N tokens of all sequences.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.answers import Beyond, PositionProbe
from models.generator import generator
from models.instruments.attention import attention_in
from models.nets.branches import Rotary
from models.nets.embedding import Positions, sinusoids
from models.spec import TASKS, RunConfig
from models.tasks.book import codes, split, windows
from models.training import Snapshot, Work, probe_outputs
from models.training.modes import evaluating

LEARNED_FROM = 256  # sequences that the decoder learns from
READ = 64  # sequences per forward pass
RIDGE = 1e-3  # times the mean square of the features
LONGER = 2  # times the length of the training texts
LONG_WINDOWS = 256


def place(snapshot: Snapshot) -> Work[PositionProbe]:
    """How well a linear decoder finds a token's place in the sequence from the stream, at each site, in eval mode.

    It is a ridge regression onto the T places, learned from training sequences and tested on held-out ones. ValueError
    where there is one token, or where tokens are no symbols.
    """
    cfg = snapshot.cfg
    _check_reads_symbols(cfg)
    learned_x, _ = snapshot.task.draw(LEARNED_FROM, generator(cfg.seed, "place"))
    tested_x, _ = snapshot.task.held_out
    parts: list[list[Tensor]] = []
    batches = [*learned_x.split(READ), *tested_x.split(READ)]
    for at, x in enumerate(batches, start=1):
        parts.append(_stream(snapshot, x))
        yield at / (len(batches) + 1)
    cut = LEARNED_FROM // READ
    learned, tested = (
        [torch.cat(site).flatten(0, 1) for site in zip(*half, strict=True)] for half in (parts[:cut], parts[cut:])
    )
    scores = [decoded(x, z, cfg.tokens) for x, z in zip(learned, tested, strict=True)]
    table = (
        snapshot.model.position.table_TD
        if isinstance(snapshot.model.position, Positions)
        else torch.empty(0, cfg.width)
    )
    return PositionProbe(
        accuracy=np.array([accuracy for accuracy, _ in scores], np.float32),
        r2=np.array([r2 for _, r2 in scores], np.float32),
        chance=1 / cfg.tokens,
        learned_from=LEARNED_FROM,
        tested=len(tested_x),
        table=table.detach().float().cpu().numpy(),
    )


def decoded(learned_ND: Tensor, tested_ND: Tensor, tokens: int) -> tuple[float, float]:
    """Accuracy and R² of a ridge regression onto the place; both inputs hold their sequences one after the other."""
    if not (learned_ND.isfinite().all() and tested_ND.isfinite().all()):
        return float("nan"), float("nan")
    mean_D = learned_ND.mean(0)
    x_ND, z_ND = learned_ND - mean_D, tested_ND - mean_D
    places_N, true_N = (torch.arange(tokens, device=x.device).repeat(len(x) // tokens) for x in (x_ND, z_ND))
    # The place as a one-hot row, and as a number: one solution gives the weights of both.
    goals = torch.cat((F.one_hot(places_N, tokens), places_N[:, None]), 1).to(x_ND)
    centre = goals.mean(0)
    gram_DD = x_ND.T @ x_ND
    ridge = RIDGE * gram_DD.diagonal().mean().clamp(min=torch.finfo(x_ND.dtype).tiny)
    weights = torch.linalg.solve(gram_DD + ridge * torch.eye(len(gram_DD)).to(gram_DD), x_ND.T @ (goals - centre))
    read = z_ND @ weights + centre
    accuracy = (read[:, :tokens].argmax(1) == true_N).double().mean().item()
    number_N = true_N.to(read)
    missed = (read[:, tokens] - number_N).square().sum() / (number_N - number_N.mean()).square().sum()
    return accuracy, 1 - missed.item()


def beyond(snapshot: Snapshot) -> Work[Beyond]:
    """The cross-entropy by place on held-out texts twice as long as those of training, in eval mode.

    The weights are the same; sinusoids and rotations are computed for the further places. ValueError for a learned
    table, which has no rows for them, and for a task other than the book.
    """
    cfg = snapshot.cfg
    if cfg.task != "book":
        raise ValueError(f"task is {cfg.task!r}; only the book has longer texts")
    if cfg.position == "learned":
        raise ValueError(
            f"a learned table has {cfg.tokens} rows: there is none for token {cfg.tokens + 1}, and the net cannot read "
            "it"
        )
    model, long = snapshot.copy().eval(), LONGER * cfg.tokens
    device = next(model.parameters()).device
    if isinstance(model.position, Positions):
        model.position = Positions(sinusoids(long, cfg.width).to(device), learned=False)
    for block in model.stream.blocks.values():
        attention = attention_in(block)
        if attention is not None and isinstance(attention.turn, Rotary):
            attention.turn = Rotary(long, cfg.width // cfg.heads).to(device)
    text = codes(device)
    start = np.linspace(split(), len(text) - long - 1, LONG_WINDOWS).astype(np.int64)
    x_BT, y_BT = windows(text, torch.from_numpy(start).to(device), long)
    total_T = torch.zeros(long, dtype=torch.float32, device=device)
    for at in range(0, LONG_WINDOWS, READ):
        with torch.no_grad():
            logits = model(x_BT[at : at + READ])
            total_T += F.cross_entropy(logits.transpose(1, 2), y_BT[at : at + READ], reduction="none").sum(0)
        yield (at + READ) / LONG_WINDOWS
    return Beyond((total_T / LONG_WINDOWS).cpu().numpy(), cfg.tokens, LONG_WINDOWS)


def _stream(snapshot: Snapshot, x: Tensor) -> list[Tensor]:
    """The stream at every site (B, T, D), in float64 where the device has it."""
    taps = snapshot.model.stream.stream_taps
    with torch.no_grad(), evaluating(snapshot.model), probe_outputs(taps, gradients=False) as probe:
        snapshot.model(x)
        return [site.to(accumulate_dtype(x.device)) for site in probe.tensors()]


def _check_reads_symbols(cfg: RunConfig) -> None:
    if not TASKS[cfg.task].vocabulary or cfg.tokens < 2:
        raise ValueError(f"task is {cfg.task!r}; its samples are no sequences of symbols with places to read")
