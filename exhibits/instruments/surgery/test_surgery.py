"""Surgery, against nets that are built without the part,
equations worked out with numpy, and weights exchanged by hand.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from exhibits.instruments.surgery.measure import lesions, surgery
from exhibits.instruments.surgery.numbers import (
    OPERATIONS,
    SKIP,
    SWAP,
    UNNORM,
    ZERO,
    cut_sentence,
    lesion_sentence,
    norm_slots,
    swappable_blocks,
)
from exhibits.instruments.surgery.page import HELD_OUT, loss_chart
from models.nets import IdentitySublayer, build_model
from models.spec import TASKS, RunConfig
from models.spec.plan import block_name
from models.tasks import open_task
from models.training import Replays, result_of
from models.training.run import Run
from tests.app_page import charts, sound, words
from tests.arrangements import every_pair
from tests.drawn import drawn
from tests.instruments.nets import DIVERGES, NETS, PARTS, built_without, opened, scored

HEADINGS = {"exhibits.instruments.surgery.page: operation": {*OPERATIONS}}

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


TINY = {"depth": 3, "width": 16, "batch": 8, "steps": 10, "device": "cpu"}
STEP = 4


def still_at(cfg, step=STEP):
    return result_of(Replays().snapshot(cfg, step))


def cut(cfg, step=STEP, **args):
    return result_of(surgery(still_at(cfg, step), **args))


@every_pair
def test_a_skipped_block_is_the_net_that_is_built_without_it(arrangement, net):
    cfg = RunConfig.arranged(arrangement, **TINY, **NETS[net])
    trained = still_at(cfg).model
    found = cut(cfg, operation=SKIP, block=2)
    without = scored(built_without(cfg, [2], trained), cfg)
    assert (found.loss[1], found.accuracy[1]) == pytest.approx(without, rel=1e-5)
    assert (found.loss[0], found.accuracy[0]) == pytest.approx(scored(trained, cfg), rel=1e-5)


def test_the_loss_before_is_the_one_of_the_log():
    cfg = RunConfig(**TINY)
    run = Run(cfg)
    run.advance(cfg.steps)
    found = cut(cfg, cfg.steps, operation=SKIP, block=1)
    assert found.loss[0] == pytest.approx(run.frames[-1].held_out_loss, rel=1e-6)
    assert found.accuracy[0] == pytest.approx(run.frames[-1].held_out_accuracy, rel=1e-6)


@pytest.mark.parametrize("other", [{}, {"placement": "post-norm"}, {"skip_scale": 2.0}, {"residual": False}], ids=str)
def test_a_zeroed_branch_leaves_the_skip_and_the_norm_after_the_add(other):
    cfg = RunConfig(**TINY | {"activation": "tanh"} | other)
    model = still_at(cfg).model
    x_BTD = model.embed(open_task(cfg, "cpu").held_out[0])
    for at, block in enumerate(model.stream.blocks.values()):
        sublayer = block["mlp"]
        f_BTD = 0 if at == 1 else sublayer.function(sublayer.norm_in(x_BTD))
        x_BTD = sublayer.norm_add((cfg.skip_scale if cfg.residual else 0) * x_BTD + f_BTD)
        x_BTD = x_BTD.expand(359, 1, 16)
    logits = model.read_out(x_BTD)[:, 0]
    y = open_task(cfg, "cpu").held_out[1][:, 0]
    expected = -(logits.log_softmax(-1)[torch.arange(len(y)), y]).mean().item()
    assert cut(cfg, operation=ZERO, block=2).loss[1] == pytest.approx(expected, rel=1e-5)


def test_zeroing_differs_from_skipping_in_post_norm():
    same = result_of(lesions(still_at(RunConfig(**TINY))))
    np.testing.assert_allclose(same.skipped_loss, same.zeroed_loss, rtol=1e-6)
    scaled = result_of(lesions(still_at(RunConfig(**TINY, placement="post-norm", skip_scale=3.0, norm="none"))))
    assert (np.abs(scaled.skipped_loss - scaled.zeroed_loss) > 1e-4).all()


@pytest.mark.parametrize(
    ("cfg", "slots"),
    [
        (RunConfig(**TINY), {"N_in": "norm_in"}),
        (RunConfig(**TINY, placement="sandwich"), {"N_in": "norm_in", "N_out": "norm_out"}),
        (RunConfig(**TINY, placement="mid-norm"), {"N_mid": "function.norm_mid"}),
        (RunConfig(**TINY, norm="none"), {}),
        (RunConfig(**TINY, overrides=((2, "identity", True),)), {}),
        (RunConfig(**TINY, overrides=((2, "placement", "post-norm"),)), {"N_add": "norm_add"}),
        (
            RunConfig.arranged("recursive skip", **TINY),
            {"N_add": "norm_add", "N_add of the second add": "norm_again"},
        ),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value.to_query()),
)
def test_the_slots_of_a_block_are_those_that_hold_a_norm_in_the_equation(cfg, slots):
    assert norm_slots(cfg, 2) == {name: f"blocks.b02.mlp.{module}" for name, module in slots.items()}


@every_pair
def test_every_slot_is_a_norm_of_the_net_and_all_norms_of_a_block_are_slots(arrangement, net):
    cfg = RunConfig.arranged(arrangement, **TINY, **NETS[net])
    stack = build_model(cfg).stream
    inside = {
        f"blocks.b02.{name}" for name, part in stack.blocks["b02"].named_modules() if "Norm" in type(part).__name__
    }
    assert {place for place in norm_slots(cfg, 2).values() if place.startswith("blocks")} == inside
    for place in norm_slots(cfg, 2).values():
        assert "Norm" in type(stack.get_submodule(place)).__name__


def test_a_removed_norm_is_the_net_built_with_an_empty_slot():
    cfg = RunConfig(**TINY, placement="sandwich")
    found = cut(cfg, operation=UNNORM, block=2, slot="N_out")
    model = build_model(replace(cfg, overrides=((2, "placement", "pre-norm"),)))
    own = model.state_dict()
    model.load_state_dict({name: value for name, value in still_at(cfg).model.state_dict().items() if name in own})
    assert (found.loss[1], found.accuracy[1]) == pytest.approx(scored(model, cfg), rel=1e-5)


def test_removing_the_norm_of_a_dlcl_output_takes_it_from_every_later_sum():
    cfg = RunConfig.arranged("DLCL", **TINY)
    found = cut(cfg, operation=UNNORM, block=1, slot="N of its output, before the sums")
    model = still_at(cfg).model
    net, x = model.stream, model.embed(open_task(cfg, "cpu").held_out[0])
    y = [net.norms[0](x)]
    for at, block in enumerate(net.blocks.values()):
        out = block["mlp"](sum(w * one for w, one in zip(net.weights[at], y, strict=True)))
        y.append(out if at == 0 else net.norms[at + 1](out))
    logits = model.read_out(sum(w * one for w, one in zip(net.weights[3], y, strict=True)))[:, 0]
    target = open_task(cfg, "cpu").held_out[1][:, 0]
    expected = -(logits.log_softmax(-1)[torch.arange(len(target)), target]).mean().item()
    assert found.loss[1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("arrangement", ["pre-norm", "LayerNorm scaling", "DLCL", "LayerScale"])
def test_a_swap_is_the_net_with_the_weights_of_two_blocks_exchanged_and_nothing_else(arrangement):
    cfg = RunConfig.arranged(arrangement, **TINY)
    model = still_at(cfg).model
    state = model.state_dict()
    names = {"b01": "b03", "b03": "b01"}
    model.load_state_dict(
        {name: state[".".join(names.get(part, part) for part in name.split("."))].clone() for name in state}
    )
    found = cut(cfg, operation=SWAP, block=1, other=3)
    assert (found.loss[1], found.accuracy[1]) == pytest.approx(scored(model, cfg), rel=1e-5)
    assert found.loss[1] != found.loss[0]


def test_only_blocks_of_the_same_parts_are_swapped():
    cfg = RunConfig.arranged("Mix-LN", **TINY | {"depth": 8})
    assert swappable_blocks(cfg, 1) == [2]
    assert swappable_blocks(cfg, 5) == [3, 4, 6, 7, 8]
    with pytest.raises(ValueError, match="other is 5; legal for block 1 is one of 2"):
        cut(cfg, operation=SWAP, block=1, other=5)
    with pytest.raises(ValueError, match="no other block"):
        cut(RunConfig(**TINY | {"depth": 1}), operation=SWAP, block=1, other=1)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"operation": "burn", "block": 1}, "operation is 'burn'"),
        ({"operation": SKIP, "block": 0}, "block is 0"),
        ({"operation": SKIP, "block": 4}, "1 to 3"),
        ({"operation": UNNORM, "block": 1, "slot": "N_out"}, "slot is 'N_out'; legal for block 1 is one of N_in"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_by_name(args, said):
    with pytest.raises(ValueError, match=said):
        cut(RunConfig(**TINY), **args)


@every_pair
@pytest.mark.full
def test_a_lesion_is_the_surgery_of_its_block_and_leaves_the_net_whole(arrangement, net):
    cfg = RunConfig.arranged(arrangement, **TINY, **NETS[net])
    snapshot = still_at(cfg)
    before, parts = {name: value.clone() for name, value in snapshot.model.state_dict().items()}, str(snapshot.model)
    found = result_of(lesions(snapshot))
    assert str(snapshot.model) == parts
    assert all(torch.equal(before[name], value) for name, value in snapshot.model.state_dict().items())
    for key, operation in (("skipped", SKIP), ("zeroed", ZERO)):
        alone = result_of(surgery(snapshot, operation=operation, block=3))
        assert getattr(found, f"{key}_loss")[2] == pytest.approx(alone.loss[1], rel=1e-9)
        assert getattr(found, f"{key}_accuracy")[2] == alone.accuracy[1]
        assert getattr(found, f"{key}_loss").shape == (3,)


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("other", PARTS, ids=str)
def test_other_parts_are_cut_too(net, other):
    cfg = RunConfig(**TINY | NETS[net] | other)
    found = result_of(lesions(still_at(cfg)))
    assert np.isfinite(found.skipped_loss).all()
    assert np.isfinite(found.zeroed_loss).all()
    if "overrides" in other:
        assert found.skipped_loss[0] == found.zeroed_loss[0] == found.loss
    for slot in norm_slots(cfg, 2):
        assert cut(cfg, operation=UNNORM, block=2, slot=slot).loss[1] > 0


def test_a_net_of_nothing_but_cut_blocks_reads_its_embedding():
    cfg = RunConfig(**TINY | {"depth": 1})
    model = still_at(cfg).model
    found = cut(cfg, operation=SKIP, block=1)
    model.stream.blocks["b01"]["mlp"] = IdentitySublayer()
    assert found.loss[1] == pytest.approx(scored(model, cfg)[0], rel=1e-6)


def test_a_run_that_diverged_has_no_lesions_to_compare():
    cfg = RunConfig(**TINY | DIVERGES)
    snapshot = still_at(cfg, 40)
    assert snapshot.step < 40
    found = result_of(lesions(snapshot))
    assert not np.isfinite(found.loss)
    names = [block_name(block) for block in range(1, 9)]
    assert "not finite" in lesion_sentence(names, found.loss, found.skipped_loss, 2.3)
    drawn(loss_chart(names, found, "digits"))


def test_the_sentences_judge_by_their_numbers():
    text = cut_sentence("b02 skipped", [0.5, 0.75], [0.9, 0.8], 0.125)
    assert text == (
        "b02 skipped: the held-out loss goes from 0.5 to 0.75, the accuracy from 90.0% to 80.0%; "
        "12% of the held-out answers change."
    )
    assert "a number that is not finite" in cut_sentence("b02 skipped", [0.5, math.nan], [0.9, 0.1], 1.0)
    assert "before the cut" in cut_sentence("b02 skipped", [math.nan, 0.5], [0.9, 0.1], 1.0)
    names = ["b01", "b02", "b03"]
    assert "no single block is missed" in lesion_sentence(names, 0.3, np.array([0.31, 0.32, 0.3]), 2.3)
    every = lesion_sentence(names, 0.3, np.array([2.3, 9.0, np.nan]), 2.3)
    assert "without any one of them over 90% of what it has learned is lost" in every
    some = lesion_sentence(names, 0.3, np.array([4.0, 0.3, 0.31]), 2.3)
    assert (
        "most for block 1 (+3.7), +0.01 for the median block: 2 of 3 are hardly missed, and without any one of 1 "
        "over 90% of what it has learned is lost" in some
    )
    assert "has not learned yet" in lesion_sentence(names, 2.3, np.array([2.3, 2.3, 2.2]), 2.3)


def test_the_panel_knows_how_large_the_held_out_splits_are():
    for name, task in TASKS.items():
        assert len(open_task(RunConfig(task=name), "cpu").held_out[0]) == HELD_OUT[task.kind]


def test_the_panel_operates_on_what_is_chosen():
    page = opened("Surgery")
    assert "Block 3 skipped: the held-out loss goes from" in words(page)
    assert "has nothing to lose" in words(page)
    assert {"Held-out loss by cut block", "Held-out accuracy by cut block"} <= charts(page).keys()
    boxes = {box.label: box for box in page.selectbox}
    assert boxes["Operation"].options == list(OPERATIONS)
    boxes["Operation"].set_value(SWAP)
    sound(page.run())
    assert "Block 3 and block 1 swapped: the held-out loss" in words(page)
    next(box for box in page.selectbox if box.label == "Operation").set_value(UNNORM)
    sound(page.run())
    assert "Block 3 without its N_in: the held-out loss" in words(page)
