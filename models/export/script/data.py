"""The data of a stand-alone script: `batch(k)` and `held_out()`."""

import base64
import gzip
import re
import textwrap
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from models.export.script.quote import arguments_of, quote_definitions
from models.spec import TASKS, RunConfig

DATA = Path(__file__).parents[2] / "tasks" / "data"

DIGITS = '''\
@cache
def digits():
    """All 1,797 images as x (N, T, 64 / T), centred, unit mean square; y (N, T) has the digit at the last token."""
    table = torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(DATA))), dtype=torch.uint8).view(-1, 65)
    ink = table[:, :64].double() / 16
    centred = ink - ink[:-HELD_OUT].mean(dim=0)
    x = centred / centred[:-HELD_OUT].square().mean().sqrt()
    y = torch.full((len(table), TOKENS), -100)  # -100: excluded from the loss
    y[:, -1] = table[:, 64]
    return x.float().view(len(table), TOKENS, -1), y


def batch(k):
    """Batch k: training images with replacement."""
    x, y = digits()
    chosen = torch.randint(len(x) - HELD_OUT, (BATCH,), generator=generator(SEED, "batch", k))
    return x[chosen], y[chosen]


def held_out():
    """The images that no batch contains."""
    x, y = digits()
    return x[-HELD_OUT:], y[-HELD_OUT:]
'''

BOOK = '''\
@cache
def codes():
    """The book as classes (N,): class i is the i-th character of its alphabet."""
    text = zlib.decompress(base64.b64decode(DATA)).decode("ascii")
    number = {{character: i for i, character in enumerate(sorted(set(text)))}}
    return torch.tensor([number[character] for character in text])


{quoted}


def batch(k):
    """Batch k: windows from anywhere in the first nine tenths of the book."""
    start = torch.randint(len(codes()) * 9 // 10 - TOKENS, (BATCH,), generator=generator(SEED, "batch", k))
    return windows(codes(), start, TOKENS)


def held_out():
    """64 windows spread evenly over the last tenth."""
    first, last = len(codes()) * 9 // 10, len(codes()) - TOKENS - 1
    start = [int(first + i * ((last - first) / 63)) for i in range(64)]
    return windows(codes(), torch.tensor(start), TOKENS)
'''

POINTS = '''\
{quoted}


def noisy_points(label, source):
    """Points of these labels with noise, scaled to unit mean square: x (B, 1, 2), y (B, 1)."""
    clean = {draw}(label, source)
    points = clean + {noise} * torch.randn(clean.shape, generator=source)
    return points[:, None] * ({mean_square}) ** -0.5, label[:, None]


def batch(k):
    """Batch k: fresh points."""
    source = generator(SEED, "batch", k)
    return noisy_points(torch.randint({classes}, (BATCH,), generator=source), source)


def held_out():
    """300 points, the same for every seed."""
    return noisy_points(torch.arange(300) % {classes}, generator(0, "held out", "{task}"))
'''

SEQUENCES = '''\
{quoted}


def batch(k):
    """Batch k: fresh sequences, x and y (B, T)."""
    return {rule}(BATCH, generator(SEED, "batch", k))


def held_out():
    """64 sequences, the same for every seed."""
    return {rule}(64, generator(0, "held out", "{task}"))
'''


def data_code(cfg: RunConfig) -> str:
    """Code that defines `batch(k)` and `held_out()` for a configuration's task."""
    kind = TASKS[cfg.task].kind
    if kind == "image":
        return DIGITS
    if kind == "text":
        return BOOK.format(quoted=quote_definitions(("models.tasks.book", "windows")))
    _, rule = arguments_of("models.tasks.__init__", "DATASETS", cfg.task)
    if kind == "sequence":
        return SEQUENCES.format(quoted=quote_definitions(("models.tasks.sequences", rule)), rule=rule, task=cfg.task)
    module = "models.tasks.points"
    draw, mean_square, noise = arguments_of(module, rule)
    definitions = [(module, name) for name in (draw, *re.findall(r"\b_[A-Z_]+\b", mean_square))]
    return POINTS.format(
        quoted=quote_definitions(*definitions),
        draw=draw,
        mean_square=mean_square,
        noise=noise,
        classes=TASKS[cfg.task].classes,
        task=cfg.task,
    )


@cache
def embedded_data(task: str) -> str:
    """Code with a real task's data as zlib-compressed base64; "" for a task that generates its data."""
    if task not in ("digits", "book"):
        return ""
    if task == "digits":
        text = gzip.decompress((DATA / "digits.csv.gz").read_bytes()).decode("ascii")
        raw = np.array(re.findall(r"\d+", text), dtype=np.uint8).tobytes()
    else:
        raw = (DATA / "moby_dick.txt").read_bytes()
    packed = base64.b64encode(zlib.compress(raw, 9)).decode("ascii")
    lines = "\n".join(textwrap.wrap(packed, 120))
    contents = "64 pixels (0 to 16) and the digit, one byte each" if task == "digits" else "the text"
    return f'# {TASKS[task].source}.\n# Packed by zlib: {contents}.\nDATA = """\n{lines}\n"""\n'
