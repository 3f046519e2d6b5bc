"""z-scores beside the shares of a Gaussian and of the table."""

import numpy as np
import pytest
import torch

from exhibits.labs.normalization.z_scores.numbers import z_score_and_shares_below
from tests.app_page import sound, words
from tests.labs_page import chosen, lab

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.fixture
def page():
    return lab("normalization")


def test_what_a_z_score_says_is_a_reading_of_its_own(page):
    chosen(page, "four numbers")
    page.session_state["normalization_part"] = "What scale costs"
    sound(page.run())
    (shown,) = [one.value for one in page.dataframe if "of a Gaussian below" in one.value.columns]
    assert list(shown["value"]) == ["10", "12", "14", "16"]
    below = torch.distributions.Normal(0, 1).cdf(torch.tensor([-3, -1, 1, 3]) / 5**0.5)
    assert list(shown["of a Gaussian below"]) == [f"{share:.1%}" for share in below.tolist()]
    assert shown["of a Gaussian below"].iloc[-1] == "91.0%"
    assert "above 50% of a Gaussian; a z of 1 is above 84%, a z of 2 above 98%" in words(page)


def test_a_z_score_stands_beside_the_shares_of_a_gaussian_and_of_the_table():
    x = np.array([1.0, 2.0, 2.0, 3.0, 40.0])
    for at in range(5):
        z, gaussian, table = z_score_and_shares_below(x, at)
        assert z == pytest.approx((x[at] - x.mean()) / x.std())
        assert gaussian == pytest.approx(
            torch.distributions.Normal(0, 1).cdf(torch.tensor(z).double()).item(), abs=1e-6
        )
        assert table == sum(one < x[at] for one in x) / 5
