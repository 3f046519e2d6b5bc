"""A token in place of another: what moves, and what is refused."""

import numpy as np
import pytest
import torch

from models.instruments.generation import replacement
from models.instruments.lens import token_ids
from models.spec import RunConfig
from tests.instruments.nets import TINY
from tests.instruments.test_generation import SIXTEEN, TEXT, snapshot


def test_another_token_moves_logits_from_its_place_on_and_without_the_mask_everywhere():
    one = snapshot()
    found = replacement(one, text=TEXT, at=3, token="k")
    assert "".join(found.tokens) == "Calk me"
    assert (found.causal.difference[:3] == 0).all()
    assert found.causal.difference[3:].min() > 1e-6
    assert found.unmasked.difference.min() > 1e-9
    model = one.model.double().eval()
    with torch.no_grad():
        before, after = (model(torch.tensor([token_ids(one.cfg, text)]))[0] for text in (TEXT, "Calk me"))
    np.testing.assert_allclose(found.causal.difference, (after - before).abs().amax(-1), atol=1e-12)
    copy = snapshot(RunConfig.arranged("pre-norm", **TINY | {"task": "copy"}))
    assert replacement(copy, text=SIXTEEN, at=0, token="15").tokens[0] == "15"


@pytest.mark.parametrize("bad", [{"at": 7}, {"at": -1}, {"token": ""}, {"token": "ab"}, {"token": "é"}])
def test_what_cannot_be_put_in_place_of_a_token_is_refused(bad):
    with pytest.raises(ValueError, match=r"at is|token is|character"):
        replacement(snapshot(), **{"text": TEXT, "at": 0, "token": "k"} | bad)
