"""What CONTRIBUTING's "How to add" says is all there is to it: done here with made-up ones, in a copy of the project.

In the copy one of each kind is added in the files that it names and in no other; then runs, several seeds of them, a map's
cell, the script, every view of the block, the instruments and the pages take it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Edit(NamedTuple):
    """A file in which a text is put before another one that stands there once; without that, a new file."""

    file: str
    before: str
    text: str


# By the kind of thing, as that list calls it: what is done to add one.
ADDED: dict[str, list[Edit]] = {
    "A norm": [
        Edit(
            "models/spec/vocabulary.py",
            "}\n\nACTIVATIONS",
            """    "largest norm": NormEntry(
        r"\\gamma\\odot\\frac{x}{\\max|x|+\\varepsilon}",
        "made up",
        symbol=r"\\operatorname{Max}",
        short="MaxNorm",
        code="MaxNorm({width}, eps={eps}{switch})",
        over="token",
    ),
""",
        ),
        Edit(
            "content/en/vocabulary.toml",
            "\n[activations]",
            '"largest norm" = "divides the features of one token by the largest of them"\n',
        ),
        Edit(
            "models/nets/norms.py",
            "NORMS: dict",
            '''class MaxNorm(nn.Module):
    """gain * x / (max |x| + eps), any shape (..., D)."""

    def __init__(self, width: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width), requires_grad=affine)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / (x.abs().amax(-1, keepdim=True) + self.eps)


''',
        ),
        Edit("models/nets/norms.py", "}\n\n\nNORM_TYPES", '    "largest norm": MaxNorm,\n'),
        Edit(
            "tests/hand.py",
            "}\n\n# --- activations ---",
            '    "largest norm": lambda x, norm, eps: norm.weight * x / (x.abs().max(dim=-1, keepdim=True).values + eps),\n',
        ),
    ],
    "An initialisation": [
        Edit(
            "models/spec/vocabulary.py",
            "}\n\nOPTIMIZERS",
            """    "random signs": InitEntry(
        r"\\pm 1/\\sqrt{n_\\text{in}}",
        "made up",
        title="Branch weights of one size and random signs",
        draw="p.bernoulli_(0.5, generator=source).mul_(2).sub_(1).mul_(inputs**-0.5)",
        variance=lambda w: 1 / w.inputs,
    ),
""",
        ),
        Edit(
            "content/en/vocabulary.toml",
            "\n[optimizers]",
            '"random signs" = "every weight is 1/sqrt(inputs), up or down by chance"\n',
        ),
        Edit(
            "models/nets/initialisation.py",
            "INITS: dict",
            """def _signs(weight: Tensor, source: torch.Generator, role: str, sublayers: int) -> None:
    weight.bernoulli_(0.5, generator=source).mul_(2).sub_(1).mul_(weight.shape[1] ** -0.5)


""",
        ),
        Edit("models/nets/initialisation.py", "}\n\n\n@torch.no_grad()", '    "random signs": _signs,\n'),
        Edit("tests/nets/test_initialisation.py", "    }[init]\n", '        "random signs": fan_in,\n'),
    ],
    "An activation": [
        Edit(
            "models/spec/vocabulary.py",
            "}\n\n_FAN_IN",
            """    "squared relu": ActivationEntry(
        r"\\max(0,z)^2", "So 2021, 2109.08668", code="SquaredReLU()"
    ),
""",
        ),
        Edit("content/en/vocabulary.toml", "\n[inits]", '"squared relu" = "squares the positive part"\n'),
        Edit(
            "models/nets/branches.py",
            "ACTIVATIONS: dict",
            '''class SquaredReLU(nn.Module):
    """max(0, z)^2 of any shape."""

    def forward(self, z: Tensor) -> Tensor:
        return F.relu(z).square()


''',
        ),
        Edit("models/nets/branches.py", "}\n\n\nclass OneLayer", '    "squared relu": SquaredReLU,\n'),
        Edit(
            "models/insight/gaussian.py",
            "}\n\n\ndef value",
            '    "squared relu": (lambda z: np.maximum(z, 0) ** 2, lambda z: 2 * np.maximum(z, 0)),\n',
        ),
        Edit("tests/hand.py", "}\n\n# --- placements", '    "squared relu": lambda z: (z * (z > 0)) ** 2,\n'),
    ],
    "A task": [
        Edit(
            "models/spec/tasks.py",
            '    "copy": Task(',
            """    "halves": Task("points", 2, 1, 300, features=2),
    "turn": Task("sequence", 16, 32, 1024, vocabulary=16),
""",
        ),
        Edit(
            "content/en/vocabulary.toml",
            "\n[arrangements]",
            """halves = "does the point lie in the left or in the right half?"
