"""The whole block against torch: forward by its transformer layer, back by autograd, terms by their own sums."""

import numpy as np
import pytest
import torch
from torch.nn.functional import gelu, layer_norm, relu, scaled_dot_product_attention

from exhibits.labs.residual.block import numbers as blocks
from exhibits.labs.residual.block.numbers import EPS, INPUTS, PLACEMENTS
from exhibits.labs.residual.block.page import moved_sentence, shape_mismatch, terms_text
from models.insight.gaussian import ACTIVATIONS
from tests.app_page import by_link, sound, words
from tests.labs_page import lab

SOURCE = np.random.default_rng(3)
WIDE = {  # entries, values and hidden units of different numbers
    "embedding": (4, 5), "position": (4, 5), "W_Q": (5, 2), "W_K": (5, 2), "W_V": (5, 3), "W_O": (3, 5), "W_1": (5, 7),
    "W_2": (7, 5),
}  # fmt: skip
RANDOM = {name: SOURCE.normal(size=shape) for name, shape in WIDE.items()}
PHI = {"relu": relu, "gelu": gelu, "identity": lambda z: z}


def in_torch(inputs, placement, activation, causal=False):
    """The block's streams and branches, with gradients kept, written with torch's own functions."""
    t = {name: torch.tensor(values, dtype=torch.float64) for name, values in inputs.items()}

    def norm(x):
        return layer_norm(x, x.shape[1:], eps=EPS)

    def attend(x):
        q, k, v = (x @ t[name] for name in ("W_Q", "W_K", "W_V"))
        return scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0] @ t["W_O"]

    def feed(x):
        return PHI[activation](x @ t["W_1"]) @ t["W_2"]

    kept = {"x": (t["embedding"] + t["position"]).requires_grad_()}
    x = kept["x"]
    if placement == "post-norm":
        kept["attention"] = attend(x)
        kept["norm 1"] = norm(x + kept["attention"])
        kept["feed-forward"] = feed(kept["norm 1"])
        kept["norm 2"] = norm(kept["norm 1"] + kept["feed-forward"])
    else:
        kept["attention"] = attend(norm(x))
        kept["sum 1"] = x + kept["attention"]
        kept["feed-forward"] = feed(norm(kept["sum 1"]))
        kept["sum 2"] = kept["sum 1"] + kept["feed-forward"]
    return kept


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("activation", PHI)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("inputs", [INPUTS, RANDOM], ids=["own", "random"])
def test_the_block_goes_forward_and_back_as_torch_does(placement, activation, causal, inputs):
    kept = in_torch(inputs, placement, activation, causal)
    block = blocks.forward(inputs, placement=placement, activation=ACTIVATIONS[activation], causal=causal)
    for name, values in kept.items():
        np.testing.assert_allclose(block.values[name], values.detach().numpy(), atol=1e-12)
    *_, end = kept.values()
    for row, column in [(0, 0), (1, 2), (2, 3)]:
        for share in blocks.add_gradients(block, row, column):
            stream, branch = kept[share.stream], kept[share.branch]
            (whole, through) = torch.autograd.grad(end[row, column], (stream, branch), retain_graph=True)
            (through,) = torch.autograd.grad(branch, stream, through, retain_graph=True)
            np.testing.assert_allclose(share.through_branch, through.numpy(), atol=1e-12)
            np.testing.assert_allclose(share.total, whole.numpy(), atol=1e-12)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_with_four_entries_the_block_is_torchs_encoder_layer(placement, activation):
    inputs = dict(INPUTS) | {name: SOURCE.normal(size=(4, 4)) for name in ("W_Q", "W_K", "W_V", "W_O")}
    layer = torch.nn.TransformerEncoderLayer(
        4, 1, 4, dropout=0.0, activation=activation, layer_norm_eps=EPS, batch_first=True,
        norm_first=placement == "pre-norm", bias=False, dtype=torch.float64,
    )  # fmt: skip
    t = {name: torch.tensor(values).T for name, values in inputs.items()}
    with torch.no_grad():
        layer.self_attn.in_proj_weight.copy_(torch.cat([t["W_Q"], t["W_K"], t["W_V"]]))
        layer.self_attn.out_proj.weight.copy_(t["W_O"])
        layer.linear1.weight.copy_(t["W_1"])
        layer.linear2.weight.copy_(t["W_2"])
        expected = layer((t["embedding"] + t["position"]).T[None])[0].numpy()
    block = blocks.forward(inputs, placement=placement, activation=ACTIVATIONS[activation])
    np.testing.assert_allclose(block.values[block.output], expected, atol=1e-12)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("activation", PHI)
@pytest.mark.parametrize("causal", [False, True])
def test_the_terms_of_every_number_add_up_to_it(placement, activation, causal):
    block = blocks.forward(RANDOM, placement=placement, activation=ACTIVATIONS[activation], causal=causal)
    for name in block.operations:
        for row, column in np.ndindex(block.values[name].shape):
            terms = blocks.terms(block, name, row, column)
            total = float(terms.left @ terms.right) / terms.divisor
            total = (
                float(PHI[activation](torch.tensor(total, dtype=torch.float64)))
                if terms.kind == "activation"
                else total
            )
            assert total == pytest.approx(block.values[name][row, column], abs=1e-12), (name, row, column)


