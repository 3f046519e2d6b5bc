"""Tests the claim: He's initialisation preserves the variance."""

import numpy as np

from exhibits.claims.he_keeps.judge import PRESERVED_FACTOR
from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, PARTLY
from tests.claims.kit import Rows, gathered, nets, outcome, put, rows_agree, signals, untrained, upheld_by


def he_keeps() -> Rows:
    rows = [untrained(cfg)[0] for cfg in nets("he-keeps").values()]
    ratios = [one[:, -1] / one[:, 0] for one in rows]
    return {name: [of(one) for one in ratios] for name, of in (("least", min), ("mean", np.mean), ("most", max))}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("he-keeps", he_keeps(), rel=2e-2)


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("he-keeps", signals(mean_square=1.0))


def test_the_text_tells_the_spread_that_is_measured() -> None:
    rows = np.asarray(gathered("he-keeps")["width 512"].mean_square)
    gains = rows[:, -1] / rows[:, 0]
    assert f"from {gains.min():.2g} to {gains.max():.2g}" in CLAIMS["he-keeps"].why
    assert f"factor of {PRESERVED_FACTOR:g}" in CLAIMS["he-keeps"].why
    assert gains.max() > PRESERVED_FACTOR
    wide = put("width 512", mean_square=np.cumsum(np.ones_like(rows), 1))
    assert (outcome("he-keeps").answer, outcome("he-keeps", wide).answer) == (PARTLY, FAILS)
