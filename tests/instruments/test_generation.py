"""A net that goes on with its text, against a loop by hand over the net itself; what a mask keeps, against the module."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from models.instruments.generation import continuation, refinement, revision
from models.instruments.lens import lens, token_ids
from models.spec import ARRANGEMENTS, RunConfig
from models.tasks import alphabet
from models.training import Run, result_of, snapshot_of
from tests.instruments.nets import TINY, looked

BOOK = RunConfig.arranged("pre-norm", **TINY)
TEXT = "Call me"
SIXTEEN = "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3"


def snapshot(cfg: RunConfig = BOOK, steps: int = 3):
    run = Run(cfg, probe=False, frames=False)
    run.advance(steps)
    return snapshot_of(run)


def goes_on(one, **args):
    return result_of(continuation(one, **args))


def spoken(one, text):
    """What the net's own forward pass says after a text of at most 32 tokens, (C,)."""
    with torch.no_grad():
        return one.model.eval()(torch.tensor([token_ids(one.cfg, text)]))[0, -1].softmax(-1).numpy()


def test_every_token_is_the_likeliest_after_all_that_was_said_before():
    one = snapshot()
    found = goes_on(one, text=TEXT, count=40)
    text = TEXT
    for said, p in zip(found.written, found.probabilities, strict=True):
        own = spoken(one, text[-32:])
        np.testing.assert_allclose(p, own, atol=1e-6)
        assert said == alphabet()[own.argmax()]
        text += said
    assert (len(found.written), found.stopped, found.context) == (40, "length", tuple(TEXT))


def test_generating_one_by_one_equals_all_at_once():
    one, text, settings = snapshot(), TEXT, {"temperature": 1.0, "seed": 5}
    for _ in range(30):
        text += goes_on(one, text=text, **settings).written[0]
    assert text == TEXT + "".join(goes_on(one, text=TEXT, count=30, **settings).written)
    assert text != TEXT + "".join(goes_on(one, text=TEXT, count=30, temperature=1.0, seed=6).written)


def test_a_seed_draws_classes_as_often_as_they_are_likely():
    one = snapshot()
    p = spoken(one, TEXT)
    drawn = [goes_on(one, text=TEXT, temperature=1.0, seed=seed).written[0] for seed in range(600)]
    share = np.array([drawn.count(name) for name in alphabet()]) / 600
    assert np.abs(share - p).max() < 4 * np.sqrt(0.25 / 600)


def test_the_end_symbol_ends_it_and_is_the_last_thing_said():
    one = snapshot()
    free = goes_on(one, text=TEXT, count=60, temperature=1.0).written
    end = free[20]
    found = goes_on(one, text=TEXT, count=60, temperature=1.0, end=end)
    assert found.stopped == "end"
    assert found.written == free[: free.index(end) + 1]


def test_unknown_characters_are_left_out_and_a_long_prompt_is_read_from_its_end():
    one, long = snapshot(), "There now is your insular city of the Manhattoes"
    found = goes_on(one, text="é" + long + "ß")
    assert found.unknown == ("é", "ß")
    assert found.cut == len(long) - 32
    assert "".join(found.context) == long[-32:]
    np.testing.assert_allclose(found.probabilities[0], spoken(one, long[-32:]), atol=1e-6)


def test_a_sequence_is_answered_to_its_end_and_not_before_its_question_is_whole():
    one = snapshot(RunConfig.arranged("pre-norm", **TINY | {"task": "copy"}))
    found = goes_on(one, text=SIXTEEN, count=40)
    assert (len(found.written), found.stopped) == (16, "full")
    assert goes_on(one, text="3 1 4").stopped == "unasked"
    found = goes_on(one, text=f"{SIXTEEN} {SIXTEEN} 7 8 99")
    assert (found.stopped, found.cut, found.unknown, len(found.context)) == ("full", 2, ("99",), 32)


def test_what_recall_says_is_written_as_the_symbol_that_it_is():
    one = snapshot(RunConfig.arranged("pre-norm", **TINY | {"task": "recall"}))
    found = goes_on(one, text="3 17 1 20 4 30 5 25 9 16 2 22 6 28 8 19 5", count=3)
    assert (len(found.written), found.stopped) == (1, "unasked")
    assert int(found.written[0]) == 16 + found.probabilities[0].argmax()


def test_a_net_that_is_not_finite_says_nothing():
    one = snapshot()
    with torch.no_grad():
        one.model.head.bias[0] = torch.nan
    found = goes_on(one, text=TEXT, count=3)
    assert (found.written, found.stopped, found.probabilities.shape) == ((), "not finite", (0, 75))


@pytest.mark.parametrize("bad", [{"text": ""}, {"text": "éß"}, {"text": "a", "count": 0}, {"text": "a", "count": 201}])
def test_what_cannot_be_gone_on_with_is_refused(bad):
    with pytest.raises(ValueError, match=r"prompt|count"):
        goes_on(snapshot(), **bad)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_no_arrangement_revises_what_it_said_under_the_causal_mask_and_all_do_without(arrangement):
    found = revision(snapshot(RunConfig.arranged(arrangement, **TINY)), text=TEXT)
    assert found.causal.difference.shape == (len(TEXT) - 1,)
    assert found.causal.difference.max() < 1e-12
    assert found.unmasked.difference.min() > 1e-9


def test_the_differences_are_those_of_attention_by_hand(monkeypatch):
    one = snapshot()
    found = revision(one, text=TEXT)
    model, x = one.model.double().eval(), torch.tensor([token_ids(one.cfg, TEXT)])
    monkeypatch.setattr(F, "scaled_dot_product_attention", unmasked)
    with torch.no_grad():
        before, after = model(x[:, :-1])[0], model(x)[0, :-1]
    np.testing.assert_allclose(found.unmasked.difference, (after - before).abs().max(-1).values, rtol=1e-6)
    np.testing.assert_array_equal(found.unmasked.before, before.argmax(-1))
    np.testing.assert_array_equal(found.unmasked.after, after.argmax(-1))
    assert "".join(found.tokens) == TEXT


def unmasked(q, k, v, is_causal, scale=None):
    return (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ v


def test_the_refinement_is_the_lens_with_the_attention_of_every_block_by_hand():
    one = snapshot()
    found = refinement(one, text=TEXT)
    plain = lens(one, text=TEXT)
    for name in ("top", "probability", "kl", "probabilities"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
    net = one.model.double().eval()
    with torch.no_grad():
        x = net.position(net.embed(torch.tensor([token_ids(one.cfg, TEXT)])))
        for at, block in enumerate(net.stream.blocks.values()):
            np.testing.assert_allclose(
                found.attention[at], looked(block["attn"].norm_in(x), block["attn"].function), atol=1e-5
            )
            for sublayer in block.values():
                x = sublayer(x)