turn = "sixteen random symbols, then the same, the last one first"
""",
        ),
        Edit(
            "models/tasks/points.py",
            "# E[r^2] for r ~ U(0.1, 1)",
            '''def _halves(label: Tensor, source: torch.Generator) -> Tensor:
    """From 0.1 to 1 either side of the middle, up to 1 along it; label 1 on the right."""
    across = (0.1 + 0.9 * torch.rand(len(label), generator=source)) * (2 * label - 1)
    return torch.stack((across, 2 * torch.rand(len(label), generator=source) - 1), dim=1)


''',
        ),
        Edit(
            "models/tasks/points.py",
            "# Mean square across the line",
            "HALVES = Cloud(_halves, (_UNIFORM_SQUARE + 1 / 3) / 2 + 0.03**2, 0.03)\n",
        ),
        Edit(
            "models/tasks/sequences.py",
            "def draw_recall(",
            '''def draw_turn(count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sixteen symbols, then the same with the last one first."""
    question = _symbols(count, source)
    return _question_and_answer(question, question.roll(1, dims=1))


''',
        ),
        Edit(
            "models/tasks/__init__.py",
            '    "copy": partial(',
            '    "halves": partial(Points, HALVES),\n    "turn": partial(Sequences, draw_turn),\n',
        ),
        Edit("models/tasks/__init__.py", "CIRCLES, LINEAR", "HALVES, "),
        Edit("models/tasks/__init__.py", "draw_copy, draw_recall", "draw_turn, "),
    ],
    "An instrument": [
        Edit(
            "exhibits/instruments/lengths/answer.py",
            "",
            '''"""What a measurement of tokens' lengths answers. Legend: S sites of the stream."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Lengths:
    """The RMS of the shortest and of the longest token of the step's batch."""

    shortest: np.ndarray  # (S,)
    longest: np.ndarray  # (S,)


LENGTHS = Question("lengths", Lengths)
''',
        ),
        Edit(
            "exhibits/instruments/lengths/measure.py",
            "",
            '''"""How far the tokens of a batch differ in length."""

import torch

from exhibits.instruments.lengths.answer import LENGTHS, Lengths
from models.instruments import on_snapshot
from models.instruments.stream import stream_and_branches
from models.training import Snapshot


def lengths(snapshot: Snapshot) -> Lengths:
    """The least and the greatest RMS of a token at every site."""
    sizes = torch.stack([x.square().mean(-1).sqrt().flatten() for x in stream_and_branches(snapshot)[0]])
    return Lengths(sizes.amin(1).cpu().numpy(), sizes.amax(1).cpu().numpy())


MEASURES = {LENGTHS: on_snapshot(lengths)}
''',
        ),
        Edit(
            "exhibits/instruments/lengths/numbers.py",
            "",
            '''"""What the lengths of tokens say, in a sentence."""

import numpy as np


def lengths_sentence(shortest: np.ndarray, longest: np.ndarray) -> str:
    """How many times as long as the shortest token the longest is at the end. (S,)."""
    return f"At the end the longest token is {longest[-1] / shortest[-1]:.2g} times as long as the shortest."
''',
        ),
        Edit(
            "exhibits/instruments/lengths/page.py",
            "",
            '''"""Lengths of tokens: how far they differ along the stream."""

from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.instruments.panel import InstrumentPanel
from exhibits.instruments.lengths.answer import LENGTHS
from exhibits.instruments.lengths.numbers import lengths_sentence
from models.content import Texts

WORDS = Texts("instruments/lengths")


def draw(panel: InstrumentPanel) -> None:
    found = panel.ask(LENGTHS)
    if found is None:
        return
    value, title = found.value, "Token length by depth"
    panel.write(lengths_sentence(value.shortest, value.longest))
    series = [Series("longest", value.longest), Series("shortest", value.shortest, "other")]
    sites = panel.view.trace.sites
    panel.chart(depth_profile(title=title, unit="RMS", hue=SIGNAL, sites=sites, series=series), title)
''',
        ),
        Edit(
            "exhibits/instruments/lengths/words.md",
            "",
            """+++
name = "Token lengths"
order = 12
+++
# How far do tokens differ in length?

## explanation

The RMS of the shortest and of the longest token of the batch at every site of the stream.
""",
        ),
    ],
    "A chart": [
        Edit(
            "components/charts/figures.py",
            "def step_map(",
            '''def branches(sites: Sequence[str], *, run: int = 0) -> Figure:
    """What each branch returns at the playhead, over depth, on a log axis."""
    now = _line(STEP, "now", Row("branch_rms", run))
    return lines_over_places(
        title="Branch by depth", unit="RMS", hue=SIGNAL, sites=sites, lines=[now], x="block", axis="log"
    )


