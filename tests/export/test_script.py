"""The stand-alone script against the log: the same loss, activation and gradient, to the last bit of float32.

Scripts run in a bare process (`python -I`, another folder, an empty environment) that cannot see the repository.
"""

import ast
import contextlib
import io
import itertools
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch.nn import functional

from models.export.script.script import standalone_script
from models.nets import build_model, connections, norms
from models.spec import ARRANGEMENTS, NETS, NORMS, RunConfig
from models.spec.code import CONNECTIONS, block_code, block_parts, parts_by_name
from models.spec.vocabulary import MANY_STREAMS, POSITIONS
from models.training import Run
from tests import hand
from tests.strategies import configs

SMALL = {"depth": 3, "width": 8, "batch": 4, "steps": 3, "lr": 0.02, "heads": 2, "seed": 7, "device": "cpu"}
TRANSFORMER = SMALL | {"net": "transformer", "expansion": 2}

# Each is run in the bare process; what any configuration prints is in tests/training/test_every_field.py.
CASES = {
    "the default net, small": RunConfig(depth=6, steps=12, device="cpu"),
    "batch norm": RunConfig(**SMALL | {"norm": "batch norm", "placement": "mid-norm", "batch": 5, "task": "spiral"}),
    "ReZero, clip, warm-up": RunConfig.arranged(
        "ReZero", **SMALL | {"clip": 0.1, "warmup": 2, "schedule": "cosine", "steps": 7}
    ),
    "ResiDual, dropout": RunConfig.arranged(
        "ResiDual", **TRANSFORMER | {"branch_dropout": 0.25, "stream_dropout": 0.1, "task": "copy"}
    ),
    "DLCL on the book": RunConfig.arranged("DLCL", **TRANSFORMER | {"task": "book", "position": "rotary"}),
    "mHC, noise": RunConfig.arranged("mHC", **TRANSFORMER | {"mixing_noise": 0.3, "weight_decay": 0.1, "task": "copy"}),
    "attention residuals": RunConfig.arranged(
        "attention residuals", **SMALL | {"depth": 5, "depth_block": 2, "overrides": ((2, "identity", True),)}
    ),
    "muP, AdamW": RunConfig(
        **TRANSFORMER | {"parametrization": "muP", "optimizer": "adamw", "weight_decay": 0.3, "position": "alibi"}
    ),
    "overrides": RunConfig(
        **SMALL | {"overrides": ((1, "residual", False), (2, "identity", True), (3, "norm", "rms norm"))}
    ),
    "a run that diverges": RunConfig(
        **SMALL | {"norm": "none", "init_gain": 10.0, "lr": 10.0, "steps": 40, "depth": 12}
    ),
}

BARE = """
import runpy, sys
for path in sys.argv[1:]:
    print("file", path, flush=True)
    sys.argv = [path, "1"]
    runpy.run_path(path, run_name="__main__")
"""


def numbers(printed: str) -> dict[str, Any]:
    """What a script has printed: loss (T,), act_rms and grad_rms (T, S), sites, held-out loss and accuracy."""
    steps = re.split(r"^step \d+  loss ", printed, flags=re.M)[1:]
    looks = [re.findall(r"^  (\S+)\s+activation (\S+)\s+gradient (\S+)$", step, flags=re.M) for step in steps]
    held_out = re.search(r"^held out  loss (\S+)  accuracy (\S+)$", printed, flags=re.M)
    return {
        "loss": np.float32([step.split()[0] for step in steps]),
        "sites": tuple(site for site, _, _ in looks[0]),
        "act_rms": np.float32([[activation for _, activation, _ in look] for look in looks]),
        "grad_rms": np.float32([[gradient for _, _, gradient in look] for look in looks]),
        "held_out": None if held_out is None else tuple(np.float32(held_out.groups())),
    }


