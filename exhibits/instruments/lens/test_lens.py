"""The lens and the attention map, against forward passes by hand, nets that were cut off, and the module itself."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special, stats

from components.charts.lens import MAX_LABELS, distance_chart, lens_map, lens_rows, row_labels
from components.charts.tokens import candidates_chart, token_map
from models.insight.lens import lens_sentence, next_class, settling_site, with_temperature
from models.instruments.lens import class_names, lens, token_ids
from models.nets.norms import TokenBatchNorm
from models.nets.sublayer import IdentitySublayer
from models.service.wire import size
from models.spec import ARRANGEMENTS, RunConfig, plan
from models.tasks import alphabet
from models.training import Replays, result_of
from tests import hand
from tests.app_page import charts, press, sound, words
from tests.arrangements import in_turn
from tests.drawn import all_drawn, drawn
from tests.instruments.nets import TINY, looked, opened
from tests.player_page import rests
from tests.tables import table_of

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

TEXT = "Call me"
OTHERS = [
    {"norm": "batch norm"},
    {"norm": "dynamic tanh"},
    {"norm": "none"},
    {"residual": False},
    {"overrides": ((2, "identity", True),)},
    {"mask": "none", "position": "rotary", "qk_norm": True},
]


def still_at(cfg, step=3):
    return result_of(Replays().snapshot(cfg, step))


def read_by_net(snapshot, text=TEXT):
    """The net's own probabilities (T, C) in eval mode."""
    snapshot.model.eval()
    with torch.no_grad():
        return snapshot.model(torch.tensor([token_ids(snapshot.cfg, text)]))[0].double().softmax(-1).numpy()


@pytest.mark.parametrize(("depth", "said"), [(2, ["1", "2"]), (32, [str(block) for block in range(2, 33, 2)])])
def test_a_row_beside_the_map_is_called_by_its_block_after_its_last_sublayer(depth, said):
    sites = plan(RunConfig.arranged("pre-norm", **TINY | {"depth": depth})).sites
    labels = row_labels(sites)
    assert [label for label in labels if label] == ["input", *said]
    assert len(said) < MAX_LABELS
    assert [sites[at] for at, label in enumerate(labels) if label][1:] == [f"b{int(block):02d}.ffn" for block in said]