def test_terms_are_written_out_as_one_computes_by_hand():
    block = blocks.forward(INPUTS, placement="post-norm", activation=ACTIVATIONS["relu"])
    assert terms_text(blocks.terms(block, "x", 1, 0)) == "0 + 0.84 = **0.84**"
    assert terms_text(blocks.terms(block, "Q", 0, 0)) == "1·1 + 1·0 + 0.5·0.5 + 0.5·0 = **1.25**"
    assert terms_text(blocks.terms(block, "scores", 0, 0)).endswith(") / 1.414 = **1.061**")
    assert terms_text(blocks.terms(block, "active", 0, 1)) == "φ(-1.335) = **0**"


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_one_changed_token_moves_other_rows_in_attention_alone(placement):
    before = blocks.forward(RANDOM, placement=placement, activation=ACTIVATIONS["gelu"])
    found = blocks.operation_row_changes(before, 1, 0.5)
    moves = {name: np.flatnonzero(rows).tolist() for name, rows in found.items()}
    assert moves == {"attention": [0, 1, 2, 3], "add": [1], "norm": [1], "feed-forward": [1]}
    assert "attention: 3; add: 0; norm: 0; feed-forward: 0" in moved_sentence(found, 1)
    changed = blocks.perturbed_inputs(RANDOM, 1, 0.5)
    kept, moved = (in_torch(inputs, placement, "gelu") for inputs in (RANDOM, changed))
    rows = blocks.row_changes(before, blocks.forward(changed, placement=placement, activation=ACTIVATIONS["gelu"]))
    for name in kept:
        by_torch = (moved[name] - kept[name]).abs().max(1).values.detach().numpy()
        np.testing.assert_allclose(rows[name], by_torch, atol=1e-12)
    causal = blocks.operation_row_changes(
        blocks.forward(RANDOM, placement=placement, activation=ACTIVATIONS["relu"], causal=True), 1, 0.5
    )
    assert np.flatnonzero(causal["attention"]).tolist() == [1, 2, 3]


@pytest.mark.parametrize("huge", [0.0, 1e9, -1e9])
def test_bounds_and_equal_features_leave_numbers_finite(huge):
    inputs = {name: np.full_like(values, huge) for name, values in INPUTS.items()}
    for placement in PLACEMENTS:
        block = blocks.forward(inputs, placement=placement, activation=ACTIVATIONS["gelu"])
        assert all(np.isfinite(values).all() for values in block.values.values())
        assert all(np.isfinite(share.total).all() for share in blocks.add_gradients(block, 0, 0))


def test_tables_that_do_not_fit_get_one_sentence():
    assert shape_mismatch(INPUTS) == shape_mismatch(RANDOM) == ""
    assert shape_mismatch(dict(INPUTS) | {"W_K": np.ones((4, 3))}).startswith("W_K must have 4 rows and 2 columns")
    assert shape_mismatch(dict(INPUTS) | {"W_2": np.ones((3, 4))}).startswith("W_2 must have 4 rows and 4 columns")
    assert "at most 6 tokens" in shape_mismatch(dict(INPUTS) | {"embedding": np.ones((7, 4))})


def test_the_page_follows_its_order_its_tables_and_the_pressed_number(trainer_in_this_process):
    page = lab("residual")
    assert "**norm 1**, token 2, number 1, from sum 1:" in words(page)
    assert "attention: 2; add: 0; norm: 0; feed-forward: 0" in words(page)
    page.selectbox(key="residual_block_order").set_value("pre-norm")
    page.selectbox(key="residual_block_operation").set_value("Q")
    assert "**Q**, token 2, number 1, from norm 1 and W_Q:" in words(sound(page.run()))
    page.number_input(key="residual_block_by").set_value(0.0)
    assert "Let feature 1 grow or shrink" in words(sound(page.run()))
    page.text_area(key="residual_block_W_K_paste").set_value("1 2 3\n1 2 3")
    page.button(key="residual_block_W_K_use").click()
    sound(page.run())
    assert "W_K must have 4 rows and 2 columns" in page.error[0].value
    assert page.session_state["residual_block_W_K_good"].shape == (2, 3)
    assert "**Q**, token 2, number 1, from norm 1 and W_Q:" in words(page)


def test_a_link_brings_tables_and_number_back_and_a_bad_one_gets_its_sentences(trainer_in_this_process):
    w_q = "2,0;0,1;0.5,0;0,-0.5"
    page = by_link("residual.py", order="pre-norm", operation="Q", row="0", column="1", wq=w_q, mask="true")
    assert "**Q**, token 1, number 2, from norm 1 and W_Q:" in words(page)
    assert page.session_state["residual_block_W_Q_good"][0].tolist() == [2, 0]
    block = blocks.forward(
        dict(INPUTS) | {"W_Q": page.session_state["residual_block_W_Q_good"]},
        placement="pre-norm",
        activation=ACTIVATIONS["relu"],
        causal=True,
    )
    assert f"**{block.values['Q'][0, 1]:.4g}**" in words(page)
    bad = by_link("residual.py", operation="<b>", column="9", wk="1,1e99;2,3", wv="1,o", by="nan", embedding="1,2;3,4")
    said = words(bad) + str([error.value for error in bad.error])
    for sentence in (
        "up to 1,000,000,000",
        "'o' is not a number",
        "no operation with that name",
        "no column with that",
    ):
        assert sentence in said
    assert "position must have 2 rows and 2 columns" in said
    assert "**norm 1**, token 2, number 1, from sum 1:" in said
