"""Stream growth and branch share, against the equations worked out by hand with numpy."""

import numpy as np
import pytest
import torch

from exhibits.instruments.stream.measure import cosine, stream
from models.spec import RunConfig
from models.training import Replays, Run, result_of

CFG = RunConfig(depth=3, width=16, batch=8, steps=20, placement="none", norm="none", activation="tanh", device="cpu")


def measured(cfg, step=0):
    return stream(result_of(Replays().snapshot(cfg, step)))


def test_every_number_is_that_of_the_stream_worked_out_with_numpy():
    run = Run(CFG)
    parts = [
        {name: p.detach().double().numpy() for name, p in b["mlp"].named_parameters()}
        for b in run.model.stream.blocks.values()
    ]
    x_BTD = run.model.embed(run.next_batch()[0]).detach().double().numpy()
    stream_rms, branch_rms, share, neighbour, angle = [np.sqrt((x_BTD**2).mean())], [], [], [], []
    for w in parts:
        hidden = np.tanh(x_BTD @ w["function.w1.weight"].T + w["function.w1.bias"])
        f_BTD = hidden @ w["function.w2.weight"].T + w["function.w2.bias"]
        y_BTD = x_BTD + f_BTD

        def cos(a, b):
            return ((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))).mean()

        branch_rms.append(np.sqrt((f_BTD**2).mean()))
        share.append(branch_rms[-1] / stream_rms[-1])
        stream_rms.append(np.sqrt((y_BTD**2).mean()))
        neighbour.append(cos(x_BTD, y_BTD))
        angle.append(cos(f_BTD, x_BTD))
        x_BTD = y_BTD
    expected = {
        "stream_rms": stream_rms,
        "branch_rms": branch_rms,
        "share": share,
        "neighbour_cosine": neighbour,
        "branch_cosine": angle,
    }
    found = measured(CFG)
    assert vars(found).keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=2e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("arrangement", ["pre-norm", "post-norm", "ResiDual", "DLCL", "recursive skip", "LayerScale"])
def test_it_agrees_with_the_row_of_the_log(arrangement):
    cfg = RunConfig.arranged(arrangement, depth=4, width=16, batch=16, steps=20, device="cpu")
    run = Run(cfg)
    run.advance(8)
    trace, found = run.trace(), measured(cfg, 7)
    np.testing.assert_allclose(found.stream_rms, trace.act_rms[7], rtol=1e-5)
    np.testing.assert_allclose(found.branch_rms, trace.branch_rms[7], rtol=1e-5)


def test_a_block_taken_out_adds_nothing_and_turns_nothing():
    found = measured(RunConfig(depth=3, width=16, batch=8, steps=20, overrides=((2, "identity", True),), device="cpu"))
    assert found.share[1] == 0
    assert found.neighbour_cosine[1] == pytest.approx(1)
    assert np.isnan(found.branch_cosine[1])
    assert np.isfinite(found.branch_cosine[[0, 2]]).all()


def test_tokens_without_a_direction_do_not_count():
    x, y = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    assert cosine(x, y).item() == pytest.approx(2**-0.5)
