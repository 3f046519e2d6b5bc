"""The page of papers, and what holds for each; the numbers of each are tested in its folder."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from scipy import stats
from streamlit.testing.v1 import AppTest

from components.papers.page import DECK
from models import content
from models.content import ContentError, read
from models.experiment import Computed, Trained
from models.insight.words import number
from models.papers.judging import HOLDS, NOT_HERE, PARTLY, UNDECIDED, Statement, interval, judge_statements
from models.papers.numbers import FIRST_SEED, SEEDS
from models.papers.papers import PAPERS, TOPICS, paper
from models.spec import RunConfig
from models.spec.budget import PER_EXTRA_SEED, budget_refusal, step_seconds
from tests.app_page import address, charts, press, sound, words
from tests.labs_page import lab, until
from tests.papers.kit import gathered, outcome

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

CARD_SECONDS = 60.0  # that a card may take on two cores

NOT_FINITE = "it is one (undecided: a number that decides it is not finite)"


def test_ten_fresh_seeds_are_legal_and_take_a_minute() -> None:
    for one in PAPERS.values():
        trained = [source for source in one.sources.values() if isinstance(source, Trained)]
        assert {source.cfg.seed for source in trained} <= {FIRST_SEED}
        assert all(cfg.seed >= FIRST_SEED for cfg in one.nets.values())
        for source in trained:
            assert source.seeds == SEEDS
            assert budget_refusal(source.cfg, source.seeds) is None
            assert RunConfig.from_query(source.cfg.to_query()) == (source.cfg, [])
        seconds = [step_seconds(s.cfg) * (1 + (s.seeds - 1) * PER_EXTRA_SEED) * s.cfg.steps for s in trained]
        assert sum(seconds) < CARD_SECONDS
        assert len(one.opens) <= 4
        assert all(budget_refusal(cfg, one.opened_seeds) is None for cfg in one.opened.values())


def test_a_link_opens_the_runs_that_are_judged() -> None:
    """Compare trains a net of several seeds as the card does; a net measured seed by seed is opened alone."""
    for one in PAPERS.values():
        for name in one.opens:
            source = one.sources[name]
            assert (one.opened_seeds, one.nets[name]) == (
                source.seeds if isinstance(source, Trained) else 1,  # type: ignore[union-attr]
                source.cfg,  # type: ignore[union-attr]
            )


def test_another_depth_has_other_layers_and_the_same_seeds() -> None:
    for one in PAPERS.values():
        elsewhere = one.sources_elsewhere()
        assert one.recorded or elsewhere.keys() == one.sources.keys(), one.key
        for name, source in elsewhere.items():
            if not isinstance(source, Computed):
                here = one.sources[name].cfg  # type: ignore[union-attr]
                assert source.cfg.seed == here.seed
                assert source.cfg.depth == round(here.depth * one.other["depth"]) != here.depth
                assert bool(source.cfg.overrides) == bool(here.overrides)


@pytest.mark.parametrize(
    ("numbers_by_seed", "verdict", "missed"),
    [
        ([1.0, 1.1, 0.9, 1.0], HOLDS, ""),
        ([2.0, 2.1, 1.9, 2.0], NOT_HERE, "it is one, because of this"),
        ([0.2, 0.1, 0.2, 0.1], NOT_HERE, "it is one, because of this"),
        ([0.7, 0.7, 0.6, 0.9], UNDECIDED, "it is one (undecided: the interval crosses the bound), because of this"),
        ([1.0, 1.0, np.nan, 1.0], UNDECIDED, NOT_FINITE),
        ([1.0, 1.0, np.inf, 1.0], UNDECIDED, NOT_FINITE),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")  # a deviation from infinity
def test_a_statement_fails_in_both_directions(numbers_by_seed: list[float], verdict: str, missed: str) -> None:
    stated = [{"says": "it is one", "number": "x", "at_least": 0.7, "at_most": 1.3, "because": "of this"}]
    judged = judge_statements(stated, [np.array(numbers_by_seed)], {})
    assert judged.tests["result"] == [verdict]
    assert (judged.answer, judged.numbers["missed"]) == (verdict, missed)


def test_a_card_whose_number_is_nan_is_undecided() -> None:
    one = PAPERS["batch-norm-explodes"]
    values = {"numbers": {name: rows * np.nan for name, rows in gathered(one.key)["numbers"].items()}}
    found = one.finding(values)
    assert (found.answer, found.condition) == (UNDECIDED, "")
    assert found.sentence == "Not measured: a number that decides it is not finite."
    assert one.statements(found)["here"] == ["not finite: undecided"] * 3


def test_intervals_are_those_of_other_libraries() -> None:
    values = np.random.default_rng(3).standard_normal(10)
    bootstrap = stats.t.interval(0.95, 9, values.mean(), stats.sem(values))
    assert interval(values)[1:] == pytest.approx(bootstrap, rel=1e-3)
    for hits in (0, 4, 10):
        share = np.arange(10) < hits
        wilson = stats.binomtest(hits, 10).proportion_ci(method="wilson")
        assert interval(share)[1:] == pytest.approx((wilson.low, wilson.high), abs=1e-3)


def test_a_topic_has_its_papers_and_all_of_them_are_those_of_some_topic() -> None:
    assert [one.key for topic in TOPICS for one in DECK.matching(topic)] != []
    assert sorted(one.key for topic in TOPICS for one in DECK.matching(topic)) == sorted(PAPERS)
    assert all(re.search(r"//(arxiv.org|github.com)/", " ".join(one.papers.values())) for one in PAPERS.values())
    assert all(one.cannot and one.result for one in PAPERS.values())


def test_a_file_that_names_a_net_that_there_is_not_or_no_topic_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    words = "exhibits/papers/last_gradient/words.md"
    text = Path(words).read_text("utf-8")
    monkeypatch.setattr(content, "FOLDER", tmp_path / "content" / "en")
    path = tmp_path / words
    path.parent.mkdir(parents=True)
    for right, wrong, said in (
        ('"pre-LN, 16, seed 0"]', '"pre-LN, 17"]', "there is no net “pre-LN, 17”"),
        ('"placement"', '"weather"', "the topic is one of"),
        ("seeds = 10", "seeds = 99", "seeds is 1 to 10"),
        ("seeds = 10", 'seeds = 10\nmap = "nowhere"', "there is no map “nowhere”"),
        ("## What the toy cannot show", "## Else", "the section “What the toy cannot show” is missing"),
    ):
        path.write_text(text.replace(right, wrong), "utf-8")
        with pytest.raises(ContentError, match=said):
            paper(read(path))


def test_recorded_tests_are_of_the_statements_that_stand() -> None:
    """Each verdict follows from its interval and the bound in the card."""
    for key, one in PAPERS.items():
        statements = [Statement(**stated) for stated in one.judge.function.keywords["statements"]]  # type: ignore[attr-defined]
        parts = one.tested
        if not parts:
            continue
        trains = any(isinstance(source, Trained) for source in one.sources.values())
        wanted = ["one seed at a time"] * trains + ["at another depth"] * (not one.recorded)
        assert list(parts) == wanted, key
        for rows in parts.values():
            for statement, (mean, low, high, verdict) in zip(statements, rows, strict=True):
                assert low <= mean <= high
                assert statement.verdict(low, high) == verdict, (key, statement.says)


def opened(key: str) -> AppTest:
    page = lab("papers")
    page.query_params["paper"] = key
    return sound(page.run())


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_opens_with_its_place_its_set_up_and_what_it_cannot_show(key: str) -> None:
    page, one = opened(key), PAPERS[key]
    assert page.subheader[0].value == one.title
    for said in ("The paper says.", "Set-up here.", "What the toy cannot show."):
        assert said in words(page)
    assert re.search(r"\]\(https://(arxiv\.org|github\.com)/", words(page))
    assert not any(answer in words(page).casefold() for answer in one.options)


def test_a_topic_shows_its_papers_and_the_address_keeps_it() -> None:
    page = sound(lab("papers").run())
    assert f"{len(PAPERS)} of {len(PAPERS)} results" in words(page)
    page.selectbox(key="paper_topic").select("depth")
    page = sound(page.run())
    assert address(page)["topic"] == "depth"
    assert f"{len(DECK.matching('depth'))} of {len(PAPERS)} results" in words(page)


@pytest.mark.parametrize(("key", "verdict"), [("batch-norm-explodes", HOLDS), ("rank-collapse", PARTLY)])
def test_run_ends_with_verdict_figure_and_numbers(key: str, verdict: str) -> None:
    page = press(opened(key), "Run it here")
    until(page, lambda: verdict in words(page).casefold())
    assert PAPERS[key].why in words(page)
    _, tests = (table.value for table in page.dataframe)
    assert list(tests["statement"]) == outcome(key).tests["statement"]
    assert set(tests["here"].str.split(": ").str[-1]) == ({HOLDS} if verdict == HOLDS else {HOLDS, NOT_HERE})
    assert charts(page)
    page = press(page, "Clear")
    assert verdict not in words(page).casefold()


def test_a_recorded_card_says_so_and_leads_to_the_map_where_it_runs_again() -> None:
    page = press(opened("mup"), "Read the recording")
    assert "holds here" in words(page).casefold()
    assert "[recorded]" in words(page)
    assert "[measured]" not in words(page)


def test_a_link_that_hides_answers_hides_each_statement_s_verdict() -> None:
    page = lab("papers")
    page.query_params["hide"] = "answers"
    page.query_params["paper"] = "mup"
    page = press(sound(page.run()), "Read the recording")
    _, tests = (table.value for table in page.dataframe)
    said = outcome("mup").tests
    assert list(tests["statement"]) == said["statement"]
    assert list(tests["here"].str.split().str[0]) == [number(mean) for mean in said["mean"]]
    shown = f"{tests.to_csv()} {words(page)}".casefold()
    assert not any(verdict in shown for verdict in (HOLDS, PARTLY, NOT_HERE, UNDECIDED))


def test_a_class_that_presses_together_waits_for_one_computation() -> None:
    calls: list[int] = []

    @cache
    def slow() -> dict[str, float]:
        calls.append(1)
        sleep(0.1)
        return {"answer": 1.0}

    source = Computed(slow)
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda _: source.value(), range(8)))
    assert (values, len(calls)) == ([{"answer": 1.0}] * 8, 1)
