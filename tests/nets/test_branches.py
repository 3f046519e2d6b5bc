"""What a branch computes: attention by hand and against torch, layers, activations, rotary positions."""

import math

import pytest
import torch
from torch import nn

from models.instruments.attention import attention_parts
from models.nets import ACTIVATIONS, build_model
from models.nets.branches import bucket_indices
from models.spec import RunConfig
from tests import hand

WIDTH, HEADS, TOKENS = 16, 2, 5


def sublayers(**fields):
    """The sublayers of a randomised one-block transformer, by kind."""
    cfg = RunConfig(**({"net": "transformer", "depth": 1, "width": WIDTH, "heads": HEADS, "eps": hand.EPS} | fields))
    return hand.randomise(build_model(cfg)).stream.blocks["b01"]


@pytest.mark.parametrize("heads", [1, 2, 8])
@pytest.mark.parametrize("mask", ["causal", "none"])
@pytest.mark.parametrize("qk_norm", [True, False], ids=["qk-norm", "no qk-norm"])
@pytest.mark.parametrize("position", ["rotary", "none"])
def test_attention_is_softmax_of_scaled_products(heads, mask, qk_norm, position):
    attention = sublayers(heads=heads, mask=mask, qk_norm=qk_norm, position=position)["attn"].function
    x = hand.stream_of(width=WIDTH)
    mixed = hand.heads(
        x, attention, heads=heads, causal=mask == "causal", qk_norm=qk_norm, rotary=position == "rotary", eps=hand.EPS
    )
    # The angles of rotary positions are float32.
    hand.assert_close(attention(x), hand.linear(mixed, attention.w_o), 1e-6 if position == "rotary" else 1e-10)


def test_values_from_the_second_block_on_are_half_the_first():
    """modeling_llama_resformer.py of ResFormer's authors: value_states = 0.5 * first + 0.5 * value_states."""
    fields = {"net": "transformer", "depth": 3, "width": WIDTH, "heads": HEADS, "eps": hand.EPS, "expansion": 2}
    stream = hand.randomise(build_model(RunConfig(value_residual=True, norm="rms norm", **fields))).stream
    x = start = hand.stream_of(width=WIDTH)
    first = None
    for block in stream.blocks.values():
        read, attention = hand.rms_norm(x, block["attn"].norm_in, hand.EPS), block["attn"].function
        own = hand.linear(read, attention.w_v)
        first = own if first is None else first
        mixed = hand.heads(read, attention, heads=HEADS, eps=hand.EPS, values=(first + own) / 2)
        x = x + hand.linear(mixed, attention.w_o)
        x = hand.sublayer(x, block["ffn"], "two layers", placement="pre-norm", norm="rms norm")
    hand.assert_close(stream(start), x)
    hand.assert_close(
        attention(read), hand.linear(hand.heads(read, attention, heads=HEADS, eps=hand.EPS), attention.w_o)
    )


@pytest.mark.parametrize("position", ["none", "alibi"])
def test_under_mup_scores_are_divided_by_the_size_of_a_head(position):
    """Yang 2022, definition 4.1: q k / d, times what makes it 1/sqrt(d) in the base net, of width 64."""
    attention = sublayers(parametrization="muP", position=position)["attn"].function
    x = hand.stream_of(width=WIDTH)
    ago = {"none": lambda head, ago: 0.0, "alibi": lambda head, ago: -(2 ** (-8 * (head + 1) / HEADS)) * abs(ago)}
    scale = math.sqrt(64 / HEADS) / (WIDTH / HEADS)
    mixed = hand.heads(x, attention, heads=HEADS, added=ago[position], scale=scale, eps=hand.EPS)
    hand.assert_close(attention(x), hand.linear(mixed, attention.w_o), 1e-6)
    weights, values = attention_parts(attention, x)[1:]
    hand.assert_close((weights @ values).transpose(1, 2).flatten(2), mixed, 1e-6)


