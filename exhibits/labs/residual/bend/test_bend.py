"""Residual learning of x plus a bend: descent against autograd, and what the two nets are said to do."""

import numpy as np
import pytest
import torch

from exhibits.labs.residual.bend.numbers import POINTS, initial_layers, train
from exhibits.labs.residual.bend.page import LEARNING_RATE, STEPS, bend_sentence
from tests.app_page import sound, words
from tests.labs_page import lab


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize(("layers", "size", "bend"), [(1, 0.3, 0.3), (3, 1.0, -1.0), (2, 0.5, 2.0)])
def test_the_nets_learn_as_autograd_and_sgd_have_it(residual, layers, size, bend):
    net = initial_layers(layers, size, 3)
    found = train(bend, net, residual=residual, rate=LEARNING_RATE, steps=40)
    parameters = [[torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in layer] for layer in net]
    descent = torch.optim.SGD([one for layer in parameters for one in layer], lr=LEARNING_RATE)
    x, wanted = torch.tensor(POINTS), torch.tensor(POINTS + bend * np.sin(1.5 * POINTS))
    for step in range(41):
        stream = x
        for w, b, v, c in parameters:
            made = torch.tanh(stream[:, None] * w + b) @ v + c
            stream = made + stream if residual else made
        loss = ((stream - wanted) ** 2).mean() / 2
        np.testing.assert_allclose(found.outputs[step], stream.detach().numpy(), atol=1e-9)
        assert found.losses[step] == pytest.approx(loss.item(), abs=1e-8)
        if step == 40:
            assert found.branch_rms[-1] == pytest.approx(made.square().mean().sqrt().item())
        descent.zero_grad()
        loss.backward()
        descent.step()


def nets(bend, layers, size, seed=0):
    kinds = {"residual": True, "plain": False}
    return {
        name: train(bend, initial_layers(layers, size, seed), residual=on, rate=LEARNING_RATE, steps=STEPS)
        for name, on in kinds.items()
    }


def test_zero_branches_start_at_the_targets_loss():
    found = nets(0.3, 3, 0.0)
    bend = 0.3 * np.sin(1.5 * POINTS)
    assert found["residual"].losses[0] == pytest.approx(np.mean(bend**2) / 2)
    assert found["plain"].losses[0] == pytest.approx(np.mean((POINTS + bend) ** 2) / 2)
    straight = nets(0.0, 4, 0.0)
    np.testing.assert_array_equal(straight["residual"].losses, 0)
    np.testing.assert_array_equal(straight["residual"].branch_rms, 0)


@pytest.mark.parametrize("seed", range(4))
def test_near_the_identity_deep_residual_nets_end_lower_and_one_strongly_bent_layer_does_not(seed):
    assert "residual net ends lower" in bend_sentence(0.0, nets(0.0, 6, 0.3, seed))
    assert "plain net ends lower" in bend_sentence(2.0, nets(2.0, 1, 0.3, seed))


def test_a_net_that_diverges_is_said_to():
    found = nets(0.3, 2, 0.3)
    found["plain"] = train(0.3, initial_layers(6, 1.0, 0), residual=True, rate=1e6, steps=STEPS)
    assert "diverged: plain" in bend_sentence(0.3, found)


def test_the_page_says_what_had_to_be_learned(trainer_in_this_process):
    page = lab("residual")
    rms = np.sqrt(np.mean((0.3 * np.sin(1.5 * POINTS)) ** 2))
    assert f"F of RMS {rms:.3g} to learn" in words(page)
    page.slider(key="residual_bend_bend").set_value(0.0)
    page.slider(key="residual_bend_size").set_value(0.0)
    assert "F of RMS 0 to learn" in words(sound(page.run()))
