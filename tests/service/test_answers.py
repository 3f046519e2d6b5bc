"""Every question has its function, and what that answers is the same on the other side of the pipe, class and numbers."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from models import answers, experiment
from models.instruments import INSTRUMENTS
from models.service import wire
from models.service.messages import packed, unpacked
from models.service.questions import QUESTIONS
from models.spec import RunConfig
from models.training import Replays, result_of
from tests.instruments.examples import EXAMPLES

# Row 0 goes into the log of its run.
ASKED = {name: question for name, question in experiment.QUESTIONS.items() if question is not answers.OPENED}
NETS = {
    "MLP": RunConfig(depth=2, width=16, batch=8, steps=20, device="cpu"),
    "transformer": RunConfig.arranged(
        "pre-norm", net="transformer", task="book", depth=1, width=16, heads=2, batch=4, steps=20, device="cpu"
    ),
}
# These train nets of their own.
OWN = {
    "translation": replace(NETS["transformer"], task="copy"),
    "few samples": NETS["MLP"],
    "covariate shift": NETS["MLP"],
}


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every number, text and array of an answer with the way to it."""
    if is_dataclass(value):
        value = {part.name: getattr(value, part.name) for part in fields(value)} | {"of": type(value).__name__}
    if isinstance(value, list | tuple):
        value = {str(at): part for at, part in enumerate(value)} | {"of": type(value).__name__}
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{place}.{name}")
    else:
        yield place, value


def test_every_question_is_answered_and_every_answer_has_a_question():
    assert set(ASKED) == set(QUESTIONS) | set(INSTRUMENTS)
    assert set(ASKED) == set(EXAMPLES)


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_crosses_the_pipe_as_what_it_is(name):
    kind = ASKED[name].answer
    assert is_dataclass(kind)
    fits, args = EXAMPLES[name]
    if name in QUESTIONS:
        answer = QUESTIONS[name](NETS["MLP"], args)
        assert repr(QUESTIONS[name](NETS["MLP"], args)) == repr(answer), "it is the same every time"
    else:
        cfg = NETS[fits[0]] if fits else OWN[name]
        args = args or ({"norms": ["none"], "samples": 20, "seeds": 1} if name == "few samples" else {})
        answer = result_of(INSTRUMENTS[name](Replays(), cfg, step=1, **args))
    pipe = BytesIO()
    wire.send(pipe, {"value": packed(answer)})
    pipe.seek(0)
    received = wire.receive(pipe)
    assert received is not None
    other = unpacked(kind, received["value"])
    assert type(answer) is type(other) is kind
    one, two = dict(leaves(answer)), dict(leaves(other))
    assert one.keys() == two.keys()
    for place, value in one.items():
        np.testing.assert_array_equal(value, two[place], err_msg=place)
        assert getattr(value, "dtype", None) == getattr(two[place], "dtype", None) or isinstance(value, np.generic), (
            place
        )
