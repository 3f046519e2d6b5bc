"""The papers: their numbers are right by another computation, and contrary numbers turn each verdict."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from components.player.experiment import chart
from models import content
from models.content import ContentError, read
from models.experiment import JUDGES, Computed, Finding, Source, Trained
from models.papers import numbers
from models.papers.judging import HOLDS, MIN_SEEDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS, TOPICS, on, paper
from models.spec import RunConfig
from models.spec.budget import PER_FURTHER_SEED, over_budget, step_seconds
from models.trace import Trace
from models.training import SeedRuns
from tests.app_page import address, charts, press, sound, words
from tests.drawn import drawn
from tests.labs_page import lab, until
from tests.traces import finished_seeds

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

LONG = {"degradation"}  # judged on made-up losses, and run in the full suite
CARD_SECONDS = 60.0  # that a card may take on two cores


@cache
def gathered(key: str) -> dict[str, Any]:
    return {name: value(source) for name, source in PAPERS[key].sources.items()}


def value(source: Source) -> Any:
    if isinstance(source, Computed):
        return source.numbers()
    assert isinstance(source, Trained)
    return finished_seeds(source.cfg, range(source.seeds))


def outcome(key: str, change: Callable[[dict[str, Any]], None] = lambda values: None) -> Finding:
    values = dict(gathered(key))
    change(values)
    return PAPERS[key].finding(values)


def test_every_net_is_legal_survives_its_link_and_a_card_ends_within_a_minute_on_at_least_three_seeds() -> None:
    for one in PAPERS.values():
        trained = [source for source in one.sources.values() if isinstance(source, Trained)]
        for source in trained:
            assert source.seeds >= MIN_SEEDS
            assert over_budget(source.cfg, source.seeds) is None
            assert RunConfig.from_query(source.cfg.to_query()) == (source.cfg, [])
        seconds = [step_seconds(s.cfg) * (1 + (s.seeds - 1) * PER_FURTHER_SEED) * s.cfg.steps for s in trained]
        assert sum(seconds) < CARD_SECONDS
        assert len(one.opens) <= 4


def test_a_topic_has_its_papers_and_all_of_them_are_those_of_some_topic() -> None:
    assert [one.key for topic in TOPICS for one in on(topic)] != []
    assert sorted(one.key for topic in TOPICS for one in on(topic)) == sorted(PAPERS)
    assert all("arxiv.org" in address for one in PAPERS.values() for address in one.papers.values())
    assert all(one.cannot and one.result for one in PAPERS.values())


def test_a_file_that_names_a_net_that_there_is_not_or_no_topic_is_refused(tmp_path: Any, monkeypatch: Any) -> None:
    text = (content.FOLDER / "papers" / "03-last-gradient.md").read_text("utf-8")
    monkeypatch.setattr(content, "FOLDER", tmp_path / "content" / "en")
    path = tmp_path / "content" / "en" / "03-last-gradient.md"
    path.parent.mkdir(parents=True)
    for right, wrong, said in (
        ('"pre-LN, 16"]', '"pre-LN, 17"]', "there is no net “pre-LN, 17”"),
        ('"placement"', '"weather"', "the topic is one of"),
        ("seeds = 3", "seeds = 99", "seeds is 1 to 8"),
        ("## What the toy cannot show", "## Else", "the section “What the toy cannot show” is missing"),
    ):
        path.write_text(text.replace(right, wrong), "utf-8")
        with pytest.raises(ContentError, match=said):
            paper(read(path))


# --- the numbers, by another computation ---


def test_chi_is_that_of_another_quadrature_and_of_autograd_through_a_wide_tanh_net() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    for variance, expected in ((1.0, 0.759), (1.761, 1.0), (4.0, 1.342)):
        q = 1.0
        for _ in range(2000):
            q = variance * float((weights * np.tanh(np.sqrt(q) * nodes) ** 2).sum()) + 0.05
        by_hand = variance * float((weights * (1 - np.tanh(np.sqrt(q) * nodes) ** 2) ** 2).sum())
        assert numbers.chi(variance, 0.05) == pytest.approx(by_hand, rel=1e-3) == pytest.approx(expected, abs=1e-3)
    source = torch.Generator().manual_seed(5)
    x = (q**0.5 * torch.randn(1000, generator=source, dtype=torch.float64)).requires_grad_()
    h = x
    for _ in range(12):
        weight = torch.randn(1000, 1000, generator=source, dtype=torch.float64) * (4.0 / 1000) ** 0.5
        h = weight @ h.tanh() + 0.05**0.5 * torch.randn(1000, generator=source, dtype=torch.float64)
    g = torch.randn(1000, generator=source, dtype=torch.float64)
    h.backward(g)
    assert x.grad is not None
    factor = float((x.grad.square().mean() / g.square().mean()) ** (1 / 12))
    assert factor == pytest.approx(numbers.chi(4.0, 0.05), rel=0.05)
    assert numbers.chi(2.5, numbers.edge(2.5)) == pytest.approx(1, abs=1e-4)


def test_torchs_own_transformer_has_the_gradients_of_the_theorem() -> None:
    """The last layer's second matrix, as the theorem has it, of nn.TransformerEncoder with Xavier's weights."""
    depths, sizes = (2, 4, 8, 16), {}
    for first in (False, True):
        row = []
        for depth in depths:
            squares = []
            for seed in range(3):
                torch.manual_seed(seed)
                layer = torch.nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, batch_first=True, norm_first=first)
                final = torch.nn.LayerNorm(32) if first else None
                net = torch.nn.TransformerEncoder(layer, depth, norm=final, enable_nested_tensor=False)
                for p in net.parameters():
                    if p.ndim > 1:
                        torch.nn.init.xavier_uniform_(p)
                head = torch.nn.Linear(32, 32)
                loss = torch.nn.functional.cross_entropy(
                    head(net(torch.randn(8, 32, 32))).flatten(0, 1), torch.randint(32, (256,))
                )
                loss.backward()
                squares.append(net.layers[-1].linear2.weight.grad.square().mean().item())
            row.append(np.exp(np.log(squares).mean() / 2))
        sizes[first] = np.array(row)
    by_torch = np.polyfit(np.log(depths), np.log(sizes[True] / sizes[False]), 1)[0]
    assert -0.6 < by_torch < -0.35
    table = outcome("last-gradient").table
    ours = np.polyfit(np.log(depths), np.log(np.array(table["pre-LN"]) / np.array(table["post-LN"])), 1)[0]
    assert ours == pytest.approx(by_torch, abs=0.1)


# --- verdicts that can come out otherwise ---


@cache
def short(depth: int) -> Trace:
    runs = SeedRuns(RunConfig(depth=depth, width=16, batch=16, steps=25), [0])
    runs.advance(25)
    trace: Trace = runs.traces()[0]
    return trace


def ending(*losses: float) -> list[Trace]:
    return [replace(short(2), loss=np.full_like(short(2).loss, loss)) for loss in losses]


def degraded(*losses: float) -> Finding:
    """The verdict on plain nets of 8, 16 and 32 blocks, then residual ones, with these losses in every seed."""
    return PAPERS["degradation"].finding(
        dict(zip(PAPERS["degradation"].sources, (ending(*[one] * 3) for one in losses), strict=True))
    )


def test_degradation_is_judged_by_the_order_of_the_losses_in_every_seed() -> None:
    assert degraded(0.1, 0.5, 1.8, 0.02, 0.02, 0.02).answer == HOLDS
    assert degraded(0.1, 0.5, 1.8, 0.02, 0.5, 1.0).answer == PARTLY
    assert degraded(0.1, 0.1, 0.1, 0.1, 0.2, 0.3).answer == NOT_HERE
    said = degraded(0.1, 0.5, 1.8, 0.02, 0.5, 1.0)
    assert said.condition == PAPERS["degradation"].judge.keywords["statements"][1]  # type: ignore[attr-defined]
    values = dict(
        zip(PAPERS["degradation"].sources, (ending(*[one] * 3) for one in (0.1, 0.5, 1.8, 0, 0, 0)), strict=True)
    )
    values["plain, 32"] = ending(1.8, 1.8, 0.1)  # one seed is enough against it
    assert PAPERS["degradation"].finding(values).answer == PARTLY


def profiles(**factors: float) -> Callable[[dict[str, Any]], None]:
    """Gradients that change by these factors a layer, from the first to the last."""

    def change(values: dict[str, Any]) -> None:
        found = values["numbers"]
        rows = dict(zip(found["profiles"], factors.values(), strict=True))
        values["numbers"] = found | {
            "profiles": {one: np.tile(factor ** -np.arange(31.0), (3, 1)) for one, factor in rows.items()}
        }

    return change


def alike(values: dict[str, Any]) -> None:
    for name, traces in values.items():
        values[name] = [replace(one, weight_grad_rms=np.ones_like(one.weight_grad_rms)) for one in traces]


def both_fall(values: dict[str, Any]) -> None:
    for name, traces in values.items():
        factor = float(name.split(", ")[1]) ** -1.0
        values[name] = [replace(one, weight_grad_rms=np.full_like(one.weight_grad_rms, factor)) for one in traces]


CONTRARY: dict[str, list[tuple[str, Callable[[dict[str, Any]], None]]]] = {
    "order-and-chaos": [
        (PARTLY, profiles(low=0.759, edge=1.1, high=1.342)),
        (PARTLY, profiles(low=0.759, edge=1.0, high=1.0001)),
        (NOT_HERE, profiles(low=1.2, edge=1.3, high=0.9)),
    ],
    "last-gradient": [(PARTLY, alike), (NOT_HERE, both_fall)],
}


def test_every_card_has_contrary_numbers() -> None:
    assert {*CONTRARY, *LONG} == set(PAPERS)


@pytest.mark.parametrize("key", CONTRARY)
def test_a_result_holds_on_what_is_measured_and_not_on_contrary_numbers(key: str) -> None:
    said = outcome(key)
    assert said.answer == HOLDS, said.condition
    assert said.condition == ""
    assert len({len(column) for column in said.table.values()}) == 1
    assert set(JUDGES[PAPERS[key].judge.func.__name__].numbers) <= set(  # type: ignore[attr-defined]
        PAPERS[key].judge(gathered(key)).numbers
    )
    for wanted, change in CONTRARY[key]:
        other = outcome(key, change)
        assert other.answer == wanted, other.condition
        assert other.condition != ""


@pytest.mark.parametrize("key", CONTRARY)
def test_the_figure_has_a_line_for_everything_that_is_compared(key: str) -> None:
    lines = outcome(key).lines
    assert lines is not None
    figure = drawn(chart(lines))
    assert {trace["name"] for trace in figure["data"] if trace["mode"] != "markers"} >= set(lines.values)


@pytest.mark.full
@pytest.mark.parametrize("key", sorted(LONG))
def test_a_long_card_run_for_real_comes_out_as_the_paper_says(key: str) -> None:
    said = outcome(key)
    assert said.answer == HOLDS, said.sentence


# --- the page ---


def opened(key: str) -> AppTest:
    page = lab("papers")
    page.query_params["paper"] = key
    return sound(page.run())


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_opens_with_its_place_its_set_up_and_what_it_cannot_show(key: str) -> None:
    page, one = opened(key), PAPERS[key]
    assert page.subheader[0].value == one.title
    for said in ("The paper says.", "Set-up here.", "What the toy cannot show.", "arxiv.org"):
        assert said in words(page)
    assert not any(answer in words(page).casefold() for answer in one.options)


def test_a_topic_shows_its_papers_and_the_address_keeps_it() -> None:
    page = sound(lab("papers").run())
    assert f"{len(PAPERS)} of {len(PAPERS)} results" in words(page)
    page.selectbox(key="paper_topic").select("depth")
    page = sound(page.run())
    assert address(page)["topic"] == "depth"
    assert f"{len(on('depth'))} of {len(PAPERS)} results" in words(page)


@pytest.mark.parametrize("key", ["order-and-chaos", "last-gradient"])
def test_run_ends_with_verdict_figure_and_numbers(key: str) -> None:
    page = press(opened(key), "Run it here")
    until(page, lambda: "holds here" in words(page).casefold())
    assert PAPERS[key].why in words(page)
    assert len(page.dataframe) == 1
    assert charts(page)
    page = press(page, "Clear")
    assert "holds here" not in words(page).casefold()
