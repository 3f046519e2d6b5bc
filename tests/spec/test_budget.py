"""What a run may cost: the default fits, what does not is refused with numbers and a value that does."""

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn

from models.nets import build_model
from models.spec import RunConfig, knobs
from models.spec.arrangements import ARRANGEMENTS
from models.spec.budget import (
    MAX_STEP_SECONDS,
    PER_NORM,
    PER_NORMED_ELEMENT,
    PER_TERM,
    PER_TERM_ELEMENT,
    affordable_change,
    budget_refusal,
    memory_bytes,
    reference_step_cost,
    step_seconds,
)
from tests.strategies import configs

TOO_MUCH = RunConfig(depth=128, width=512, batch=128)
LABELS = {knob.label: name for name, (_, knob) in knobs().items()}


def advised(sentence: str) -> tuple[str, int]:
    """The field and the value that a refusal names at its end."""
    label, value = re.search(r": ([A-Z]\w+) (\d+)\.$", sentence).groups()
    return LABELS[label], int(value)


@pytest.mark.parametrize(("net", "task", "depth"), [("mlp", "digits", 64), ("transformer", "copy", 8)])
def test_every_arrangement_fits_at_a_depth_that_teaches_something(net, task, depth):
    for name in ARRANGEMENTS:
        assert budget_refusal(RunConfig.arranged(name, net=net, task=task, depth=depth, batch=16)) is None


def test_what_is_too_much_is_refused_with_the_numbers_and_the_nearest_value_that_fits():
    sentence = budget_refusal(TOO_MUCH)
    assert f"about {step_seconds(TOO_MUCH):.2g} s, and {MAX_STEP_SECONDS:g} s is the limit" in sentence
    field, value = advised(sentence)
    assert (field, value) == affordable_change(TOO_MUCH)
    assert "Nearest that fits" in sentence
    assert value < getattr(TOO_MUCH, field)
    assert budget_refusal(replace(TOO_MUCH, **{field: value})) is None
    stride = {"batch": 1, "width": 8, "depth": 1, "steps": 10}[field]
    assert budget_refusal(replace(TOO_MUCH, **{field: value + stride})) is not None


def edge(**fields) -> tuple[RunConfig, RunConfig]:
    """The widest net that still fits, and the next one: wherever the estimate puts the limit."""
    nets = [RunConfig(width=width, **fields) for width in range(8, 513, 8)]
    fitting = sum(budget_refusal(cfg) is None for cfg in nets)
    return nets[fitting - 1], nets[fitting]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"depth": 128, "steps": 300}, "one step would take about {step:.2g} s, and 0.2 s is the limit"),
        ({"depth": 128, "batch": 1}, "it would need about {memory:.2g} GB, and 1 GB is the limit"),
        ({"depth": 128, "steps": 5000}, "5000 steps would take about {run:.0f} min, and 15 min is the limit"),
    ],
    ids=["time of a step", "memory", "time of the run"],
)
def test_each_of_the_three_limits_is_named(fields, reason):
    _, over = edge(**fields)
    step, memory = step_seconds(over), memory_bytes(over) / 1e9
    assert reason.format(step=step, memory=memory, run=step * over.steps / 60) in budget_refusal(over)


def test_several_seeds_cost_more_than_one_and_less_than_one_after_the_other():
    fits, _ = edge(depth=128)
    assert "with 2 seeds" in budget_refusal(fits, seeds=2)
    half = next(
        cfg
        for cfg in (RunConfig(depth=128, width=width) for width in range(8, 513, 8))
        if 2 * step_seconds(cfg) > MAX_STEP_SECONDS
    )
    assert budget_refusal(half, seeds=2) is None


@settings(max_examples=80)
@given(configs())
def test_following_the_advice_ends_in_a_configuration_that_fits(cfg):
    """At once where the sentence says that it fits, else after a few more steps."""
    cfg = replace(cfg, overrides=())
    for _ in range(8):
        sentence = budget_refusal(cfg)
        if sentence is None:
            return
        field, value = advised(sentence)
        assert value < getattr(cfg, field)
        assume(not (cfg.norm == "batch norm" and value == 1))
        cfg = replace(cfg, **{field: value})
        assert ("Nearest that fits" in sentence) <= (budget_refusal(cfg) is None)
    raise AssertionError(sentence)


@given(
    configs(net="mlp", norm="layer norm"),
    st.sampled_from(["depth", "width", "batch", "expansion", "layers_per_branch", "steps"]),
)
def test_more_never_costs_less(cfg, field):
    cfg = replace(cfg, overrides=())
    more = replace(cfg, **{field: min(getattr(cfg, field) + 1, int(knobs()[field][1].high))})
    assert step_seconds(more) >= step_seconds(cfg)
    assert memory_bytes(more) >= memory_bytes(cfg)
    assert (budget_refusal(cfg) is not None) <= (budget_refusal(more) is not None)


def test_a_transformer_costs_more_than_an_mlp_of_the_same_shape_and_more_per_token():
    mlp, transformer = RunConfig(task="copy"), RunConfig(task="copy", net="transformer")
    assert step_seconds(transformer) > step_seconds(mlp)
    assert step_seconds(transformer) > step_seconds(replace(transformer, task="spiral"))


@pytest.mark.parametrize("depth", [16, 128])
def test_dlcls_sums_over_all_earlier_blocks_are_counted(depth):
    """Their terms grow with the square of the depth, as the weights of the net that is built do."""
    dlcl, single = (
        RunConfig(depth=depth, width=8, batch=4, stack=stack, placement="none") for stack in ("dlcl", "single")
    )
    terms = sum(weights.numel() for weights in build_model(dlcl).stream.weights)
    further = reference_step_cost(dlcl)[0] - reference_step_cost(single)[0] - PER_NORM * (depth + 1)
    assert further / PER_TERM == pytest.approx(terms, rel=0.2)
    numbers = reference_step_cost(dlcl)[1] - reference_step_cost(single)[1] - PER_NORMED_ELEMENT * (depth + 1) * 8 * 4
    assert numbers / (PER_TERM_ELEMENT * 8 * 4) == pytest.approx(terms, rel=0.2)


def test_every_norm_of_the_net_is_counted():
    for placement, norms in {"none": 0, "pre-norm": 1, "sandwich": 2, "pre+post": 2}.items():
        cfg = RunConfig(depth=4, placement=placement)
        built = sum(isinstance(one, nn.LayerNorm) for one in build_model(cfg).stream.modules())
        assert built == 4 * norms
        bare = replace(cfg, placement="none")
        assert reference_step_cost(cfg)[0] - reference_step_cost(bare)[0] == pytest.approx(PER_NORM * built)


def test_memory_counts_the_weights_by_hand():
    """Four numbers per weight in float32: itself, its gradient, two of Adam's."""
    one, two = (RunConfig(depth=depth, width=512, batch=1, steps=1) for depth in (1, 2))
    weights = 2 * 512 * 512
    assert memory_bytes(two) - memory_bytes(one) == pytest.approx(4 * 4 * weights, rel=0.01)
