"""A run's configuration: every field's legal and illegal values, the rules between fields, arrangements, the equation."""

import dataclasses
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from models.nets import build_model
from models.spec import (
    ARRANGEMENTS,
    BRANCH_SCALES,
    NETS,
    NORMS,
    PLACEMENTS,
    SKIP_SCALES,
    RunConfig,
    arrangement_of,
    knobs,
    plan,
)
from models.spec.arrangements import PLAIN_FIELDS
from models.spec.equation import equation, sublayer_equation
from models.spec.fields import Fields
from models.spec.knob import plain
from models.spec.rules import RULES, all_repairs
from tests import hand

# --- fields ---

FIELDS = {name: found for name, found in knobs().items() if name != "overrides"}
NUMBERS = {name: (knob.low, knob.high) for name, (kinds, knob) in FIELDS.items() if {int, float} & {*kinds}}
WORDS = {name: knob.choices for name, (_, knob) in FIELDS.items() if knob.choices}
TRUTHS = [name for name, (kinds, _) in FIELDS.items() if kinds == (bool,)]
WHOLE = [name for name in NUMBERS if int in FIELDS[name][0]]
REAL = [name for name in NUMBERS if name not in WHOLE]


def refusal(**fields) -> str:
    with pytest.raises(ValueError, match=r"; |is out of range|is not a") as caught:
        RunConfig(**fields)
    return str(caught.value)


def test_every_field_is_of_one_of_these_kinds_and_has_its_knob():
    names = [field.name for field in dataclasses.fields(RunConfig)]
    assert sorted([*NUMBERS, *WORDS, *TRUTHS, "overrides"]) == sorted(names)
    assert list(knobs()) == names
    for _, knob in knobs().values():
        assert knob.label
        assert knob.help.endswith(".")


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_legal_up_to_its_bounds_and_refused_beyond_them(name):
    low, high = NUMBERS[name]
    for value in (low, high):
        assert getattr(RunConfig(**{name: value}), name) == value
    beyond = [low - 1, high + 1] if name in WHOLE else [low - 1e-13 if low else -1e-13, high * 1.001]
    for value in beyond:
        sentence = refusal(**{name: value})
        label = knobs()[name][1].label
        assert sentence.startswith(f"{label} {plain(value)} is out of range ({plain(low)} to {plain(high)}")


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_not_a_number_of_the_right_kind_is_refused(name):
    for value in (math.nan, math.inf, -math.inf, True, False, None, "4", (4,), 4j):
        assert repr(value) in refusal(**{name: value})


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_number_takes_no_fraction_not_even_a_round_one(name):
    assert refusal(**{name: float(NUMBERS[name][1])}).endswith("is not a whole number")


@pytest.mark.parametrize("name", REAL)
def test_a_real_field_takes_a_whole_number_and_keeps_it_as_a_float(name):
    whole = min(1, int(NUMBERS[name][1]))
    value = getattr(RunConfig(**{name: whole}), name)
    assert value == whole
    assert isinstance(value, float)


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_one_of_its_vocabulary(name):
    for word in WORDS[name]:
        assert getattr(RunConfig(**{name: word, "heads": 4}), name) == word
    for wrong in ("", "nonsense", "Pre-Norm", 3, None, True):
        sentence = refusal(**{name: wrong})
        assert sentence.startswith(f"{name} is {wrong!r}; legal is one of ")
        assert all(word in sentence for word in WORDS[name])


@pytest.mark.parametrize("name", TRUTHS)
def test_a_switch_is_true_or_false_and_not_1_or_0(name):
    for value in (True, False):
        assert getattr(RunConfig(**{name: value}), name) is value
    for wrong in (1, 0, "true", None, 0.0):
        assert refusal(**{name: wrong}) == f"{name} is {wrong!r}; legal is True or False"


@pytest.mark.parametrize(("name", "rules"), [("skip_scale", SKIP_SCALES), ("branch_scale", BRANCH_SCALES)])
def test_a_scale_is_a_number_or_the_name_of_a_rule(name, rules):
    for rule in rules:
        assert getattr(RunConfig(**{name: rule}), name) == rule
    for foreign in ("one", "nonsense", "zero gate" if name == "skip_scale" else "deepnorm"):
        assert all(rule in refusal(**{name: foreign}) for rule in rules)


