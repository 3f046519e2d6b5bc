"""How a token becomes a row: the instrument against a net's own parameters, and what the autoregression lab says of it."""

import numpy as np
import pytest
import torch

from exhibits.labs.autoregression.lookup.measure import lookup
from exhibits.labs.autoregression.lookup.page import lookup_text
from models.spec import RunConfig
from models.tasks import alphabet
from models.training import Run, snapshot_of
from tests.app_page import sound, words
from tests.labs_page import lab

TEXT = "Call me Ish"


def net(**fields):
    cfg = RunConfig(
        **({"net": "transformer", "task": "book", "depth": 1, "width": 16, "heads": 2, "steps": 5} | fields)
    )
    run = Run(cfg, frames=False)
    run.advance(3)
    return snapshot_of(run)


def what_enters(still, ids):
    """What the first sublayer is given, caught on its way."""
    caught = []
    hook = still.model.stream.register_forward_pre_hook(lambda _module, given: caught.append(given[0]))
    still.model(torch.tensor([ids]))
    hook.remove()
    return caught[0][0].detach().numpy()


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "alibi"])
def test_a_token_enters_as_its_row_and_its_position(position):
    still = net(position=position)
    found = lookup(still, text=TEXT)
    ids = [alphabet().index(character) for character in TEXT]
    assert found.ids.tolist() == ids
    assert [found.names[at] for at in ids] == list(found.tokens) == list(TEXT)
    np.testing.assert_array_equal(found.table, still.model.embed.weight.detach())
    np.testing.assert_allclose(found.enters, what_enters(still, ids), atol=1e-6)
    rows = np.eye(len(found.table))[ids] @ found.table
    if position in ("sinusoidal", "learned"):
        np.testing.assert_allclose(found.enters, 0.5**0.5 * rows + found.position, atol=1e-6)
        assert "The stream starts as √½ times it" in lookup_text(found, 2)
    else:
        assert not len(found.position)
        np.testing.assert_allclose(found.enters, rows, atol=1e-6)
        assert "It enters the stream unchanged" in lookup_text(found, 2)
    assert found.apart == 0


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="not in the book's alphabet"):
        lookup(net(), text="é")
    with pytest.raises(ValueError, match="has none"):
        lookup(net(task="digits"), text="1")


def test_the_lab_looks_up_a_token_of_the_prompt(trainer_in_this_process):
    page = lab("autoregression")
    page.slider(key="autoregression_depth_book").set_value(1)
    page.toggle(key="autoregression_rows").set_value(True)
    sound(page.run())
    last = alphabet().index("h")
    assert f"is number {last} of 75" in words(page)
    page.selectbox(key="autoregression_row").select_index(0)
    sound(page.run())
    assert f"is number {alphabet().index('C')} of 75" in words(page)
