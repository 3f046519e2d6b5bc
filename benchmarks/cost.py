"""The estimated cost of a training step beside the measured one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from benchmarks.report import Figure
from benchmarks.timing import interleaved_seconds
from models.service.calibration import DEEP_NET, WIDE_NET, fit_machine
from models.spec import RunConfig
from models.spec.budget import Machine, set_machine, step_seconds
from models.training import Run

SLICE_SECONDS = 0.05
NAMED_FIELDS = (
    "layers_per_branch",
    "norm",
    "placement",
    "stack",
    "depth_block",
    "activation",
    "branch_scale",
    "position",
    "heads",
)


def mlp(depth: int, width: int, batch: int, **fields: object) -> RunConfig:
    """A two-layer MLP on digits, one token a sample, unless fields say otherwise."""
    return RunConfig(depth=depth, width=width, batch=batch, device="cpu", **fields)  # type: ignore[arg-type]


def transformer(depth: int, width: int, batch: int, task: str = "book") -> RunConfig:
    """A transformer on the book, 32 tokens a sample, unless the task is another."""
    return RunConfig(
        net="transformer",
        task=task,
        depth=depth,
        width=width,
        batch=batch,
        optimizer="adam",
        lr=1e-3,
        device="cpu",
        steps=100,
    )


CONFIGS = (
    mlp(16, 32, 128),
    mlp(32, 64, 64),
    mlp(64, 64, 512),
    mlp(128, 64, 16),
    mlp(128, 64, 128),
    mlp(16, 256, 128),
    mlp(128, 256, 64),
    mlp(32, 64, 64, layers_per_branch=1),
    mlp(32, 32, 16, task="copy"),
    mlp(16, 64, 64, task="spiral", norm="none", lr=1e-4),
    mlp(64, 64, 128, stack="dlcl"),
    mlp(128, 64, 64, stack="dlcl"),
    *(mlp(32, 64, 64, stack=stack) for stack in ("hyper-connections", "dynamic hyper-connections", "mHC")),
    *(mlp(32, 64, 64, stack="attention residuals", depth_block=size) for size in (1, 8)),
    mlp(48, 64, 64, placement="sandwich", norm="rms norm", activation="gelu"),
    mlp(48, 64, 64, branch_scale="layer scale", optimizer="adam"),
    transformer(4, 32, 16),
    transformer(8, 64, 32),
    transformer(48, 64, 8),
    transformer(12, 256, 4),
    transformer(12, 64, 64, task="digits"),
    transformer(12, 64, 128, task="spiral"),
    replace(transformer(24, 64, 16), stack="dlcl"),
    replace(transformer(12, 64, 16), position="rotary", qk_norm=True),
    replace(transformer(12, 64, 16), position="alibi"),
    replace(transformer(12, 64, 16), position="relative bias"),
    replace(transformer(12, 16, 128), heads=8),
)


def budget(configs: Sequence[RunConfig] = CONFIGS, rounds: int = 6) -> list[Figure]:
    """The factor, at least 1, between estimated and measured time of a step with rows but without frames.

    The estimate is for the machine under its present load: the two calibrating nets take turns with the others.
    """
    set_machine(Machine())
    names = {DEEP_NET: "parts", WIDE_NET: "numbers"} | {cfg: name_of(cfg) for cfg in configs}
    runs = {cfg: Run(cfg, frames=False) for cfg in names}
    for run in runs.values():
        run.advance(2)
    # Slices of runs in turn, as the trainer works.
    steps = {cfg: max(1, min(round(SLICE_SECONDS / step_seconds(cfg)), (cfg.steps - 2) // rounds)) for cfg in names}
    seconds = interleaved_seconds({names[cfg]: partial(run.advance, steps[cfg]) for cfg, run in runs.items()}, rounds)
    measured_seconds = {cfg: median(seconds[names[cfg]]) / steps[cfg] for cfg in names}
    machine = fit_machine(measured_seconds[DEEP_NET], measured_seconds[WIDE_NET])
    set_machine(machine)
    pairs = {cfg: (step_seconds(cfg), measured_seconds[cfg]) for cfg in configs}
    set_machine(Machine())
    speed = median(measured / estimated for estimated, measured in pairs.values())
    note = f"this machine takes {machine.fixed:g} times the reference's time for parts, {machine.growing:g} for sizes"
    return [
        Figure("measured / estimated, median", speed, note=note),
        *(_error_figure(cfg, *pair) for cfg, pair in pairs.items()),
    ]


def name_of(cfg: RunConfig) -> str:
    """A configuration in a few words: net, depth x width, batch x tokens, and fields that differ from the default."""
    default = RunConfig(net=cfg.net)
    values = {field: getattr(cfg, field) for field in NAMED_FIELDS}
    words = [cfg.net, f"{cfg.depth}x{cfg.width},", f"{cfg.batch}x{cfg.tokens} tokens"]
    return " ".join(words + [str(value) for field, value in values.items() if value != getattr(default, field)])


def _error_figure(cfg: RunConfig, estimated: float, measured: float) -> Figure:
    off = max(estimated / measured, measured / estimated)
    note = f"estimated {1e3 * estimated:.3g} ms, measured {1e3 * measured:.3g} ms"
    return Figure(f"off by a factor, {name_of(cfg)}", off, at_most=1.3, note=note)