''',
        ),
        Edit(
            "components/playground/picture.py",
            "    if not large:\n        return [*drawn, ",
            """    branches = figures.branches(plan(cfg).branches)
    drawn.append(Chart("Branch by depth", span=6, figure=branches, height=220, fit=fit))
""",
        ),
        Edit(
            "tests/player/test_declared.py",
            '        figures.cosines(SITES, ["A", "B"]),\n    ]',
            "        figures.branches(SITES[1:]),\n",
        ),
        Edit(
            "tests/pages/test_playground.py",
            '    for panel in page.get_by_key("panel").options:',
            '    always.add("Branch by depth")\n',
        ),
    ],
    "A lesson": [
        Edit(
            "exhibits/lessons/narrow/words.md",
            "",
            """+++
order = 11
options = ["about as large, within a factor of 10", "more than 10 times as large"]
charts = ["act_rms", "loss"]
code = "models/nets/sublayer.py Sublayer.forward"

[judge]
by = "size_over_depth"
measure = "signal"
net = "width 8"
bounds = [10]

[every_net]
task = "spiral"
depth = 2
steps = 20

[nets]
"width 8" = { width = 8 }
"width 16" = { width = 16 }

[challenge]
net = { task = "spiral", depth = 2, width = 16, steps = 20, lr = 1e-4 }
change = ["lr"]
goals = { loss_within = { target = 1.0, steps = 20 } }

[papers]
"He 2015 (ResNet)" = "1512.03385"
+++
# Narrow

## Question

How large is the signal after two blocks?

## What happened

The signal {change} over 2 blocks. {losses}

## Why

Two blocks add little.

## Challenge

Reach a loss of 1 within 20 steps. You may change only the learning rate.
""",
        ),
        Edit(
            "exhibits/lessons/narrow/test_narrow.py",
            "",
            '''"""Tests the lesson: Narrow."""

from tests.lessons.kit import shows, solved_by


def test_the_nets_bear_out_what_is_told() -> None:
    shows("narrow", "about as large, within a factor of 10", "The signal")


def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("narrow", {"lr": 0.03}, near_miss={"lr": 0.001})
''',
        ),
    ],
    "A placement": [
        Edit(
            "models/spec/placement.py",
            '    "mid-norm": Placement(',
            """    "mid+out": Placement(
        r"x+N(W_2\\,\\phi(N(W_1x)))",
        "made up",
        norm_mid=True,
        norm_out=True,
    ),
""",
        ),
        Edit(
            "content/en/vocabulary.toml",
            "\n[skip_scales]",
            '"mid+out" = "normed inside the branch and after it"\n',
        ),
        Edit(
            "tests/hand.py",
            '    "mid-norm": lambda x',
            '    "mid+out": lambda x, f, n, a, b: a(x) + b(n.out(f(x, middle=n.mid))),\n',
        ),
    ],
    "A page": [
        Edit(
            "pages/sizes.py",
            "",
            '''"""Sizes: the tokens of the default net before training."""

import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.shell.static_chart import static_chart
from models.service.client import trainer
from models.spec import RunConfig

