"""What a norm does on few samples: the training against a plain
loop, sharpness and rise worked out otherwise, the sentences.
"""

import math

import numpy as np
import pytest
import torch

from exhibits.labs.normalization.few import page as few
from exhibits.labs.normalization.few.measure import DIRECTIONS, MEASURED_STEPS, REACH, few_samples, rise
from exhibits.labs.normalization.few.numbers import flatness_sentence, overfitting_sentence
from models.instruments.landscape import direction, matrices
from models.instruments.samples import FewSamples, FullBatch
from models.instruments.surgery import evaluate_held_out
from models.nets import build_model
from models.spec import RunConfig
from models.tasks import open_task
from models.training import Replays, Run, cross_entropy, result_of, snapshot_of
from tests.app_page import charts, press, sound, words
from tests.drawn import drawn
from tests.labs_page import lab, until

TINY = RunConfig(depth=1, width=8, batch=8, steps=16, lr=0.05, device="cpu")
NORMS = ("none", "layer norm")


@pytest.fixture(scope="module")
def found():
    return result_of(few_samples(Replays(), TINY, norms=NORMS, samples=20, seeds=2))


def plainly(norm, seed):
    """The net after all its steps, by a loop of torch's own."""
    cfg = RunConfig(
        **{name: getattr(TINY, name) for name in ("depth", "width", "batch", "steps", "lr", "device")},
        norm=norm,
        seed=seed,
    )
    task, net = open_task(cfg, "cpu"), build_model(cfg)
    few_of_it, sgd = FewSamples(task, 20), torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for step in range(cfg.steps):
        x, y = few_of_it.batch(step)
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten()).backward()
        sgd.step()
    return net, few_of_it


@pytest.mark.full
@pytest.mark.parametrize(("at", "norm"), list(enumerate(NORMS)))
def test_the_nets_are_trained_on_these_samples_and_no_others(found, at, norm):
    net, few_of_it = plainly(norm, 1)
    train = cross_entropy(net(few_of_it.x), few_of_it.y)
    assert found.train[at, 1, -1] == pytest.approx(train.item(), rel=1e-3)
    assert found.held_out[at, 1, -1] == pytest.approx(evaluate_held_out(net, few_of_it.task)[0], rel=1e-3)
    assert found.train.shape == (2, 2, MEASURED_STEPS)
    net = net.double()
    parameters = list(net.parameters())
    loss = cross_entropy(net(few_of_it.x.double()), few_of_it.y)
    flat = torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters, create_graph=True)])
    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(one, parameters, retain_graph=True)]) for one in flat]
    hessian = torch.stack(rows)
    assert found.sharpness[at, 1] == pytest.approx(torch.linalg.eigvalsh(hessian)[-1].item(), rel=0.03)


def test_every_batch_is_drawn_from_the_same_few_for_all_seeds():
    one, other = (FewSamples(open_task(RunConfig(depth=1, width=8, seed=seed), "cpu"), 20) for seed in (0, 7))
    assert torch.equal(one.x, other.x)
    assert not torch.equal(one.batch(0)[0], other.batch(0)[0])
    known = {tuple(row.flatten().tolist()) for row in one.x}
    assert all(tuple(row.flatten().tolist()) in known for row in one.batch(3)[0])
    assert torch.equal(FullBatch(one.task, 20).batch(5)[0], one.x)
    assert not {tuple(row.flatten().tolist()) for row in one.held_out[0]} & known


def test_the_rise_is_the_median_over_directions_as_long_as_the_filters():
    run = Run(TINY, probe=False, frames=False)
    run.advance(4)
    still = snapshot_of(run)
    x, y = still.batch()
    loss = cross_entropy(still.model(x), y).item()
    higher = []
    for which in range(DIRECTIONS):
        net = still.copy()
        with torch.no_grad():
            for (_, p), d in zip(matrices(net), direction(net, TINY.seed, f"few samples {which}"), strict=True):
                torch.testing.assert_close(d.norm(dim=1), p.norm(dim=1))
                p.add_(REACH * d)
        higher.append(cross_entropy(net(x), y).item() - loss)
    assert rise(still) == pytest.approx(np.median(higher), rel=1e-5)


def test_too_few_and_too_many_samples_are_refused():
    for samples in (19, 1001):
        with pytest.raises(ValueError, match="legal is a whole number from 20 to 1000"):
            result_of(few_samples(Replays(), TINY, norms=NORMS, samples=samples))


@pytest.mark.parametrize(
    ("held", "accuracy", "said"),
    [
        (
            [[0.8, 0.9], [0.6, 0.7]],
            [[0.80, 0.80], [0.81, 0.80]],
            "lower with a norm for every seed: without one 0.85, layer norm",
        ),
        ([[0.8, 0.9], [0.6, 0.7]], [[0.80, 0.80], [0.81, 0.80]], "The accuracy hardly differs: without one 80.0%"),
        ([[0.8, 0.6], [0.6, 0.7]], [[0.70, 0.70], [0.81, 0.80]], "clearly lower with a norm in 1 of 2 pairs"),
        ([[0.8, 0.6], [0.8, 0.7]], [[0.70, 0.70], [0.81, 0.80]], "no lower with a norm"),
        ([[0.8, 0.6], [0.8, 0.7]], [[0.70, 0.70], [0.81, 0.80]], "differs by up to 10.5%"),
        (
            [[math.nan, 0.6], [0.8, 0.7]],
            [[0.1, 0.7], [0.8, 0.8]],
            "1 of 2 nets without a norm diverged, and none with a norm: what a norm",
        ),
        ([[0.8, 0.6], [0.8, math.nan]], [[0.7, 0.7], [0.8, 0.1]], "nothing can be compared"),
    ],
)
def test_overfitting_is_judged_by_its_numbers(held, accuracy, said):
    assert said in overfitting_sentence(NORMS, np.array(held), np.array(accuracy))


@pytest.mark.parametrize(
    ("rises", "said"),
    [
        ([[1.0, 1.2], [0.5, 0.6]], "rises less with a norm, by a factor of 2: without one 1.1, layer norm 0.55"),
        ([[1.0, 0.5], [0.5, 0.6]], "in 1 of 2 pairs"),
        ([[0.5, 0.5], [0.5, 0.6]], "rises no less with a norm"),
        (
            [[math.nan, math.nan], [0.5, math.nan]],
            "2 of 2 nets without a norm diverged, and so did some with a norm. Take",
        ),
    ],
)
def test_the_landscape_is_judged_by_its_numbers(rises, said):
    assert said in flatness_sentence(NORMS, np.array(rises))


def test_the_part_trains_at_a_button(trainer_in_this_process, monkeypatch):
    monkeypatch.setattr(few, "configuration", lambda lr, level: TINY)
    page = lab("normalization")
    page.session_state["normalization_part"] = "Trained nets"
    sound(page.run())
    page.select_slider(key="normalization_few_samples").set_value(20)
    sound(page.run())
    press(page, "Train 6 nets")
    until(page, lambda: "Held-out loss" in charts(page))
    expected = result_of(few_samples(Replays(), TINY, norms=few.NORMS, samples=20, seeds=2))
    assert overfitting_sentence(few.NORMS, expected.held_out[..., -1], expected.accuracy[..., -1]) in words(page)
    assert flatness_sentence(few.NORMS, expected.rise) in words(page)
    drawn(charts(page)["Held-out loss"])
