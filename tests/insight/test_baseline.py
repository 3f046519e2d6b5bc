"""What guessing costs, beside the best constant guess on batches that the tasks really draw."""

import math
import sys
from dataclasses import replace
from subprocess import run

import numpy as np
import pytest
import torch

from components.charts import figures
from components.shell import naming
from models.export.findings import progress_sentence
from models.generator import generator
from models.insight.baseline import accuracy_of_guessing, entropy, loss_of_guessing, luckiest_accuracy
from models.insight.postmortem import has_failed
from models.insight.sentences import sentences_at
from models.spec import TASKS, RunConfig
from models.tasks import open_task
from models.tasks.base import NO_LOSS
from models.training import profile_at_init

SAMPLES = 20_000


def answers(task: str) -> torch.Tensor:
    """Targets (B, T) of many training samples, -100 where no loss is taken."""
    return open_task(RunConfig(task=task, batch=1), "cpu").draw(SAMPLES, generator(0, "baseline"))[1]


def best_constant(y: torch.Tensor, classes: int) -> float:
    """The cross-entropy of always giving the shares of the classes as they are in these answers."""
    shares = torch.bincount(y[y != NO_LOSS], minlength=classes).double()
    return torch.special.entr(shares / shares.sum()).sum().item()


@pytest.mark.parametrize("task", [name for name in TASKS if name != "sort"])
def test_guessing_costs_what_the_best_constant_answer_costs_on_batches(task):
    assert loss_of_guessing(task) == pytest.approx(best_constant(answers(task), TASKS[task].classes), abs=0.01)


@pytest.mark.parametrize("task", TASKS)
def test_guesses_are_right_as_often_as_they_are(task):
    """By place for `sort`; of the held-out answers, their number and what a thousandth of all guessers exceed."""
    y = answers(task)
    places = y.T if task == "sort" else [y]
    asked = [place[place != NO_LOSS] for place in places if (place != NO_LOSS).any()]
    right = np.mean([torch.bincount(place).max() / len(place) for place in asked])
    assert accuracy_of_guessing(task) == pytest.approx(right, abs=0.01)
    held_out = open_task(RunConfig(task=task), "cpu").held_out[1]
    assert int((held_out != NO_LOSS).sum()) == TASKS[task].answers
    draws = np.random.default_rng(0).binomial(TASKS[task].answers, accuracy_of_guessing(task), 400_000)
    assert (draws / TASKS[task].answers > luckiest_accuracy(task)).mean() == pytest.approx(0.001, abs=6e-4)


def test_in_sort_the_place_alone_says_much():
    y = answers("sort")
    asked = [y[:, place] for place in range(y.shape[1]) if (y[:, place] != NO_LOSS).all()]
    by_place = [best_constant(one, TASKS["sort"].classes) for one in asked]
    assert loss_of_guessing("sort") == pytest.approx(sum(by_place) / len(by_place), abs=0.01)
    assert loss_of_guessing("sort") == pytest.approx(0.64 * math.log(16), abs=0.01)


@pytest.mark.parametrize("task", ["book", "sort", "digits"])
def test_charts_sentences_and_remedies_have_the_same_loss_of_guessing(task):
    cfg = RunConfig(task=task, net="transformer", depth=1, width=8, batch=2, steps=4, device="cpu")
    trace = profile_at_init(cfg)
    guessing = loss_of_guessing(task)
    assert naming.guessing_loss(cfg) == guessing
    name = "chance" if task == "digits" else "best constant guess"  # the digits are about equally frequent
    assert figures.loss(cfg)["layout"]["bind"]["levels"] == [{"name": name, "at": guessing}]
    assert f"{name} is {guessing:.2f}" in progress_sentence(cfg, trace)
    assert f"{name} is {guessing:.2f}" in sentences_at(cfg, trace, 0)["loss"]
    for share, lost in ((0.89, False), (0.91, True)):
        ended = replace(trace, loss=np.full(5, share * guessing, np.float32))
        assert has_failed(cfg, ended, cfg.steps) == lost


def test_entropy_by_hand():
    assert entropy([1, 1, 0]) == pytest.approx(math.log(2))
    assert entropy([3, 1]) == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))


def test_the_pages_know_it_without_torch():
    code = (
        "import sys; from models.insight.baseline import loss_of_guessing as g; g('book'); sys.exit('torch' in "
        "sys.modules)"
    )
    assert run([sys.executable, "-c", code], check=False).returncode == 0
