"""What feed-forward nets add: the weights of the three nets against torch, the sentence's cases, the part of the lab."""

import math

import pytest

from exhibits.labs.attention.feed_forward.measure import sublayer_lesions
from exhibits.labs.attention.feed_forward.numbers import feed_forward_sentence
from exhibits.labs.attention.feed_forward.page import (
    REMOVED_PARTS,
    WHOLE_NET,
    configuration,
    weights_in_blocks,
)
from models.instruments.surgery import evaluate_held_out
from models.nets import build_model
from models.spec import RunConfig
from models.training import Replays, Run, result_of
from tests.app_page import charts, sound, words
from tests.instruments.nets import NETS, built_without, scored
from tests.labs_page import lab, until
from tests.player_page import rests, runs

TINY = {"depth": 3, "width": 16, "batch": 8, "steps": 10, "device": "cpu"}


@pytest.mark.parametrize("arrangement", ["pre-norm", "post-norm", "ResiDual", "DLCL"])
@pytest.mark.parametrize("kind", ["attn", "ffn"])
def test_a_sublayer_that_is_skipped_is_the_net_built_without_it(arrangement, kind):
    cfg = RunConfig.arranged(arrangement, **TINY, **NETS["transformer"])
    snapshot = result_of(Replays().snapshot(cfg, 4))
    before = str(snapshot.model)
    found = result_of(sublayer_lesions(snapshot))
    assert str(snapshot.model) == before
    one, all_of_them = (scored(built_without(cfg, blocks, snapshot.model, kind), cfg) for blocks in ([2], [1, 2, 3]))
    assert (found.without[kind].loss[1], found.without[kind].accuracy[1]) == pytest.approx(one, rel=1e-5)
    assert (found.without[kind].all_loss, found.without[kind].all_accuracy) == pytest.approx(all_of_them, rel=1e-5)
    assert (found.loss, found.accuracy) == pytest.approx(scored(snapshot.model, cfg), rel=1e-5)


def test_an_mlp_has_no_sublayers_of_two_kinds():
    with pytest.raises(ValueError, match="only a transformer"):
        result_of(sublayer_lesions(result_of(Replays().snapshot(RunConfig(**TINY), 4))))


@pytest.mark.parametrize("without", REMOVED_PARTS.values())
def test_the_weights_said_are_those_of_the_net(without):
    cfg = configuration("sort", without, 2, 20)
    blocks = build_model(cfg).stream.blocks
    assert weights_in_blocks(cfg) == sum(p.numel() for name, p in blocks.named_parameters() if p.ndim > 1)


def test_what_all_three_share_is_drawn_alike():
    whole, *others = (
        build_model(configuration("sort", without, 2, 20)).state_dict() for without in REMOVED_PARTS.values()
    )
    for other in others:
        assert other.keys() < whole.keys()
        assert all((whole[name] == value).all() for name, value in other.items())


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        (
            (0.5, 0.51, 2.0),
            "does hardly worse than the whole one: a held-out loss of 0.51 beside 0.5, and 2 without attention",
        ),
        ((0.5, 1.0, 2.0), "does worse than"),
        ((0.5, 0.4, 2.0), "does no worse than"),
        ((2.7, 2.7, 2.7), "has not learned yet"),
        ((0.5, math.nan, 2.0), "nothing can be compared"),
    ],
)
def test_the_sentence_says_what_was_measured(losses, said):
    sentence = feed_forward_sentence(
        dict(zip(("", "ffn", "attn"), losses, strict=True)), {"ffn": 3.5, "attn": 3.0}, "copy", 7
    )
    assert sentence.startswith("At step 7 ")
    assert said in sentence
    if "beside" in said:
        assert "its feed-forward nets change the loss by +3, its attention by +2.5." in sentence


def test_three_nets_are_trained_and_the_whole_one_is_cut(trainer_in_this_process):
    page = lab("attention")
    page.segmented_control(key="attention_part").set_value("Without feed-forward")
    sound(page.run())
    page.slider(key="attention_feed_forward_depth").set_value(1)
    page.number_input(key="attention_feed_forward_steps_sort").set_value(20)
    sound(page.run())
    assert [cfg.overrides for cfg in runs(page)] == [(), ((1, "identity", "ffn"),), ((1, "identity", "attn"),)]
    rests(page)
    until(
        page,
        lambda: "With and without" in str([table.proto for table in page.dataframe]) and "At step 20" in words(page),
    )
    assert "Held-out loss by cut sublayer" in charts(page)
    listed = page.dataframe[0].value
    for at, without in enumerate(REMOVED_PARTS.values()):
        run = Run(configuration("sort", without, 1, 20), frames=False)
        run.advance(20)
        assert float(listed["held-out loss"][at]) == pytest.approx(evaluate_held_out(run.model, run.task)[0], rel=1e-3)
    assert listed["net"][0] == f"trained: {WHOLE_NET}"