st.title("Sizes", anchor=False)
st.markdown("See how large the signal is at each point of a small net.")
trace = trainer().request_rows(RunConfig(depth=2, width=16, batch=8), 1).trace()
series = [Series("signal", trace.act_rms[0])]
figure = depth_profile(title="Signal by depth", unit="RMS", hue=SIGNAL, sites=trace.sites, series=series)
static_chart(figure, "Signal by depth", "sizes")
''',
        ),
        Edit(
            "pages/navigation.py",
            '        PageEntry(\n            "teacher",',
            '        PageEntry("sizes", "Sizes", "straighten", "How large the signal is in a small net."),\n',
        ),
    ],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with one more of everything."""
    folder = tmp_path_factory.mktemp("copy") / "project"
    unneeded = shutil.ignore_patterns(
        ".git", ".venv", "__pycache__", ".mypy_cache", ".hypothesis", ".ruff_cache", "recorded"
    )
    shutil.copytree(ROOT, folder, ignore=unneeded)
    for name, before, text in (edit for edits in ADDED.values() for edit in edits):
        file = folder / name
        if not before:
            assert not file.exists(), f"{name} is not new"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
            continue
        old = file.read_text("utf-8")
        assert old.count(before) == 1, f"{before!r} in {name}"
        file.write_text(old.replace(before, text + before), "utf-8")
    return folder


def does(copy: Path, code: str, *arguments: str) -> str:
    """What a piece of Python prints there."""
    script = copy / "tried.py"
    script.write_text(code, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, *(arguments or [str(script)])],
        cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


# Nets with the added ones: the fields besides the sizes.
NETS = """
SMALL = dict(depth=3, width=16, heads=2, batch=8, steps=6, device="cpu")
NETS = {
    "norm": dict(norm="largest norm"),
    "norm, transformer": dict(norm="largest norm", net="transformer", task="copy"),
    "initialisation": dict(init="random signs"),
    "initialisation, transformer": dict(init="random signs", net="transformer", task="copy"),
    "activation": dict(activation="squared relu"),
    "activation, one layer": dict(activation="squared relu", layers_per_branch=1),
    "points": dict(task="halves"),
    "sequence": dict(task="turn", net="transformer"),
    "placement": dict(placement="mid+out"),
}
"""


def test_each_trains_alone_with_several_seeds_and_in_a_maps_cell_alike(copy: Path) -> None:
    said = does(
        copy,
        f"""
import numpy as np
from models.maps.cells import units
from models.maps.spec import Axis, MapSpec
from models.maps.unit import run_unit
from models.spec import RunConfig
from models.training import Run
from models.training.batched import SeedRuns
{NETS}
for name, fields in NETS.items():
    cfg = RunConfig(**SMALL | fields)
    runs = SeedRuns(cfg, [0, 1], frames=False)
    runs.advance(cfg.steps)
    for seed, trace in enumerate(runs.traces()):
        alone = Run(RunConfig(**SMALL | fields | dict(seed=seed)), frames=False)
        alone.advance(cfg.steps)
        np.testing.assert_allclose(trace.loss, alone.trace().loss, rtol=1e-4, err_msg=name)
        np.testing.assert_allclose(trace.act_rms, alone.trace().act_rms, rtol=1e-3, err_msg=name)
        assert np.isfinite(trace.loss).all(), name
    base = {{key: value for key, value in (SMALL | fields).items() if key not in ("depth", "batch")}}
    spec = MapSpec(Axis("depth", (3,)), Axis("batch", (8,)), ("pre-norm",), base=tuple(base.items()))
    (cell,) = run_unit(spec.to_json(), 0)["runs"]
    assert (cell["x"], cell["y"]) == (3, 8)
    alone = Run(units(spec)[0].configs(spec)[0], frames=False)
    alone.advance(6)
    np.testing.assert_allclose(cell["final_loss"], alone.trace().loss.mean(), rtol=1e-3, err_msg=name)
    print(name)
""",
    )
    assert len(said.splitlines()) == 9


def test_each_stands_in_the_views_of_the_block_and_in_the_script_which_computes_the_same(copy: Path) -> None:
    said = does(
        copy,
        f"""
import contextlib, io, re
import numpy as np
from components.charts.diagram import block_diagram
from models.export import standalone_script
from models.insight import signal_at_init
from models.insight.theory import law
from models.spec import RunConfig
from models.spec.code import block_code, block_parts
from models.spec.equation import equation
from models.training import Run
{NETS}
def views(**fields):
    cfg = RunConfig(**SMALL | fields)
    return block_diagram(cfg), equation(cfg), str(block_parts(cfg)) + block_code(cfg)

diagram, formula, code = views(norm="largest norm")
assert "MaxNorm" in diagram and "Max" in formula and "MaxNorm(16" in code
diagram, formula, code = views(activation="squared relu")
assert "squared relu" in diagram and r"squared\\ relu" in formula and "squared_relu(" in code
diagram, formula, code = views(placement="mid+out")
assert r"\\operatorname{{LN}}(F(x))" in formula and r"\\operatorname{{LN}}(W_1 z)" in formula
assert "norm_mid(W1(x))" in code and "norm_out(" in code
wide = RunConfig(**SMALL | dict(width=512, init="random signs", activation="squared relu", residual=False, norm="none", depth=1))
expected = signal_at_init(wide, seeds=range(3)).mean_square.mean(0)
np.testing.assert_allclose(law(wide).mean_square, expected, rtol=0.05)

for name, fields in NETS.items():
    cfg = RunConfig(**SMALL | fields)
    script, printed = standalone_script(cfg), io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "run.py", "exec"), {{"__name__": "__main__"}})
    run = Run(cfg)
    run.advance(cfg.steps)
    loss = float(re.search(r"step 5  loss (\\S+)", printed.getvalue())[1])
    np.testing.assert_allclose(loss, run.trace().loss[-1], rtol=1e-5, err_msg=name)
    print(name)
""",
    )
    assert len(said.splitlines()) == 9


def test_each_is_offered_by_its_control_and_taken_by_the_pages(copy: Path) -> None:
    said = does(
        copy,
        """
from urllib.parse import urlencode
import numpy as np
from streamlit.testing.v1 import AppTest
from components.instruments import INSTRUMENTS
from models.service import client
from models.training import Run
from tests.app_page import unfolded
from tests.inprocess import InProcessTrainer
from tests.player_page import bound, panels, rests, runs

client.Trainer = InProcessTrainer
SMALL = {"depth": "3", "width": "16", "batch": "8", "steps": "6"}
NEW = {
    "norm": "largest norm", "init": "random signs", "activation": "squared relu", "task": "halves", "placement": "mid+out"
}
PLAYGROUND, ANATOMY, COMPARE = "playground.py", "anatomy.py", "compare.py"
page = AppTest.from_file("pages/navigation.py", default_timeout=120).run()

def opened(path, **query):
    page.switch_page(path)
    page.query_params.clear()
    for key, value in query.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception, page.exception
    assert not page.error, page.error

for path in (PLAYGROUND, ANATOMY):
    opened(path, **SMALL, **NEW)
    unfolded(page)
    for field, value in NEW.items():
        if path == PLAYGROUND or field != "task":
            control = page.get_by_key(field)
            names = [option.rpartition(") ")[2] for option in control.options]  # after a picture
            assert control.value == value and value in names, field
opened(PLAYGROUND, **SMALL, task="turn", net="transformer", heads="2")
assert page.get_by_key("task").value == "turn"
for name in INSTRUMENTS:
    page.session_state["instrument"] = name
    opened(PLAYGROUND, **SMALL, **NEW)
    if name == "Token lengths":
        assert any("times as long as the shortest" in one.value for one in page.markdown)
figure = panels(page, "chart")["Branch by depth"]["figure"]
rests(page, 4)
(run,) = [Run(cfg) for cfg in runs(page)]
run.advance(5)
np.testing.assert_allclose(bound(page, figure["data"][0], 4), run.trace().branch_rms[4], rtol=1e-3)
page.session_state["instrument"] = None
opened(COMPARE, a=urlencode(SMALL | NEW), b=urlencode(SMALL))
assert page.session_state["compare_columns"][0].norm == "largest norm"
opened("gradients.py")
page.multiselect(key="gradients_shown").set_value(page.multiselect(key="gradients_shown").options)
page.selectbox(key="gradients_net_activation").set_value("squared relu")
page.selectbox(key="gradients_net_init").set_value("random signs")
page.run()
assert not page.exception, page.exception
opened("glossary.py")
assert all(any(name in one.value for one in page.markdown) for name in NEW.values())
opened("lessons.py", lesson="narrow")
assert any("after two blocks" in one.value for one in page.markdown)
opened("sizes.py")
assert page.title[0].value == "Sizes"
print("taken")
""",
    )
    assert said.split() == ["taken"]


def test_the_projects_own_tests_hold_with_each(copy: Path) -> None:
    """The equations, spreads and lessons by hand, and the registries and answers that must be complete."""
    does(
        copy, "", "-m", "pytest", "-n", "0", "-q", "-x", "-o", "addopts=", "exhibits/labs/gradients", "exhibits/lessons/narrow",
        *(f"tests/{name}.py" for name in (
            "nets/test_placements", "nets/test_initialisation", "nets/test_branches", "nets/test_nets", "service/test_answers",
            "lessons/test_lessons", "tasks/test_tasks", "spec/test_spec", "charts/test_diagram", "export/test_script",
            "player/test_declared",
        )),
        "-k", "largest or signs or squared or halves or turn or lengths or narrow or mid+out"
        " or every_word or every_question or all_of_them or parts_of_a_block or told_apart or all_figures",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ADDED)
def test_readme_names_the_files_that_were_touched(kind: str) -> None:
    _, _, listed = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## How to add")
    heading = "An exhibit" if all(edit.file.startswith("exhibits/") for edit in ADDED[kind]) else kind
    (said,) = [part for part in listed.partition("\n## ")[0].split("\n- ") if part.startswith(f"**{heading}**")]
    always = re.split(r"\.\s", said)[0]  # what follows is for some of its kind
    named = set(re.findall(r"`([\w/.<>]+(?:\.py|\.toml|/))`", always))
    new = {str(Path(edit.file).parent) + "/" for edit in ADDED[kind] if not edit.before}
    new = {re.sub(r"^exhibits/\w+/\w+", "exhibits/<kind>/<name>", folder) for folder in new}
    touched = {edit.file for edit in ADDED[kind] if edit.before}
    assert named == touched | new