@pytest.mark.parametrize("heads", [1, 2, 8])
@pytest.mark.parametrize("mask", ["causal", "none"])
@pytest.mark.parametrize("position", ["relative bias", "alibi"])
def test_what_positions_add_to_the_scores_is_their_formula(heads, mask, position):
    attention = sublayers(heads=heads, mask=mask, position=position)["attn"].function
    x = hand.stream_of(width=WIDTH, tokens=24)

    def alibi(head, ago):
        return -(2 ** (-8 * (head + 1) / heads)) * abs(ago)

    def t5(head, ago):
        return attention.relative.bias[32 * head + hand.t5_bucket(ago, bidirectional=mask == "none")].item()

    mixed = hand.heads(
        x, attention, heads=heads, causal=mask == "causal", added=alibi if position == "alibi" else t5, eps=hand.EPS
    )
    hand.assert_close(attention(x), hand.linear(mixed, attention.w_o), 1e-6 if position == "alibi" else 1e-10)
    hand.assert_close(attention_parts(attention, x).weights.sum(-1), torch.ones(3, heads, 24).double())
    values = attention_parts(attention, x).values
    hand.assert_close((attention_parts(attention, x).weights @ values).transpose(1, 2).flatten(2), mixed, 1e-6)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_every_distance_falls_into_the_bucket_of_t5(bidirectional):
    distances = torch.arange(-200, 201)
    expected = [hand.t5_bucket(ago, bidirectional=bidirectional) for ago in distances.tolist()]
    assert bucket_indices(distances, bidirectional=bidirectional).tolist() == expected
    assert len(set(expected)) == (31 if bidirectional else 32)  # of later tokens none is 0 away


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_is_its_formula(activation):
    z = torch.linspace(-4, 4, 33, dtype=torch.float64)
    hand.assert_close(ACTIVATIONS[activation]()(z), hand.ACTIVATIONS[activation](z))


@pytest.mark.parametrize(
    "fields", [{"layers_per_branch": 1}, {"layers_per_branch": 2, "expansion": 3}], ids=["one", "two"]
)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_mlp_branch_is_its_layers(activation, fields):
    cfg = RunConfig(width=8, depth=1, activation=activation, placement="none", residual=False, **fields)
    module = hand.randomise(build_model(cfg)).stream.blocks["b01"]["mlp"]
    f, x, act = module.function, hand.stream_of(), hand.ACTIVATIONS[activation]
    two = fields["layers_per_branch"] == 2
    expected = hand.linear(act(hand.linear(x, f.w1)), f.w2) if two else act(hand.linear(x, f.w))
    assert (f.w1 if two else f.w).weight.shape == ((24, 8) if two else (8, 8))
    hand.assert_close(module(x), expected)


def torch_layer(block, *, norm_first: bool, activation: str) -> nn.TransformerEncoderLayer:
    """torch's own block with the weights of ours, in train mode (its eval mode takes a fused path)."""
    attn, ffn = block["attn"], block["ffn"]
    layer = nn.TransformerEncoderLayer(
        WIDTH,
        HEADS,
        dim_feedforward=4 * WIDTH,
        dropout=0.0,
        activation=activation,
        layer_norm_eps=hand.EPS,
        batch_first=True,
        norm_first=norm_first,
    ).double()
    f, g = attn.function, ffn.function
    norms = (attn.norm_in, ffn.norm_in) if norm_first else (attn.norm_add, ffn.norm_add)
    own = {
        "self_attn.in_proj_weight": torch.cat([f.w_q.weight, f.w_k.weight, f.w_v.weight]),
        "self_attn.in_proj_bias": torch.cat([f.w_q.bias, f.w_k.bias, f.w_v.bias]),
        "self_attn.out_proj.weight": f.w_o.weight,
        "self_attn.out_proj.bias": f.w_o.bias,
        "linear1.weight": g.w1.weight,
        "linear1.bias": g.w1.bias,
        "linear2.weight": g.w2.weight,
        "linear2.bias": g.w2.bias,
        **{f"norm{i}.weight": norm.weight for i, norm in enumerate(norms, start=1)},
        **{f"norm{i}.bias": norm.bias for i, norm in enumerate(norms, start=1)},
    }
    assert set(own) == set(layer.state_dict())
    layer.load_state_dict(own)
    return layer.train()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mask", ["causal", "none"])
@pytest.mark.parametrize("placement", ["post-norm", "pre-norm"])
def test_a_transformer_block_is_torchs_encoder_layer(placement, mask, activation):
    block = sublayers(placement=placement, mask=mask, activation=activation, expansion=4)
    layer = torch_layer(block, norm_first=placement == "pre-norm", activation=activation)
    future = torch.triu(torch.full((TOKENS, TOKENS), -torch.inf), diagonal=1).double() if mask == "causal" else None
    x = hand.stream_of(width=WIDTH)
    hand.assert_close(block["ffn"](block["attn"](x)), layer(x, src_mask=future))
