"""Linear decoding of token positions from the stream, and the loss at positions beyond those of training.

Legend: B sequences, T tokens, D width, N tokens of all sequences.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from addnorm.probe import accumulate_dtype
from exhibits.labs.attention.trained.answer import BEYOND, PLACE, Beyond, PositionProbe
from models.generator import generator
from models.instruments import on_snapshot
from models.instruments.attention import attention_in
from models.nets.branches import Rotary
from models.nets.embedding import Positions, sinusoids
from models.spec import TASKS, RunConfig
from models.tasks.book import held_out_start, text_classes, windows
from models.training import Snapshot, Work, probe_outputs
from models.training.modes import eval_mode

LEARNED_FROM = 256  # sequences that the decoder is fitted on
FORWARD_BATCH = 64  # sequences per forward pass
RIDGE = 1e-3  # times the mean square of the features
LENGTH_FACTOR = 2  # length of the long texts over that of the training texts
LONG_WINDOWS = 256  # number of long texts


def probe_positions(snapshot: Snapshot) -> Work[PositionProbe]:
    """Accuracy of a linear decoder of a token's position from the stream, at each site, in eval mode.

    The decoder is a ridge regression onto the T positions, fitted on training sequences and tested on held-out ones.
    ValueError for samples of one token, or tokens that are no symbols.
    """
    cfg = snapshot.cfg
    _check_has_positions(cfg)
    train_x, _ = snapshot.task.draw(LEARNED_FROM, generator(cfg.seed, "place"))
    test_x, _ = snapshot.task.held_out
    train_batches, test_batches = train_x.split(FORWARD_BATCH), test_x.split(FORWARD_BATCH)
    streams: list[list[Tensor]] = []
    for x in (*train_batches, *test_batches):
        streams.append(_stream(snapshot, x))
        yield len(streams) / (len(train_batches) + len(test_batches) + 1)
    train_by_site = _concatenated(streams[: len(train_batches)])
    test_by_site = _concatenated(streams[len(train_batches) :])
    scores = [decode_positions(x, z, cfg.tokens) for x, z in zip(train_by_site, test_by_site, strict=True)]
    position = snapshot.model.position
    table = position.table_TD if isinstance(position, Positions) else torch.empty(0, cfg.width)
    return PositionProbe(
        accuracy=np.array([accuracy for accuracy, _ in scores], np.float32),
        r2=np.array([r2 for _, r2 in scores], np.float32),
        chance=1 / cfg.tokens,
        learned_from=LEARNED_FROM,
        tested=len(test_x),
        table=table.detach().float().cpu().numpy(),
    )


def decode_positions(train_ND: Tensor, test_ND: Tensor, tokens: int) -> tuple[float, float]:
    """Accuracy and R² of a ridge regression onto the position; sequences follow each other in both inputs."""
    if not (train_ND.isfinite().all() and test_ND.isfinite().all()):
        return float("nan"), float("nan")
    mean_D = train_ND.mean(0)
    x_ND, z_ND = train_ND - mean_D, test_ND - mean_D
    positions_T = torch.arange(tokens, device=x_ND.device)
    train_N = positions_T.repeat(len(x_ND) // tokens)
    test_N = positions_T.repeat(len(z_ND) // tokens)
    # The targets are the position as a one-hot row and as a number, so that one solution gives both decoders.
    targets = torch.cat((F.one_hot(train_N, tokens), train_N[:, None]), 1).to(x_ND)
    centre = targets.mean(0)
    gram_DD = x_ND.T @ x_ND
    ridge = RIDGE * gram_DD.diagonal().mean().clamp(min=torch.finfo(x_ND.dtype).tiny)
    weights = torch.linalg.solve(gram_DD + ridge * torch.eye(len(gram_DD)).to(gram_DD), x_ND.T @ (targets - centre))
    predicted = z_ND @ weights + centre
    accuracy = (predicted[:, :tokens].argmax(1) == test_N).double().mean().item()
    true_N = test_N.to(predicted)
    unexplained = (predicted[:, tokens] - true_N).square().sum() / (true_N - true_N.mean()).square().sum()
    return accuracy, 1 - unexplained.item()


def beyond(snapshot: Snapshot) -> Work[Beyond]:
    """Cross-entropy by position on held-out texts twice as long as those of training, in eval mode.

    The weights stay the same; sinusoids and rotations are computed for the additional positions. ValueError for a
    learned table, which has no rows for them, and for a task other than the book.
    """
    cfg = snapshot.cfg
    if cfg.task != "book":
        raise ValueError(f"task is {cfg.task!r}; only the book has longer texts")
    if cfg.position == "learned":
        raise ValueError(
            f"a learned table has {cfg.tokens} rows: there is none for token {cfg.tokens + 1}, and the net cannot read "
            "it"
        )
    model = snapshot.copy().eval()
    length = LENGTH_FACTOR * cfg.tokens
    device = next(model.parameters()).device
    if isinstance(model.position, Positions):
        model.position = Positions(sinusoids(length, cfg.width).to(device), learned=False)
    for block in model.stream.blocks.values():
        attention = attention_in(block)
        if attention is not None and isinstance(attention.rotation, Rotary):
            attention.rotation = Rotary(length, cfg.width // cfg.heads).to(device)
    text = text_classes(device)
    start = np.linspace(held_out_start(), len(text) - length - 1, LONG_WINDOWS).astype(np.int64)
    x_BT, y_BT = windows(text, torch.from_numpy(start).to(device), length)
    total_T = torch.zeros(length, dtype=torch.float32, device=device)
    for batch_start in range(0, LONG_WINDOWS, FORWARD_BATCH):
        rows = slice(batch_start, batch_start + FORWARD_BATCH)
        with torch.no_grad():
            logits = model(x_BT[rows])
            total_T += F.cross_entropy(logits.transpose(1, 2), y_BT[rows], reduction="none").sum(0)
        yield (batch_start + FORWARD_BATCH) / LONG_WINDOWS
    return Beyond((total_T / LONG_WINDOWS).cpu().numpy(), cfg.tokens, LONG_WINDOWS)


def _stream(snapshot: Snapshot, x: Tensor) -> list[Tensor]:
    """The stream at every site (B, T, D), in float64 where the device has it."""
    taps = snapshot.model.stream.stream_taps
    with torch.no_grad(), eval_mode(snapshot.model), probe_outputs(taps, gradients=False) as probe:
        snapshot.model(x)
        return [site.to(accumulate_dtype(x.device)) for site in probe.tensors()]


def _concatenated(streams: list[list[Tensor]]) -> list[Tensor]:
    """All tokens of several batches at every site, (N, D) each."""
    return [torch.cat(site).flatten(0, 1) for site in zip(*streams, strict=True)]


def _check_has_positions(cfg: RunConfig) -> None:
    if not TASKS[cfg.task].vocabulary or cfg.tokens < 2:
        raise ValueError(f"task is {cfg.task!r}; its samples are no sequences of symbols with places to read")


MEASURES = {PLACE: on_snapshot(probe_positions), BEYOND: on_snapshot(beyond)}
NETS = ("transformer",)
