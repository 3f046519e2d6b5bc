"""Whether remedies help: runs that fail in many ways, each trained again with the first remedy offered."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchmarks.report import Figure
from models.insight.baseline import LEARNED_BELOW, loss_of_guessing
from models.insight.outcome import final_loss
from models.insight.postmortem import candidates, has_failed, postmortem, rank_helpful
from models.instruments.trial import trial
from models.spec import RunConfig
from models.trace import Trace
from models.training import Replays, Run
from models.training.replay import result_of

STEPS = 300
SMALL = {"steps": STEPS, "batch": 32, "width": 32, "device": "cpu"}


def _small_config(name: str, **fields: object) -> RunConfig:
    return RunConfig.arranged(name, **(SMALL | fields))


FAILING = {
    "no norm, 32 blocks": _small_config("residual only", depth=32, lr=0.05, width=64, batch=64),
    "no norm, 64 blocks": _small_config("residual only", depth=64),
    "no norm, learning rate 0.1": _small_config("residual only", depth=24, lr=0.1),
    "no norm, branch scale 2": _small_config("residual only", depth=16, branch_scale=2.0),
    "no norm, skip weight 1.5": _small_config("residual only", depth=24, skip_scale=1.5),
    "no norm, skip weight 2, 100 blocks": RunConfig(norm="none", skip_scale=2.0, depth=100, width=32, device="cpu"),
    "no norm, Adam": _small_config("residual only", depth=48, optimizer="adam"),
    "no norm, orthogonal": _small_config("residual only", depth=32, init="orthogonal"),
    "plain He, 32 blocks": _small_config("plain", depth=32, init="he", lr=0.1),
    "plain He, 128 blocks": _small_config("plain", depth=128, init="he", lr=0.1),
    "plain He, Adam": _small_config("plain", depth=32, init="he", optimizer="adam", lr=0.1),
    "plain, init gain 4": _small_config("plain", depth=32, init_gain=4.0),
    "plain, init gain 10": _small_config("plain", depth=32, init_gain=10.0),
    "plain identity, 48 blocks": _small_config("plain", depth=48, activation="identity", init="he"),
    "plain tanh": _small_config("plain", depth=24, activation="tanh", init="he", init_gain=2.0, lr=1.0),
    "plain, 4 blocks, learning rate 1": _small_config("plain", depth=4, lr=1.0),
    "plain, 32 blocks": _small_config("plain", depth=32),
    "post-norm, learning rate 1": _small_config("post-norm", depth=32, lr=1.0),
    "post-norm, learning rate 10": _small_config("post-norm", depth=12, lr=10.0),
    "pre-norm, learning rate 10": _small_config("pre-norm", depth=16, lr=10.0),
    "pre-norm, skip weight 256": _small_config("pre-norm", depth=16, skip_scale=256.0),
    "ReZero, learning rate 1": _small_config("ReZero", depth=16, lr=1.0),
    "batch norm, no residual": _small_config("plain", depth=48, norm="batch norm", placement="pre-norm", lr=1.0),
    "layer norm, no residual": _small_config("pre-norm", depth=48, residual=False, lr=0.3),
    "dynamic tanh, learning rate 3": _small_config("pre-norm", depth=32, norm="dynamic tanh", lr=3.0),
    "transformer, SGD at 10": _small_config(
        "pre-norm", net="transformer", task="copy", optimizer="sgd", lr=10.0, depth=3, batch=8
    ),
    "transformer, no norm": _small_config(
        "residual only", net="transformer", task="copy", optimizer="momentum", lr=0.1, depth=12, batch=8
    ),
}


def remedies(failing: Mapping[str, RunConfig] = FAILING) -> Iterator[Figure]:
    """The loss of each failed run with its first remedy, and the share of the runs that learn with it."""
    learning_runs = 0
    for name, cfg in failing.items():
        trace = _trace(cfg)
        assert has_failed(cfg, trace, len(trace) - 1), name
        first = postmortem(cfg, trace).suspects
        changes = candidates(cfg, first)
        trials = result_of(trial(Replays(), cfg, first=first, fixed=())).results
        helpful = rank_helpful(changes, trials, diverged=trace.divergence is not None)
        if not helpful:
            yield Figure(name, None, note=f"none of {len(trials)} changes helps")
            continue
        remedy = changes[helpful[0]]
        new_trace = _trace(replace(cfg, **remedy.fields))
        loss = final_loss(new_trace)
        learns = new_trace.divergence is None and loss < LEARNED_BELOW * loss_of_guessing(cfg.task)
        learning_runs += learns
        note = f"{remedy.label}; {len(helpful)} of {len(trials)} tried help{'' if learns else '; IT DOES NOT LEARN'}"
        yield Figure(name, loss, "loss", note=note)
    yield Figure("failed runs that learn with their first remedy", learning_runs / len(failing), at_least=0.87)


def _trace(cfg: RunConfig) -> Trace:
    run = Run(cfg)
    run.advance(cfg.steps)
    run.close()
    return run.trace()