def assert_same(printed: str, cfg: RunConfig) -> None:
    """The printed numbers are the log's, bit by bit."""
    run = Run(cfg)
    run.advance(cfg.steps)
    trace, found = run.trace(), numbers(printed)
    assert found["sites"] == trace.sites
    for name in ("loss", "act_rms", "grad_rms"):
        np.testing.assert_array_equal(found[name][: len(trace)], getattr(trace, name), err_msg=name)
    assert len(found["loss"]) >= len(trace)
    if trace.divergence is None:
        last = trace.frames[-1]
        np.testing.assert_array_equal(found["held_out"], np.float32([last.held_out_loss, last.held_out_accuracy]))


def printed_here(cfg: RunConfig) -> str:
    """What the script prints, run in this process: quicker than a process each, with the same text."""
    words: dict[str, Any] = {"__name__": "script"}
    exec(compile(standalone_script(cfg), "script", "exec"), words)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        words["train"](1)
    return out.getvalue()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the scripts of all cases print, one after another in one process that cannot see the repository."""
    folder = tmp_path_factory.mktemp("elsewhere")
    files = {name: folder / f"case{at}.py" for at, name in enumerate(CASES)}
    for name, path in files.items():
        path.write_text(standalone_script(CASES[name], path.name), encoding="utf-8")
    command = [sys.executable, "-I", "-c", BARE, *(path.name for path in files.values())]
    done = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    parts = re.split(r"^file case\d+\.py$", done.stdout, flags=re.M)[1:]
    return dict(zip(files, parts, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_a_script_in_a_bare_process_prints_the_numbers_of_the_log(case: str, bare: dict[str, str]) -> None:
    assert_same(bare[case], CASES[case])


@pytest.mark.full
def test_a_script_is_started_by_its_name_alone(tmp_path: Path) -> None:
    cfg = RunConfig.arranged("pre-norm", **SMALL | {"task": "xor", "steps": 40})
    (tmp_path / "run.py").write_text(standalone_script(cfg), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "run.py"], cwd=tmp_path, env={}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [int(step) for step in re.findall(r"^step (\d+)", done.stdout, flags=re.M)] == [*range(0, 40, 4), 39]


@settings(max_examples=60)
@given(configs())
def test_a_script_needs_only_torch_and_what_it_uses(cfg: RunConfig) -> None:
    script = standalone_script(cfg)
    tree = ast.parse(script)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= {"torch", *sys.stdlib_module_names}
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    defined += [target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]  # type: ignore[attr-defined]
    assert len(set(defined)) == len(defined), defined
    assert set(defined) <= read, set(defined) - read
    assert max(len(line) for line in script.splitlines()) <= 130


# --- the block's code on the anatomy page ---


def namespace(cfg: RunConfig, block: torch.nn.Module, number: int) -> dict[str, Any]:
    """The names of `block_code`, bound to the parts of a block that the builder made."""
    parts: dict[str, Any] = {name: _part(block, path) for name, (path, _) in parts_by_name(cfg, number).items()}
    attention = getattr(block["attn"], "function", None) if cfg.net == "transformer" else None  # type: ignore[index]
    own = {"rotary": getattr(attention, "rotation", None)} | dict.fromkeys(
        ("alibi", "relative_bias"), getattr(attention, "relative", None)
    )
    words = {"relu": functional.relu, "scaled_dot_product_attention": functional.scaled_dot_product_attention}
    return parts | words | {"M": cfg.sublayers, "l": number, "math": math} | own


def _part(block: torch.nn.Module, path: str) -> Any:
    owner, _, leaf = path.rpartition(".")
    return getattr(block.get_submodule(owner), leaf)


@pytest.mark.parametrize(
    ("net", "arrangement", "position"),
    [*itertools.product(NETS, ARRANGEMENTS, ["none"]), *itertools.product(["transformer"], ["pre-norm"], POSITIONS)],
)
def test_the_code_of_a_block_computes_what_the_block_computes(net: str, arrangement: str, position: str) -> None:
    fields = (SMALL if net == "mlp" else TRANSFORMER) | {
        "net": net,
        "task": "copy",
        "init_gain": 1.7,
        "position": position,
    }
    cfg = RunConfig.arranged(arrangement, **fields)
    model = build_model(cfg)
    for number, block in enumerate(model.stream.blocks.values(), 1):
        with torch.no_grad():
            for parameter in block.parameters():
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number)))
        x = torch.randn(2, 32, 8, generator=torch.Generator().manual_seed(1))
        given = namespace(cfg, block, number) | {"x": x, "y": 3 * x, "w": [0.25, 0.75], "normed": [x, x]}
        reads = getattr(model.stream, "reads", [])[(number - 1) * len(block) :]  # type: ignore[index,arg-type]
        given |= {"h": torch.stack((x, 2 * x, x + 1, -x), -2), "v": [x], "torch": torch}
        given |= {f"read{at}" if net == "transformer" else "read": read for at, read in enumerate(reads, 1)}
        expected, outputs = given["h"] if cfg.stack in MANY_STREAMS else x, [x]
        exec(block_code(cfg, number), given | {"norm_block": torch.nn.Identity()}, given)
        for sublayer, read in itertools.zip_longest(block.values(), reads[: len(block)]):  # type: ignore[operator,arg-type]
            if read is None:
                expected = sublayer(expected)
            else:
                outputs.append(sublayer.branch(expected))
                expected = read(torch.stack(outputs))
        torch.testing.assert_close(given["h" if cfg.stack in MANY_STREAMS else "x"], expected)
        if cfg.stack == "residual":
            assert not torch.equal(given["y"], 3 * x)


def test_block_code_adds_up_what_depth_blocks_say() -> None:
    fields = {"task": "copy", "depth_block": 3, "overrides": ((2, "identity", "attn"),)}
    cfg = RunConfig.arranged("attention residuals", **TRANSFORMER | fields)
    net = hand.randomise(build_model(cfg)).stream
    x = hand.stream_of()
    given: dict[str, Any] = {"x": x, "v": [x], "torch": torch}
    for number, block in enumerate(net.blocks.values(), 1):  # type: ignore[operator,arg-type,union-attr]
        reads = net.reads[2 * number - 2 : 2 * number]  # type: ignore[index]
        given |= namespace(cfg, block, number) | {f"read{at}": read for at, read in enumerate(reads, 1)}  # type: ignore[arg-type]
        exec(block_code(cfg, number), given)
    hand.assert_close(given["x"], net(x))  # type: ignore[operator]


def test_the_parts_of_a_block_are_made_as_the_builder_makes_them() -> None:
    for norm, stack in itertools.zip_longest(NORMS, CONNECTIONS, fillvalue="single"):
        fields = {"norm": norm, "stack": stack, "placement": "sandwich", "qk_norm": True}
        cfg = RunConfig(**TRANSFORMER | fields | {"affine": False, "eps": 0.03})
        block = build_model(cfg).stream.blocks["b03"]
        made: dict[str, Any] = vars(norms) | vars(connections) | {"torch": torch}
        exec(block_parts(cfg), made)
        for name, (path, _) in parts_by_name(cfg).items():
            assert repr(made[name]) == repr(_part(block, path))


def test_moving_a_norm_moves_it_in_the_code() -> None:
    assert "x = x + W2(relu(W1(norm(x))))" in block_code(RunConfig())
    assert "x = norm(x + W2(relu(W1(x))))" in block_code(RunConfig(placement="post-norm"))
    assert "x = W2(relu(norm(W1(x))))" in block_code(RunConfig(placement="mid-norm", residual=False))
    changed = RunConfig(overrides=((2, "norm", "none"), (3, "identity", True)))
    assert "x = x + W2(relu(W1(x)))" in block_code(changed, 2)
    assert block_code(changed, 3) == "x = x  # taken out"
    assert block_code(changed, 4) == block_code(RunConfig(), 4)
