"""The post-mortem on the page: why a run failed, and a comparison with what helps."""

import re

import numpy as np
import pytest

from exhibits.instruments.postmortem.page import good_and_bad
from tests.app_page import charts, press, trained, tried, words
from tests.instruments.nets import opened
from tests.player_page import panels

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


def test_a_post_mortem_names_a_cause_to_compare():
    page = opened("Post-mortem", depth="32", norm="none", placement="none")
    assert "neither diverged so far nor ended without learning" in words(page)
    tried(trained(page))
    assert re.search(r"Likeliest cause, by trial: with .+ alone the run goes on\.", words(page))
    assert {"Signal before and after", "Gradient before and after"} <= set(charts(page))
    (headline,) = panels(page, "headline").values()
    result = re.search(r"With .+ (the loss .+ steps)", headline["note"])[1]
    assert result not in words(page), "what the first trial measured stands behind the verdict's why alone"
    press(page, "branch scale")
    assert page.title[0].value == "Compare"
    assert page.query_params["b"].count("branch_scale=1%2Fsqrt%28depth%29") == 1


def test_each_site_has_its_last_good_step():
    sizes = np.array([[1, 2, 3], [1, 2, 4], [1, np.nan, np.inf]])
    assert good_and_bad(sizes) == (["2", "1", "1"], ["none", "2", "2"])
    assert good_and_bad(sizes[2:]) == (["0", "none", "none"], ["none", "0", "0"])