def test_an_unknown_field_is_an_error():
    with pytest.raises(TypeError):
        RunConfig(colour="red")


# --- overrides ---


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (((0, "norm", "none"),), "block 0; legal is 1 to 4"),
        (((5, "norm", "none"),), "block 5; legal is 1 to 4"),
        (((True, "norm", "none"),), "block True"),
        (((1.0, "norm", "none"),), "block 1.0"),
        (((1, "width", 8),), "'width'; legal is one of residual, norm, placement, activation, identity"),
        (((1, "norm", "nonsense"),), "norm of block 1 to 'nonsense'"),
        (((1, "residual", 1),), "residual of block 1 to 1"),
        (((1, "identity", "true"),), "identity of block 1 to 'true'"),
        (((1, "placement", False),), "placement of block 1 to False"),
        (((1, "norm"),), "legal is (block, key, value)"),
        (("1.norm.none",), "legal is (block, key, value)"),
    ],
)
def test_an_override_names_an_existing_block_a_key_and_a_legal_value(overrides, complaint):
    assert complaint in refusal(depth=4, overrides=overrides)


def test_overrides_are_kept_sorted_and_the_last_word_counts():
    cfg = RunConfig(depth=4, overrides=[(3, "norm", "none"), (1, "residual", False), (3, "norm", "rms norm")])
    assert cfg.overrides == ((1, "residual", False), (3, "norm", "rms norm"))
    assert cfg == RunConfig(depth=4, overrides=((1, "residual", False), (3, "norm", "rms norm")))


# --- the value ---


