"""Every arrangement with every net, for what is measured of all of them: the first tier takes each with one net, in turn."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest

from models.spec import ARRANGEMENTS, NETS

PAIRS = list(product(ARRANGEMENTS, NETS))


def in_turn(cases: Iterable[Any], kinds: int = 2, called: Callable[[Any], str] | None = None) -> list[Any]:
    """Cases that come in as many kinds for each arrangement, one after the other; all but one kind of each are marked full."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id="-".join(case) if called is None else called(case),
            marks=() if at % kinds == at // kinds % kinds else pytest.mark.full,
        )
        for at, case in enumerate(cases)
    ]


every_pair = pytest.mark.parametrize(("arrangement", "net"), in_turn(PAIRS))
