"""Twenty short runs of all families, recorded before the way of their numbers was rebuilt.

`python -m tests.golden.runs` writes them again; do that only where a change is meant to change numbers.
"""

import json
import platform
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from models.export.digest import digest_of
from models.export.findings import findings
from models.spec import ARRANGEMENTS, RunConfig, plan
from models.trace import Columns, Frame, Trace, trace_of
from models.training import Run
from tests.rows import rows_of

STEPS = 12
FRAMES = ("frame_steps", "sample_cosine", "update_to_weight", "dead_units", "head_input", "held_out")
FILE = Path(__file__).with_name("runs.npz")
SENTENCES = Path(__file__).with_name("sentences.json")
SHORT = {"steps": STEPS, "depth": 6, "width": 16, "batch": 8}
RUNS: dict[str, RunConfig] = {
    **{name: RunConfig.arranged(name, **SHORT) for name in list(ARRANGEMENTS)[:11]},
    "default": RunConfig(steps=STEPS),
    "batch norm": RunConfig(norm="batch norm", **SHORT),
    "spiral, gelu, adam, clipped": RunConfig(
        task="spiral", activation="gelu", optimizer="adam", lr=0.003, clip=0.5, warmup=4, schedule="cosine", **SHORT
    ),
    "residual only, diverges": RunConfig(norm="none", lr=3.0, init_gain=2.0, **SHORT | {"depth": 32}),
    "one layer, sigmoid": RunConfig(layers_per_branch=1, activation="sigmoid", residual=False, norm="none", **SHORT),
    "transformer, book": RunConfig(net="transformer", task="book", **SHORT),
    "transformer, copy, rotary": RunConfig(net="transformer", task="copy", position="rotary", qk_norm=True, **SHORT),
    "transformer, post-norm, digits": RunConfig.arranged("post-norm", net="transformer", **SHORT),
    "transformer, sort, without a mask": RunConfig(net="transformer", task="sort", mask="none", **SHORT),
}


def processor() -> str:
    """What decides how a matrix product rounds: torch, its kernels and the processor."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else [platform.processor()]
    kind = sorted(
        {line for line in lines if line.startswith(("vendor_id", "cpu family", "model\t", "stepping", "flags"))}
    )
    named = "\n".join(
        [torch.__version__, torch.backends.cpu.get_cpu_capability(), platform.machine(), *(kind or lines[:1])]
    )
    return sha256(named.encode()).hexdigest()


def measured(cfg: RunConfig) -> Trace:
    """The finished run."""
    run = Run(cfg)
    run.advance(cfg.steps)
    run.close()
    return run.trace()


def numbers(trace: Trace) -> dict[str, np.ndarray]:
    """Rows (T, width) and what the frames hold, as arrays by name."""
    frames = trace.frames
    return {
        "rows": rows_of(trace),
        "frame_steps": np.array([frame.step for frame in frames]),
        "sample_cosine": np.stack([frame.sample_cosine for frame in frames]),
        "update_to_weight": np.stack([frame.update_to_weight for frame in frames]),
        "dead_units": np.stack([frame.dead_units for frame in frames]),
        "head_input": np.stack([frame.head_input for frame in frames]),
        "held_out": np.array([[frame.held_out_loss, frame.held_out_accuracy] for frame in frames]),
    }


def recorded(cfg: RunConfig, kept: Mapping[str, np.ndarray]) -> Trace:
    """The run that `numbers` describes, without the pictures of its frames and where it diverged."""
    arranged = plan(cfg)
    series = zip(*(kept[name] for name in FRAMES), strict=True)
    frames = [
        Frame(int(step), cosine, ratio, float(held_out[0]), float(held_out[1]), dead_units=dead, head_input=read)
        for step, cosine, ratio, dead, read, held_out in series
    ]
    return trace_of(Columns(arranged.sites, arranged.branches, cfg.depth), kept["rows"], frames)


def sentences(cfg: RunConfig, trace: Trace) -> list[str]:
    """What is said of the run, at its end and in its digest."""
    return [digest_of(trace, "2.13.0"), *findings(cfg, trace)]


def main() -> None:
    """Records all runs and what is said of them."""
    torch.set_num_threads(1)  # as in the tests: the number of threads decides how a sum rounds
    traces = {name: measured(cfg) for name, cfg in RUNS.items()}
    arrays = {f"{name}/{part}": kept for name, trace in traces.items() for part, kept in numbers(trace).items()}
    np.savez_compressed(FILE, processor=np.array(processor()), **arrays)
    said = {name: sentences(RUNS[name], recorded(RUNS[name], numbers(trace))) for name, trace in traces.items()}
    SENTENCES.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
