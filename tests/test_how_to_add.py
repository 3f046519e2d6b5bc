"""What README's "How to add" says is all there is to it: done here with made-up ones, in a copy of the project.

In the copy a norm is added in its two places and nowhere else; then a run, several seeds of it, a map's cell, the
script, every view of the block, the instruments and every page take it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ENTRY = """    "largest norm": NormEntry(
        "divides the features of one token by the largest of them",
        r"\\gamma\\odot\\frac{x}{\\max|x|+\\varepsilon}",
        "made up",
        symbol=r"\\operatorname{Max}",
        short="MaxNorm",
        code="MaxNorm({width}, eps={eps}{switch})",
        over="token",
    ),
}

ACTIVATIONS"""
MODULE = '''class MaxNorm(nn.Module):
    """gain * x / (max |x| + eps), any shape (..., D)."""

    def __init__(self, width: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width), requires_grad=affine)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / (x.abs().amax(-1, keepdim=True) + self.eps)


NORMS: dict'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with one norm more."""
    folder = tmp_path_factory.mktemp("copy") / "project"
    unneeded = shutil.ignore_patterns(
        ".git", ".venv", "__pycache__", ".mypy_cache", ".hypothesis", ".ruff_cache", "recorded"
    )
    shutil.copytree(ROOT, folder, ignore=unneeded)
    for name, before, after in (
        ("models/spec/vocabulary.py", "}\n\nACTIVATIONS", ENTRY),
        ("models/nets/norms.py", "NORMS: dict", MODULE),
        ("models/nets/norms.py", '    "none": lambda', '    "largest norm": MaxNorm,\n    "none": lambda'),
    ):
        file = folder / name
        text = file.read_text("utf-8")
        assert text.count(before) == 1, f"{before!r} in {name}"
        file.write_text(text.replace(before, after), "utf-8")
    return folder


def does(copy: Path, code: str) -> str:
    """What a piece of Python prints there."""
    script = copy / "tried.py"
    script.write_text(code, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy), "PLAYGROUND_TRAINER": "inprocess"}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


SMALL = 'dict(norm="largest norm", depth=3, width=16, batch=8, steps=6, device="cpu")'


@pytest.mark.parametrize("net", ["mlp", "transformer"])
def test_a_norm_trains_alone_and_with_several_seeds_alike(copy: Path, net: str) -> None:
    said = does(
        copy,
        f"""
import numpy as np
from models.spec import RunConfig
from models.training import Run
from models.training.batched import SeedRuns
fields = {SMALL} | dict(net="{net}", task="digits" if "{net}" == "mlp" else "copy", heads=2)
runs = SeedRuns(RunConfig(**fields), [0, 1], frames=False)
runs.advance(6)
for seed, trace in enumerate(runs.traces()):
    alone = Run(RunConfig(**fields, seed=seed), frames=False)
    alone.advance(6)
    np.testing.assert_allclose(trace.loss, alone.trace().loss, rtol=1e-4)
    np.testing.assert_allclose(trace.act_rms, alone.trace().act_rms, rtol=1e-3)
    assert np.isfinite(trace.loss).all()
print("alike")
""",
    )
    assert said.split() == ["alike"]


def test_a_norm_stands_in_the_views_of_the_block_and_in_the_script_which_computes_the_same(copy: Path) -> None:
    said = does(
        copy,
        f"""
import re, subprocess, sys
import numpy as np
from components.charts.diagram import block_diagram
from models.export import standalone_script
from models.spec import RunConfig
from models.spec.code import block_parts
from models.spec.equation import equation
from models.training import Run
cfg = RunConfig(**{SMALL})
assert "MaxNorm" in block_diagram(cfg)
assert "Max" in equation(cfg)
assert "MaxNorm(16" in block_parts(cfg)
script = standalone_script(cfg)
assert "class MaxNorm" in script
open("alone.py", "w").write(script)
printed = subprocess.run([sys.executable, "alone.py"], capture_output=True, text=True, check=True).stdout
run = Run(cfg)
run.advance(cfg.steps)
loss = float(re.search(r"step 5  loss (\\S+)", printed)[1])
np.testing.assert_allclose(loss, run.trace().loss[-1], rtol=1e-5)
print("shown")
""",
    )
    assert said.split() == ["shown"]


def test_a_norm_is_measured_by_the_instruments_and_taken_by_every_page(copy: Path) -> None:
    said = does(
        copy,
        """
import sys
from streamlit.testing.v1 import AppTest
page = AppTest.from_file("app.py", default_timeout=120).run()
query = {"norm": "largest norm", "depth": "3", "width": "16", "batch": "8", "steps": "6"}
for path in ("pages/train/playground.py", "pages/explore/anatomy.py"):
    page.switch_page(path)
    page.query_params.clear()
    for key, value in query.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception, page.exception
    assert not page.error, page.error
    assert page.selectbox(key="norm").value == "largest norm"
from components.instruments import INSTRUMENTS
for name in INSTRUMENTS:
    page.switch_page("pages/train/playground.py")
    for key, value in query.items():
        page.query_params[key] = value
    page.session_state["instrument"] = name
    page.run()
    assert not page.exception, (name, page.exception)
from urllib.parse import urlencode
page.session_state["instrument"] = None
page.switch_page("pages/train/compare.py")
page.query_params.clear()
page.query_params["a"] = urlencode(query)
page.query_params["b"] = urlencode(query | {"norm": "rms norm"})
page.run()
assert not page.exception, page.exception
assert page.session_state["compare_columns"][0].norm == "largest norm"
print("taken")
""",
    )
    assert said.split() == ["taken"]


def test_readme_names_the_files_that_were_touched() -> None:
    (norm,) = [part for part in (ROOT / "README.md").read_text("utf-8").split("\n- ") if part.startswith("**A norm**")]
    assert "`models/nets/norms.py`" in norm
    assert "`models/spec/vocabulary.py`" in norm
    assert norm.count(".py`") == 2