def test_every_site_and_every_head_is_that_of_a_forward_pass_by_hand():
    snapshot = still_at(RunConfig.arranged("pre-norm", **TINY))
    found = lens(snapshot, text=TEXT, block=2)
    net = snapshot.model.double()
    eps = snapshot.cfg.eps
    x = net.position(net.embed.weight[torch.tensor([[alphabet().index(one) for one in TEXT]])])
    points, weights = [x], None
    for block in net.stream.blocks.values():
        for kind, sublayer in block.items():
            if kind == "attn":
                read = hand.layer_norm(x, sublayer.norm_in, eps)
                weights = looked(read, sublayer.function)
            x = hand.sublayer(
                x,
                sublayer,
                "attention" if kind == "attn" else "two layers",
                placement="pre-norm",
                norm="layer norm",
                eps=eps,
            )
            points.append(x)
    p = [
        special.softmax(hand.linear(hand.layer_norm(one, net.final_norm, eps), net.head)[0].detach().numpy(), -1)
        for one in points
    ]
    np.testing.assert_allclose(found.attention, weights, atol=1e-5)
    np.testing.assert_allclose(found.probabilities, p[-1], rtol=1e-3, atol=1e-6)
    said = p[-1].argmax(-1)
    for site, here in enumerate(p):
        np.testing.assert_array_equal(found.top[site], here.argmax(-1))
        np.testing.assert_allclose(found.probability[site], here.max(-1), rtol=1e-3)
        np.testing.assert_allclose(found.final_probability[site], here[range(len(TEXT)), said], rtol=1e-3)
        np.testing.assert_allclose(found.kl[site], stats.entropy(p[-1], here, axis=-1), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("arrangement", [name for name in ARRANGEMENTS if name != "DLCL"])
def test_the_lens_of_a_site_is_the_net_cut_off_there(arrangement):
    snapshot = still_at(RunConfig.arranged(arrangement, **TINY))
    found = lens(snapshot, text=TEXT)
    np.testing.assert_allclose(found.probabilities, read_by_net(snapshot), rtol=1e-4, atol=1e-7)
    places = [(block, kind) for block in snapshot.model.stream.blocks.values() for kind in block]
    for site, (block, kind) in reversed(list(enumerate(places))):
        block[kind] = IdentitySublayer()
        cut = read_by_net(snapshot)
        np.testing.assert_allclose(
            found.probability[site], cut.max(-1), rtol=1e-4, err_msg=plan(snapshot.cfg).sites[site]
        )
        np.testing.assert_array_equal(found.top[site], cut.argmax(-1))


def test_dlcl_is_read_at_the_sums_between_blocks_and_nowhere_else():
    snapshot = still_at(RunConfig.arranged("DLCL", **TINY))
    found, net, outputs = lens(snapshot, text=TEXT), snapshot.model.eval(), []
    with torch.no_grad():
        x = net.stream.norms[0](net.position(net.embed(torch.tensor([token_ids(snapshot.cfg, TEXT)]))))
        outputs.append(x)
        for at, block in enumerate([*net.stream.blocks.values(), None]):
            weights = net.stream.weights[at].tolist()
            x = weights[0] * outputs[0]
            for weight, y in zip(weights[1:], outputs[1:], strict=True):
                x = x + weight * y
            p = net.read_out(x)[0].softmax(-1)
            np.testing.assert_allclose(found.probability[2 * at], p.max(-1).values, rtol=1e-4)
            if block is not None:
                outputs.append(net.stream.norms[at + 1](block["ffn"](block["attn"](x))))
    np.testing.assert_allclose(found.probabilities, read_by_net(snapshot), rtol=1e-4)
    assert found.readable.tolist() == [True, False, True, False, True]
    assert (found.top[[1, 3]] == -1).all()
    assert np.isnan(found.kl[[1, 3]]).all()


def called(cfg):
    return "-".join(map(str, cfg.to_query().values()))


KINDS = ({"task": "book"}, {"task": "digits"}, {"net": "mlp"})
CASES = in_turn([RunConfig.arranged(name, **TINY | kind) for name in ARRANGEMENTS for kind in KINDS], 3, called)
CASES += in_turn(
    [
        RunConfig(**TINY | {"placement": placement} | other)
        for other in OTHERS
        for placement in ("pre-norm", "post-norm")
    ],
    called=called,
)


@pytest.mark.parametrize("cfg", CASES)
def test_every_arrangement_gives_shares_that_add_up_and_ends_in_itself(cfg):
    found, sites = lens(still_at(cfg), sample=2, block=2), plan(cfg).sites
    assert found.probabilities.sum(-1) == pytest.approx(1, abs=1e-5)
    assert found.top.shape == found.probability.shape == found.kl.shape == (len(sites), cfg.tokens)
    assert (found.kl[-1] == 0).all()
    assert (found.kl[found.readable] >= 0).all()
    np.testing.assert_allclose(found.probability[-1], found.probabilities.max(-1), rtol=1e-5)
    assert (found.final_probability[found.readable] <= found.probability[found.readable]).all()
    gone = cfg.net == "mlp" or any(key == "identity" for _, key, _ in cfg.overrides)
    assert found.attention.shape == (0 if gone else cfg.heads, cfg.tokens, cfg.tokens)
    np.testing.assert_allclose(found.attention.sum(-1), 1, atol=1e-5)
    if cfg.mask == "causal" or cfg.net == "mlp":
        assert not np.triu(found.attention, 1).any()
    else:
        assert (found.attention > 0).all()
    assert size(found) < 300_000
    all_drawn([lens_map("t", sites, found, 0), distance_chart(sites, found, 0)])
    assert len(lens_rows(sites, found, 0)) == found.readable.sum()


def test_batch_norm_reads_with_its_running_statistics_and_leaves_them_as_they_are():
    snapshot = still_at(RunConfig(**TINY | {"norm": "batch norm"}))
    before = {name: value.clone() for name, value in snapshot.model.state_dict().items()}
    found = lens(snapshot, text=TEXT)
    assert found.batch_norm == 1
    assert all(torch.equal(before[name], value) for name, value in snapshot.model.state_dict().items())
    np.testing.assert_allclose(found.probabilities, read_by_net(snapshot), rtol=1e-4)
    for part in snapshot.model.modules():
        if isinstance(part, TokenBatchNorm):
            part.running_var.mul_(9)
    assert np.abs(lens(snapshot, text=TEXT).probabilities - found.probabilities).max() > 1e-3


def test_a_held_out_sample_is_the_one_of_the_task():
    snapshot = still_at(RunConfig(**TINY | {"task": "digits"}))
    x, y = snapshot.task.held_out
    found = lens(snapshot, sample=7)
    snapshot.model.eval()
    np.testing.assert_allclose(found.probabilities, snapshot.model(x[7:8])[0].softmax(-1).detach(), rtol=1e-4)
    assert found.truth.tolist() == [-1] * 7 + [int(y[7, -1])]
    assert found.has_loss.tolist() == [False] * 7 + [True]
    assert found.samples == 359
    assert found.tokens == tuple(f"row {at}" for at in range(1, 9))


def test_symbols_are_typed_as_numbers_and_a_value_of_recall_is_written_as_its_symbol():
    copy, recall = (RunConfig(**TINY | {"task": task}) for task in ("copy", "recall"))
    assert token_ids(copy, " 3 15  0") == [3, 15, 0]
    assert token_ids(recall, "3 31") == [3, 31]
    assert class_names(copy) == [str(at) for at in range(16)]
    assert class_names(recall) == [str(at) for at in range(16, 32)]
    assert lens(still_at(copy, 0), text="1 2 3").has_loss.tolist() == [False] * 3
    assert lens(still_at(recall, 0), text=" ".join(["3"] * 18)).has_loss.tolist() == [False] * 16 + [True, False]
    x, y = still_at(recall, 0).task.held_out
    # At the second mention of a key the value that followed the first one is right.
    assert class_names(recall)[int(y[0, 16])] == str(int(x[0, 17]))


@pytest.mark.parametrize(
    ("task", "args", "why"),
    [
        ("book", {"text": "caf\u00e9"}, "the character 'é' is not in the book's alphabet"),
        ("book", {"text": "x" * 33}, "33 tokens; legal are 1 to 32"),
        ("book", {"text": ""}, "0 tokens"),
        ("copy", {"text": "3 16"}, "'16' is not a symbol of copy; legal are whole numbers from 0 to 15"),
        ("copy", {"text": "3,4"}, "'3,4' is not a symbol"),
        ("digits", {"text": "3"}, "digits has none"),
        ("digits", {"sample": 359}, "sample is 359; legal is a whole number from 0 to 358"),
        ("book", {"text": "a", "block": 3}, "block is 3; legal is a whole number from 1 to 2"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(task, args, why):
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        lens(still_at(RunConfig(**TINY | {"task": task}), 0), **args)


def test_a_run_that_diverged_says_nothing_and_says_that():
    cfg = RunConfig(
        **TINY | {"lr": 10.0, "depth": 8, "placement": "none", "norm": "none", "init_gain": 10.0, "steps": 40}
    )
    snapshot = still_at(cfg, 40)
    assert snapshot.step < 40
    with torch.no_grad():
        snapshot.model.stream.blocks["b01"]["ffn"].function.w1.weight.fill_(torch.inf)
    found = lens(snapshot, text=TEXT)
    assert found.top[-1].tolist() == [-1] * len(TEXT)
    assert "not finite" in lens_sentence(found, plan(cfg).sites, 0)
    drawn(lens_map("t", plan(cfg).sites, found, 0))
    assert lens_rows(plan(cfg).sites, found, 0)["says"].iloc[-1] == "not finite"


def test_the_sentence_names_what_is_said_since_when_and_whether_it_is_right():
    found = lens(still_at(RunConfig(**TINY)), text=TEXT)

    def said(top, truth, probability=(1.0, 1.0, 1.0, 1.0), kl=0.0):
        columns = {name: np.array(one)[:, None] for name, one in {"top": top, "probability": probability}.items()}
        columns |= {"kl": np.full((4, 1), kl), "truth": np.array([truth])}
        spoken = replace(found, tokens=("x",), classes=("p", " "), **columns)
        return lens_sentence(spoken, ("x0", "a", "b", "c"), 0)

    right = said([0, 1, 1, 1], truth=1, probability=(0.4, 0.5, 0.6, 0.7), kl=1.0)
    assert right.startswith('At token 1, "x", the net says "␣" with 70%, which is right. From a on, the lens already ')
    assert right.endswith('predicts this; at the input it predicts "p" (KL 1 nats).')
    assert said([0, 0, 0, 0], truth=-1).endswith("At the input the lens already predicts this.")
    late = said([1, 1, 1, 0], truth=1)
    assert 'the right answer is "␣"' in late
    assert "Only at the end, c, does the lens predict this; at the input" in late
    assert settling_site(np.array([1, -1, 0, -1, 1])) == 4
    assert settling_site(np.array([1, -1, 1])) == 0


def test_a_text_goes_on_with_the_likeliest_or_as_often_as_its_tempered_probability_says():
    p = np.array([0.2, 0.0, 0.5, 0.3])
    assert [next_class(p, 0.0, at) for at in range(20)] == [2] * 20
    expected = special.softmax(np.log(p[[0, 2, 3]]) / 0.7)
    np.testing.assert_allclose(with_temperature(p, 0.7), [expected[0], 0, expected[1], expected[2]], rtol=1e-12)
    drawn = [next_class(p, 0.7, at) for at in range(4000)]
    counts = np.bincount(drawn, minlength=4) / 4000
    assert np.abs(counts - with_temperature(p, 0.7)).max() < 0.03
    assert counts[1] == 0
    assert [next_class(p, 0.7, at) for at in range(50)] == drawn[:50]


def test_nothing_is_drawn_below_zero_or_from_what_is_not_finite():
    with pytest.raises(ValueError, match="temperature is -1"):
        next_class(np.array([0.5, 0.5]), -1, 3)
    with pytest.raises(ValueError, match="not finite"):
        next_class(np.array([0.5, math.nan]), 1.0, 3)


def test_a_map_keeps_every_cell_hides_what_is_masked_and_marks_what_is_not_finite():
    values = np.array([[1.0, 0.0], [np.nan, 0.25]])
    figure = token_map(
        title="t",
        tokens=["a", "b"],
        rows=["a", "b"],
        values=values,
        unit="share",
        hidden=np.array([[0, 1], [0, 0]]) > 0,
    )
    figure = drawn(figure)
    assert figure["data"][0]["z"] == [[1.0, None], [None, 0.25]]
    assert figure["data"][1]["customdata"] == [[None, None], ["nan", None]]
    assert "1 not finite" in figure["layout"]["annotations"][0]["text"]
    assert table_of(figure).iloc[1, 1] == 0.25
    empty = token_map(title="t", tokens=[], rows=[], values=np.empty((0, 0)), unit="share")
    empty = drawn(empty)
    assert "nothing to look at" in empty["layout"]["annotations"][0]["text"]


def test_the_twelve_likeliest_stand_in_order_and_without_probabilities_there_is_a_note():
    p = special.softmax(np.arange(20.0))
    figure = candidates_chart("t", [str(at) for at in range(20)], p)
    figure = drawn(figure)
    assert figure["data"][0]["text"] == [str(at) for at in range(19, 7, -1)]
    assert figure["data"][0]["y"] == pytest.approx(p[:7:-1], rel=1e-3)
    assert len(table_of(figure)) == 12
    lost = drawn(candidates_chart("t", ["a"], np.array([np.nan])))
    assert "not finite" in lost["layout"]["annotations"][0]["text"]


def text_box(page):
    return next(box for box in page.text_input if box.label.startswith("Text, at most 32 tokens"))


def test_the_panel_reads_a_text_and_goes_on_with_what_the_net_says():
    page = opened("Attention and lens", depth="2", net="transformer", task="book", heads="2")
    assert 'At token 11, "h", the net says' in words(page)
    assert {
        "Attention of block 1, head 1",
        "Attention of block 1 at token 11",
        "Lens by site and token",
        "Likeliest next",
    } <= charts(page).keys()
    likeliest = charts(page)["Likeliest next"]["data"][0]["text"][0]
    press(page, "Next")
    assert text_box(page).value == "Call me Ish" + {"␣": " "}.get(likeliest, likeliest)
    assert "At token 12," in words(page)
    assert f"Written at step 0: `{likeliest}`" in words(page)
    rests(page, 1)
    press(page, "Next")
    assert re.search(r"Written at step 0: `.` [\d.]+%\nWritten at step 1: `.` [\d.]+%", words(page))
    page.slider(key="depth").set_value(3)
    sound(page.run())
    assert "Written at step" not in words(page)  # by this net
    text_box(page).set_value("caf\u00e9")
    sound(page.run())
    assert "The character 'é' is not in the book's alphabet" in words(page)
    text_box(page).set_value("x" * 32)
    sound(page.run())
    assert "The context of 32 tokens is full" in words(page)
    assert next(button for button in page.button if button.label == "Next").disabled