def test_a_configuration_is_frozen_hashable_and_equal_by_value():
    cfg = RunConfig(depth=3, skip_scale=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        cfg.depth = 4
    assert {cfg: "log"}[RunConfig(skip_scale=2.0, depth=3)] == "log"
    assert cfg != RunConfig(depth=3)


# --- rules between fields ---

CLASHES = [
    ({"net": "transformer", "depth": 49}, "Depth 49 is out of range for a transformer (1 to 48)", {"depth": 48}),
    ({"net": "transformer", "width": 1, "heads": 4}, "width 1 does not divide into 4 heads", {"heads": 1}),
    ({"net": "transformer", "width": 64, "heads": 7}, "width 64 does not divide into 7 heads", {"heads": 4}),
    (
        {"net": "transformer", "width": 12, "heads": 4, "position": "rotary"},
        "a head of 3 has no pairs",
        {"position": "sinusoidal"},
    ),
    (
        {"parametrization": "muP + 1/depth", "branch_scale": "layer scale"},
        "branch scale layer scale is learned",
        {"parametrization": "muP"},
    ),
    ({"norm": "batch norm", "batch": 1}, "batch is 1 and batch norm needs two tokens", {"batch": 2}),
    (
        {"overrides": ((2, "norm", "batch norm"),), "batch": 1},
        "batch is 1 and batch norm needs two tokens",
        {"batch": 2},
    ),
    (
        {"overrides": ((2, "identity", "ffn"), (1, "norm", "none"))},
        "an MLP's block has neither",
        {"overrides": ((1, "norm", "none"),)},
    ),
    ({"stack": "residual", "residual": False}, "residual is off; turn it on", {"residual": True}),
    ({"stack": "residual", "skip_repeats": 2}, "choose skip repeats 1", {"skip_repeats": 1}),
    ({"stack": "mHC", "residual": False}, "stack mHC is another form of the residual", {"residual": True}),
    (
        {"stack": "mHC", "overrides": ((1, "residual", False), (2, "norm", "none"))},
        "which a single block cannot lack",
        {"overrides": ((2, "norm", "none"),)},
    ),
    ({"stack": "hyper-connections", "placement": "post-norm"}, "choose placement pre-norm", {"placement": "pre-norm"}),
    (
        {"stack": "hyper-connections", "overrides": ((1, "placement", "pre+post"), (2, "placement", "none"))},
        "in no block; remove the exception",
        {"overrides": ((2, "placement", "none"),)},
    ),
    ({"stack": "attention residuals", "skip_scale": "depth"}, "choose skip weight 1", {"skip_scale": 1.0}),
    ({"stack": "attention residuals", "skip_repeats": 2}, "no single sum to repeat", {"skip_repeats": 1}),
    ({"stack": "dynamic hyper-connections", "stream_dropout": 0.1}, "stream dropout 0", {"stream_dropout": 0.0}),
    ({"stack": "mHC", "parametrization": "muP"}, "no known scaling", {"parametrization": "standard"}),
    (
        {"optimizer": "muon", "parametrization": "muP"},
        "optimizer muon scales its own by the shape of a matrix",
        {"parametrization": "standard"},
    ),
]


@pytest.mark.parametrize(("fields", "sentence", "change"), CLASHES)
def test_a_clash_is_refused_in_a_sentence_and_its_repair_is_legal(fields, sentence, change):
    assert sentence in refusal(**fields)
    values = {name: getattr(RunConfig(), name) for name in knobs()} | fields
    assert all_repairs(values) == change
    assert RunConfig(**(fields | change))


def test_every_rule_is_broken_by_one_of_the_clashes_above():
    broken = set()
    for fields, _, _ in CLASHES:
        probe = Fields(**({name: getattr(RunConfig(), name) for name in knobs()} | fields))
        broken |= {at for at, rule in enumerate(RULES) if rule.is_broken(probe)}
    assert broken == set(range(len(RULES)))


def test_what_only_transformers_cannot_do_an_mlp_may():
    assert RunConfig(depth=128, width=12, heads=5, position="rotary")
    assert RunConfig(norm="batch norm", batch=1, task="copy")  # 32 tokens are enough for a variance


# --- arrangements ---

SHEET = [
    *("plain", "plain + norm", "residual only", "post-norm", "pre-norm", "pre-norm + GPT-2 init", "sandwich"),
    *("res-post-norm", "res-post-norm + QK-norm", "DeepNorm", "ReZero", "LayerScale", "LayerNorm scaling", "ResiDual"),
    *(
        "DLCL",
        "hyper-connections",
        "dynamic hyper-connections",
        "mHC",
        "attention residuals",
        "scaled skip",
        "recursive skip",
        "Keel",
        "Mix-LN",
    ),
]


def test_the_arrangements_are_those_of_the_sheet_each_with_its_source_and_reading():
    assert list(ARRANGEMENTS) == SHEET
    for name, arrangement in ARRANGEMENTS.items():
        assert arrangement.source, name
        assert arrangement.description.endswith("."), name
        assert set(arrangement.fields) <= set(PLAIN_FIELDS), name


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_an_arrangement_is_recognised_whatever_else_is_set(name, net):
    for fields in ({}, {"depth": 7}, {"lr": 0.3, "task": "copy", "width": 16, "seed": 4}):
        assert arrangement_of(RunConfig.arranged(name, net=net, **fields)) == name


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_another_norm_leaves_an_arrangement_what_it_is(name):
    cfg = RunConfig.arranged(name)
    if cfg.norm != "none":
        assert (
            arrangement_of(
                replace(cfg, norm="rms norm" if cfg.norm == "layer norm" else "layer norm", qk_norm=cfg.qk_norm)
            )
            == name
        )


def test_no_two_arrangements_are_the_same_net():
    for net in NETS:
        plans = {name: RunConfig.arranged(name, net=net, lr=0.01) for name in ARRANGEMENTS}
        assert len(set(plans.values())) == len(plans)


def test_what_no_paper_has_set_is_nobodys_arrangement():
    for fields in (
        {"residual": False, "branch_scale": 2.0},
        {"skip_scale": 0.3},
        {"overrides": ((2, "norm", "none"),)},
    ):
        assert arrangement_of(RunConfig(**fields)) is None


def test_without_a_norm_the_placement_is_idle():
    assert arrangement_of(RunConfig(norm="none", placement="sandwich")) == "residual only"
    assert arrangement_of(RunConfig(norm="none", placement="post-norm", residual=False)) == "plain"


def test_an_arrangement_brings_its_nets_training_settings_and_overrides_win():
    assert (RunConfig.arranged("pre-norm").optimizer, RunConfig.arranged("pre-norm").lr) == ("momentum", 0.01)
    transformer = RunConfig.arranged("pre-norm", net="transformer", lr=0.5)
    assert (transformer.optimizer, transformer.lr, transformer.expansion) == ("adam", 0.5, 4)
    with pytest.raises(ValueError, match="arrangement is 'nonsense'; legal is one of plain, "):
        RunConfig.arranged("nonsense")


# --- the plan ---


def test_a_rule_follows_the_depth_and_never_leaves_a_stale_number():
    for depth in (4, 64):
        cfg = RunConfig.arranged("DeepNorm", depth=depth)
        assert plan(cfg).sublayers[0].skip == pytest.approx(depth**0.25)
        assert plan(replace(cfg, net="transformer", depth=depth // 2)).sublayers[0].skip == pytest.approx(depth**0.25)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_norm_none_empties_every_slot_and_the_final_norm(placement):
    arranged = plan(RunConfig(norm="none", placement=placement))
    assert arranged.final_norm == "none"
    for part in arranged.sublayers:
        assert {part.norm_in, part.norm_mid, part.norm_out, part.norm_add} == {"none"}


def test_placements_fill_the_slots_that_their_papers_name():
    papers = {
        "none": "",
        "post-norm": "a",
        "pre-norm": "i",
        "sandwich": "io",
        "res-post-norm": "o",
        "pre+post": "ia",
        "mid-norm": "m",
    }
    for name, letters in papers.items():
        p = PLACEMENTS[name]
        filled = zip("imoa", (p.norm_in, p.norm_mid, p.norm_out, p.norm_add), strict=True)
        assert "".join(letter for letter, slot in filled if slot) == letters
        assert p.final_norm == (name in ("pre-norm", "sandwich", "res-post-norm"))


def test_residual_off_makes_the_skip_zero_whatever_its_weight():
    assert {part.skip for part in plan(RunConfig(residual=False, skip_scale="deepnorm")).sublayers} == {0.0}


def test_sites_are_named_by_block_and_kind():
    assert plan(RunConfig(depth=2)).sites == ("x0", "b01", "b02")
    assert plan(RunConfig(depth=100)).sites[-1] == "b100"
    assert plan(RunConfig(net="transformer", depth=1)).sites == ("x0", "b01.attn", "b01.ffn")


# --- the equation ---


class Term(str):
    """A formula that a sum makes longer."""

    def __add__(self, other):
        return Term(f"{self} + {other}")


def equation_of(placement: str, norm: str) -> str:
    """A placement's equation in `tests/hand.py` with symbols instead of numbers; what stands inside F is not shown."""

    def slot(inner):
        return Term(f"{norm}({inner})")

    slots = SimpleNamespace(first=slot, mid=slot, out=slot, add=slot)
    return hand.PLACEMENTS[placement](Term("x"), lambda z, middle=None: Term(f"F({z})"), slots, Term, Term)


def shown(**fields) -> str:
    cfg = RunConfig(**fields)
    return sublayer_equation(cfg, plan(cfg).sublayers[-1])


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_equation_has_the_norms_where_the_placement_puts_them(placement):
    assert shown(placement=placement, norm="none") == "x + F(x)"
    for norm in set(NORMS) - {"none"}:
        expected = equation_of(placement, NORMS[norm].symbol)
        assert shown(placement=placement, norm=norm) == expected
        assert shown(placement=placement, norm=norm, residual=False) == expected.replace("x + ", "")


def test_the_equation_says_where_numbers_are_dropped_and_what_that_means():
    assert shown(branch_dropout=0.25) == r"x + \operatorname{D}_{0.25}(F(\operatorname{LN}(x)))"
    assert shown(stream_dropout=0.1, placement="post-norm") == r"\operatorname{D}_{0.1}(\operatorname{LN}(x + F(x)))"
    dropping = equation(RunConfig.arranged("ResiDual", branch_dropout=0.5))
    assert r"y \leftarrow y + \operatorname{D}_{0.5}(F(x))" in dropping
    assert r"\operatorname{D}_p(z) = m \odot z/(1-p)" in dropping
    assert "operatorname{D}" not in equation(RunConfig())


def test_a_blocks_equation_has_its_own_activation():
    cfg = RunConfig(depth=3, overrides=((2, "activation", "tanh"),))
    assert r"\operatorname{tanh}(W_1 z)" in equation(cfg, 2)
    assert r"\operatorname{relu}(W_1 z)" in equation(cfg, 3)


def test_every_norm_has_its_symbol():
    for part in ("symbol", "short", "code"):
        said = [getattr(entry, part) for norm, entry in NORMS.items() if norm != "none"]
        assert all(said)
        assert len(set(said)) == len(said)


def test_the_equation_shows_weights_gates_and_what_the_branch_reads():
    assert shown(placement="post-norm", skip_scale="deepnorm") == r"\operatorname{LN}(M^{1/4}\,x + F(x))"
    assert shown(placement="none", skip_scale=2, branch_scale=0.5) == r"2\,x + 0.5\,F(x)"
    assert shown(placement="none", branch_scale="zero gate") == r"x + \alpha_l\,F(x)"
    assert shown(placement="sandwich", branch_scale="layer scale").startswith(
        r"x + \operatorname{diag}(\lambda_l)\,\operatorname{LN}(F("
    )
    assert shown(input_scale="1/sqrt(block)") == r"x + F(\operatorname{LN}(x)/\sqrt{l})"
    assert shown(input_scale="1/sqrt(block)", norm="none") == r"x + F(x/\sqrt{l})"


def test_a_recursive_skip_is_added_and_normed_twice_with_and_without_a_residual():
    """The net norms twice either way, so the equation does too."""
    assert shown(placement="post-norm", skip_repeats=2) == r"\operatorname{LN}(x + \operatorname{LN}(x + F(x)))"
    assert shown(placement="post-norm", skip_repeats=2, residual=False) == r"\operatorname{LN}(\operatorname{LN}(F(x)))"


def test_an_identity_block_is_shown_as_one():
    assert shown(depth=2, overrides=((2, "identity", True),)) == "x"


@pytest.mark.parametrize(("gone", "left"), [("ffn", "attn"), ("attn", "ffn")])
def test_a_transformer_block_without_one_of_its_sublayers_shows_the_other(gone: str, left: str) -> None:
    cfg = RunConfig(net="transformer", depth=2, overrides=((2, "identity", gone),))
    assert [one.identity for one in plan(cfg).sublayers] == [False, False, gone == "attn", gone == "ffn"]
    assert rf"F_\text{{{left}}}" in equation(cfg)
    assert rf"F_\text{{{gone}}}" not in equation(cfg)
    assert r"x + F(\operatorname{LN}(x))" in equation(cfg)
    assert rf"F_\text{{{gone}}}" in equation(cfg, 1)


def test_below_the_equation_stand_the_branch_the_stack_and_the_final_norm():
    assert r"F(z) = W_2\,\operatorname{relu}(W_1 z)" in equation(RunConfig())
    assert r"F(z) = \operatorname{tanh}(W z)" in equation(RunConfig(layers_per_branch=1, activation="tanh"))
    assert r"\operatorname{relu}(\operatorname{LN}(W_1 z))" in equation(RunConfig(placement="mid-norm"))
    assert r"\text{logits} = W\,\operatorname{LN}(x_M)" in equation(RunConfig(placement="pre-norm"))
    assert "logits" not in equation(RunConfig(placement="post-norm"))
    transformer = equation(RunConfig(net="transformer", qk_norm=True))
    assert r"\operatorname{softmax}(\operatorname{RMS}(q)\,\operatorname{RMS}(k)^\top/\sqrt{d_k}+m_{ij})" in transformer


def test_an_attention_that_hides_later_tokens_shows_its_mask_and_one_that_does_not_has_none():
    for position in ("learned", "rotary", "relative bias", "alibi"):
        hidden, open_ = (
            equation(RunConfig(net="transformer", position=position, mask=mask)) for mask in ("causal", "none")
        )
        assert r"+m_{ij})\,v" in hidden
        assert r"m_{ij} = -\infty\ \text{for}\ j > i" in hidden
        assert "m_{ij}" not in open_


def test_the_head_of_dlcl_reads_the_weighted_sum_that_its_equation_shows():
    """By torch alone: W LN(sum of W[L + 1, k] LN(y_k)), y_k what block k has put out."""
    cfg = RunConfig.arranged("DLCL", depth=4, width=16, seed=3)
    net, source = build_model(cfg), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in net.stream.weights:  # away from the average, with which a wrong row would not show
            weights.copy_(torch.rand(len(weights), generator=source))
    outputs = []
    net.stream.start_tap.register_forward_hook(lambda *seen: outputs.append(seen[2]))
    for block in net.stream.blocks.values():
        block["mlp"].register_forward_hook(lambda *seen: outputs.append(seen[2]))
    logits = net(torch.randn(8, 1, 64, generator=source))

    def normed(x):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + cfg.eps).sqrt()

    read = sum(weight * normed(y) for weight, y in zip(net.stream.weights[-1], outputs, strict=True))
    torch.testing.assert_close(normed(read) @ net.head.weight.T + net.head.bias, logits)
    assert (normed(outputs[-1]) @ net.head.weight.T + net.head.bias - logits).abs().max() > 0.1
    text = equation(cfg)
    assert r"x_{l+1} = \textstyle\sum_{k=0}^{l} W_{l+1,k}\,\operatorname{LN}(y_k)" in text
    assert r"y_0\text{: embedding},\quad y_k\text{: output of block }k" in text
    assert r"\text{logits} = W\,\operatorname{LN}(x_{L+1})" in text


def test_equation_of_depth_attention_says_what_is_summed():
    assert r"\operatorname{RMS}(v_i))\,v_i" in equation(RunConfig.arranged("attention residuals"))
    text = equation(RunConfig.arranged("attention residuals", depth_block=4))
    assert r"\sum_{i=0}^{n} \operatorname{softmax}_i(w_l^\top\operatorname{RMS}(b_i))\,b_i" in text
    assert r"b_n = \textstyle\sum_k v_k,\quad 4(n-1) < k \le \min(4n,\,l)" in text
    assert r"v_l = F(\operatorname{LN}(x)),\qquad b_0 = x_0" in text


def test_residuals_second_stream_collects_the_same_branch_from_the_input_on_and_joins_at_the_head():
    text = equation(RunConfig.arranged("ResiDual"))
    assert r"x \leftarrow \operatorname{LN}(x + F(x))" in text
    assert r"y \leftarrow y + F(x),\qquad y_0 = x_0" in text
    assert r"\text{logits} = W\,(x_M + \operatorname{LN}(y_M))" in text
    assert r"(x_M + \operatorname{RMS}(y_M))" in equation(RunConfig.arranged("ResiDual", norm="rms norm"))
    assert r"\text{logits} = W\,(x_M + y_M)" in equation(RunConfig.arranged("ResiDual", norm="none"))
    halved = equation(RunConfig.arranged("ResiDual", branch_scale=0.5, placement="sandwich"))
    assert r"y \leftarrow y + 0.5\,\operatorname{LN}(F(\operatorname{LN}(x)))" in halved
    assert r"\text{logits} = W\,\operatorname{LN}(x_M + \operatorname{LN}(y_M))" in halved


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_every_arrangements_equation_has_balanced_brackets(name, net):
    text = equation(RunConfig.arranged(name, net=net))
    assert text.startswith((r"\begin{aligned}&x \leftarrow ", r"\begin{aligned}&H \leftarrow "))
    for opening, closing in ("()", "{}"):
        assert text.count(opening) == text.count(closing)
