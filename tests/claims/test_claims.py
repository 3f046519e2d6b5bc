"""The page of claims, and what holds for each; the numbers of each are tested in its folder."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.player.experiment import lines_figure
from models.claims.claims import CLAIMS
from models.claims.judging import FAILS
from models.experiment import Lines, Trained
from models.insight.formula import geometric_mean
from models.papers.papers import PAPERS
from models.spec import RunConfig
from models.spec.budget import budget_refusal, step_seconds
from tests.app_page import by_link, charts, labels, press, sound, words
from tests.claims.kit import gathered, outcome
from tests.drawn import drawn
from tests.labs_page import lab

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


def test_every_net_is_legal_is_within_the_budget_and_survives_its_link() -> None:
    for claim in CLAIMS.values():
        assert len(claim.nets) <= 4
        for cfg in claim.nets.values():
            assert budget_refusal(cfg) is None
            assert RunConfig.from_query(cfg.to_query()) == (cfg, [])
        runs = [one.cfg for one in claim.sources.values() if isinstance(one, Trained)]
        assert sum(step_seconds(cfg) * cfg.steps for cfg in runs) < 15


@pytest.mark.parametrize("key", ["pre-norm-exponential", "batch-norm-cures"])
def test_a_chart_has_a_line_for_every_net_and_its_numbers(key: str) -> None:
    lines = outcome(key).lines
    assert lines is not None
    figure = drawn(lines_figure(lines))
    assert {trace["name"] for trace in figure["data"] if trace["mode"] != "markers"} >= set(lines.values)
    assert np.isfinite(geometric_mean(next(iter(gathered(key).values())).mean_square)).all()


def opened(key: str, **query: str) -> AppTest:
    page = lab("claims")
    for name, text in {"claim": key, **query}.items():
        page.query_params[name] = text
    return sound(page.run())


@pytest.mark.parametrize("key", CLAIMS)
def test_every_claim_opens_with_its_claim_and_says_nothing_of_it_before_a_guess_and_run(key: str) -> None:
    page = opened(key)
    assert page.subheader[0].value == f"“{CLAIMS[key].title}”"
    assert CLAIMS[key].why not in words(page)
    assert page.button(key=f"claim_{key}_running_run").disabled
    assert "the claim" not in words(page).casefold().replace(CLAIMS[key].question.casefold(), "")


@pytest.mark.parametrize("key", ["by-hand", "one-feature", "copies", "zero-gates", "quarter"])
def test_run_ends_with_the_verdict_and_its_numbers(key: str) -> None:
    page, said = ran(opened(key), key, "false"), outcome(key)
    assert said.sentence in words(page)
    assert said.answer in words(page).casefold()
    right, wrong = ":material/check_circle: **You were right", ":material/cancel: **You guessed “false”. Not quite"
    assert (right if said.answer == FAILS else wrong) in words(page), "the sign is that of the guess"
    assert CLAIMS[key].why in words(page)
    assert len(page.dataframe) >= 1
    assert (said.lines is None) == (not charts(page))
    page = press(page, "Clear")
    assert said.sentence not in words(page)


def test_names_stand_in_a_legend_where_lines_meet() -> None:
    apart, meeting = ({"a": np.array([1.0, 2.0]), "b": np.array([1.0, last])} for last in (3.0, 2.1))
    bindings = (lines_figure(Lines("Size", "RMS", values))["layout"]["bind"] for values in (apart, meeting))
    assert [bool(binding.get("legend")) for binding in bindings] == [False, True]


def ran(page: AppTest, key: str, guess: str) -> AppTest:
    """The page after a guess and the run."""
    page.get_by_key(f"claim_{key}_guess").set_value(guess)
    page = press(sound(page.run()), "Run")
    for _ in range(5):
        sound(page.run())
    return page


def test_claims_and_papers_lead_to_each_other() -> None:
    """The paper's title says what is true, so that it waits for the run."""
    claim, card = CLAIMS["zero-gates"], PAPERS["zero-gates"]
    page, label = opened(claim.key), f"Its paper, run here: {card.title}"
    assert label not in links(page)
    assert label in links(ran(page, claim.key, "false"))
    assert f"Common claim: “{claim.title}”" in links(by_link("papers.py", paper=card.key))
    hiding = by_link("papers.py", paper=card.key, hide="answers")
    assert not any(one.startswith("Common claim") for one in links(hiding))


def links(page: AppTest) -> set[str]:
    return {one.proto.label for one in page.get("page_link")}


def test_an_unknown_claim_gets_a_sentence() -> None:
    page = opened("nothing-of-the-kind")
    assert "There is no claim with that name" in words(page)
    assert "Run" not in labels(page)
