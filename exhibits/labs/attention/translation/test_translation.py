"""An encoder beside a decoder: cross-attention against torch's own, what sees what, the training, the part of the lab."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.labs.attention.translation.measure import MEASURED_STEPS, question_and_answer, translation
from exhibits.labs.attention.translation.page import attention_map, configuration, loss_chart, pair_sentence
from models.nets.translator import CrossAttention, Translator, shift_right
from models.spec import RunConfig
from models.tasks import open_task
from models.training import Replays, cross_entropy, result_of
from tests import hand
from tests.app_page import charts, press, sound, words
from tests.drawn import drawn
from tests.labs_page import lab, until

SMALL = {
    "net": "transformer",
    "task": "reverse",
    "width": 16,
    "heads": 2,
    "depth": 1,
    "batch": 8,
    "steps": 12,
    "optimizer": "adam",
}


@pytest.fixture(scope="module")
def trained():
    return result_of(translation(Replays(), RunConfig(**SMALL, lr=0.01)))


def pair(**fields):
    cfg = RunConfig(**SMALL | fields)
    source, answer = question_and_answer(open_task(cfg, "cpu").held_out[0])
    return hand.randomise(Translator(cfg, 16, 16)), source[:4], answer[:4]


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_cross_attention_is_torchs_with_keys_and_values_of_the_other_sequence(heads):
    ours, torchs = CrossAttention(16, heads).double(), nn.MultiheadAttention(16, heads, batch_first=True).double()
    with torch.no_grad():
        torchs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
        torchs.in_proj_bias.copy_(torch.cat([ours.w_q.bias, ours.w_k.bias, ours.w_v.bias]))
        torchs.out_proj.load_state_dict(ours.w_o.state_dict())
    x, memory = hand.stream_of(tokens=5, width=16), hand.stream_of(tokens=7, width=16, seed=3)
    output, weights = torchs(x, memory, memory, average_attn_weights=False)
    hand.assert_close(ours(x, memory), output)
    hand.assert_close(ours.weights(x, memory), weights)


def test_a_place_sees_what_was_written_before_it_and_all_of_the_source():
    net, source, answer = pair(depth=2)
    written = shift_right(answer, net.start)
    assert written[:, 0].tolist() == [16] * 4
    assert torch.equal(written[:, 1:], answer[:, :-1])
    before = net(source, written)
    later = written.clone()
    later[:, 9] = (later[:, 9] + 1) % 16
    after = net(source, later)
    assert torch.equal(after[:, :9], before[:, :9])
    assert (after[:, 9:] != before[:, 9:]).any(-1).all()
    other = source.clone()
    other[:, -1] = (other[:, -1] + 1) % 16
    assert (net(other, written) != before).any(-1).all()


def test_what_is_looked_at_is_what_the_decoder_computes():
    """The last block's cross-attention rebuilt from the looks and its own values."""
    net, source, answer = pair()
    written = shift_right(answer, net.start)
    expected = net(source, written)
    looks = net.cross_attention_weights()[0]
    memory, cross = net.encode(source), net.cross[0]
    value = cross.function.w_v(memory).unflatten(-1, (2, -1)).transpose(1, 2)
    added = cross.function.w_o((looks @ value).transpose(1, 2).flatten(2))
    x = net.decoder[0].attn(net.position(net.embed(written)))
    rebuilt = net.head(net.final_norm(net.decoder[0].ffn(x + added)))
    hand.assert_close(rebuilt, expected)


def test_the_pair_is_trained_as_a_plain_loop_trains_it(trained):
    cfg = RunConfig(**SMALL, lr=0.01)
    task, net = open_task(cfg, "cpu"), Translator(cfg, 16, 16)
    adam, losses = torch.optim.Adam(net.parameters(), lr=0.01), []
    for step in range(cfg.steps):
        source, answer = question_and_answer(task.batch(step)[0])
        loss = nn.functional.cross_entropy(net(source, shift_right(answer, 16)).flatten(0, 1), answer.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    np.testing.assert_allclose(trained.loss, losses, rtol=1e-4)
    assert losses[-1] < losses[0]
    source, answer = question_and_answer(task.held_out[0])
    with torch.no_grad():
        logits, looks = net(source, shift_right(answer, 16)), net.cross_attention_weights()
    assert trained.held_out[-1] == pytest.approx(cross_entropy(logits, answer).item(), rel=1e-3)
    assert trained.accuracy[-1] == pytest.approx((logits.argmax(-1) == answer).float().mean().item(), abs=0.01)
    np.testing.assert_allclose(trained.attention[-1], looks[:, 0], atol=1e-3)
    aimed = [
        [
            np.mean([looks[0, b, h, t, source[b] == answer[b, t]].sum().item() for b in range(64) for t in range(16)])
            for h in range(2)
        ]
    ]
    np.testing.assert_allclose(trained.alignment[-1], aimed, atol=1e-3)
    assert trained.steps.tolist() == list(range(13))
    assert trained.parameters == sum(p.numel() for p in net.parameters())


def test_other_tasks_are_refused():
    for fields in ({"task": "recall"}, {"net": "mlp"}):
        with pytest.raises(ValueError, match="legal is a transformer"):
            result_of(translation(Replays(), RunConfig(**SMALL | fields)))


def test_plotly_accepts_the_charts_and_the_sentence_its_numbers(trained):
    drawn(loss_chart(trained, "reverse"))
    for head in range(3):
        drawn(attention_map(trained, 12, 0, head))
    best = trained.alignment[12].max()
    assert f"aims best: {best:.0%} of its weight" in pair_sentence(trained, 12, "reverse")
    assert pair_sentence(trained, 0, "reverse").startswith("At step 0 the held-out loss is")
    assert "not finite" in pair_sentence(replace(trained, held_out=np.full(13, np.nan)), 3, "reverse")


def test_the_part_trains_at_a_button_and_shows_any_of_its_steps(trainer_in_this_process):
    page = lab("attention")
    page.segmented_control(key="attention_part").set_value("Encoder and decoder")
    sound(page.run())
    page.number_input(key="attention_translation_steps").set_value(20)
    sound(page.run())
    press(page, "Train the pair for 20 steps")
    until(page, lambda: "Cross-attention" in charts(page))
    found = result_of(translation(Replays(), configuration("reverse", 1, 20)))
    assert len(found.steps) == MEASURED_STEPS
    assert pair_sentence(found, MEASURED_STEPS - 1, "reverse") in words(page)
    page.select_slider(key="attention_translation_step").set_value(0)
    page.selectbox(key="attention_translation_head").select("head 2")
    sound(page.run())
    assert pair_sentence(found, 0, "reverse") in words(page)
    shown = np.array(charts(page)["Cross-attention"]["data"][0]["bind"]["values"], float)
    np.testing.assert_allclose(shown, found.attention[0][0][1], atol=1e-3)
