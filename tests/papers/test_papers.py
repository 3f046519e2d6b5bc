"""The papers: their numbers are right by another computation, and contrary numbers turn each verdict."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from streamlit.testing.v1 import AppTest

from components.player.experiment import lines_figure
from exhibits.instruments.paths.answer import PathLengths
from exhibits.instruments.surgery.answer import Lesions
from models import content
from models.answers import SignalAtInit, Update
from models.content import ContentError, read
from models.experiment import JUDGES, Computed, Finding, Trained
from models.insight.words import number
from models.papers import numbers
from models.papers.judging import HOLDS, NOT_HERE, PARTLY, UNDECIDED, Statement, interval, judge_statements
from models.papers.papers import PAPERS, TOPICS, paper, papers_on, recorded_tests
from models.spec import RunConfig
from models.spec.budget import PER_EXTRA_SEED, budget_refusal, step_seconds
from models.spec.cautions import config_caution
from models.trace import Trace
from models.training import SeedRuns
from tests.app_page import address, charts, press, sound, words
from tests.drawn import drawn
from tests.experiments import value
from tests.labs_page import lab, until

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

LONG = {
    "degradation",
    "he-weights",
    "nearly-identity",
    "short-paths",
    "curse-of-depth",
    "zero-gates",
    "dynamic-tanh",
    "bounded-update",
    "qk-norm",
    "smoother",
    "edge-of-stability",
}  # judged on made-up losses, and run in the full suite
IN_PART = {"shattered", "rank-collapse", "curse-of-depth", "zero-gates", "dynamic-tanh"}
CARD_SECONDS = 60.0  # that a card may take on two cores

NOT_FINITE = "it is one (undecided: a number that decides it is not finite)"


@cache
def gathered(key: str) -> dict[str, Any]:
    return {name: value(source) for name, source in PAPERS[key].sources.items()}


def outcome(key: str, change: Callable[[dict[str, Any]], None] = lambda values: None) -> Finding:
    values = dict(gathered(key))
    change(values)
    return PAPERS[key].finding(values)


def test_ten_fresh_seeds_are_legal_and_take_a_minute() -> None:
    for one in PAPERS.values():
        trained = [source for source in one.sources.values() if isinstance(source, Trained)]
        assert {source.cfg.seed for source in trained} <= {numbers.FIRST_SEED}
        assert all(cfg.seed >= numbers.FIRST_SEED for cfg in one.nets.values())
        for source in trained:
            assert source.seeds == numbers.SEEDS
            assert budget_refusal(source.cfg, source.seeds) is None
            assert RunConfig.from_query(source.cfg.to_query()) == (source.cfg, [])
        seconds = [step_seconds(s.cfg) * (1 + (s.seeds - 1) * PER_EXTRA_SEED) * s.cfg.steps for s in trained]
        assert sum(seconds) < CARD_SECONDS
        assert len(one.opens) <= 4
        assert all(budget_refusal(cfg, one.opened_seeds) is None for cfg in one.opened)


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
    assert [one.key for topic in TOPICS for one in papers_on(topic)] != []
    assert sorted(one.key for topic in TOPICS for one in papers_on(topic)) == sorted(PAPERS)
    assert all(any("arxiv.org" in address for address in one.papers.values()) for one in PAPERS.values())
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
    assert numbers.chi(2.5, numbers.critical_bias_variance(2.5)) == pytest.approx(1, abs=1e-4)


def test_the_correlation_has_twice_the_depth_scale_of_the_gradient() -> None:
    """By drawing pairs: the fixed point of their correlation in chaos, and E phi' phi' there."""
    source = np.random.default_rng(8)
    one, other = source.standard_normal((2, 300_000))
    q = numbers.fixed_point(4.0, 0.05)
    c = 0.5
    for _ in range(60):
        first, second = np.sqrt(q) * one, np.sqrt(q) * (c * one + np.sqrt(1 - c * c) * other)
        c = (4.0 * float((np.tanh(first) * np.tanh(second)).mean()) + 0.05) / q
    kept = 4.0 * float(((1 - np.tanh(first) ** 2) * (1 - np.tanh(second) ** 2)).mean())
    fixed, slope = numbers.fixed_correlation(4.0, 0.05)
    assert (fixed, slope) == pytest.approx((c, kept), abs=1e-2)
    assert -1 / np.log(slope) == pytest.approx(6.98, abs=0.01)
    assert 1 / np.log(numbers.chi(4.0, 0.05)) == pytest.approx(3.40, abs=0.01)
    assert numbers.fixed_correlation(1.0, 0.05)[1] == pytest.approx(numbers.chi(1.0, 0.05), rel=1e-4)


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


def through_torch(make: Callable[[int], torch.nn.Module], layers: int, *, width: int = 256) -> tuple[float, float]:
    """The factor per layer of the mean square through layers of torch's own, forward and back, behind the first."""
    torch.manual_seed(11)
    first, *others = [make(width) for _ in range(layers)]
    x = first(torch.randn(256, width)).detach().requires_grad_()
    out = x
    for layer in others:
        out = layer(out)
    g = torch.randn_like(out)
    out.backward(g)
    assert x.grad is not None
    forward, back = out.square().mean() / x.square().mean(), x.grad.square().mean() / g.square().mean()
    return float(forward.detach() ** (1 / len(others))), float(back ** (1 / len(others)))


def test_torchs_own_batch_norm_makes_gradients_grow_by_pi_over_pi_minus_one() -> None:
    def layer(width: int) -> torch.nn.Module:
        linear = torch.nn.Linear(width, width, bias=False)
        return torch.nn.Sequential(linear, torch.nn.BatchNorm1d(width), torch.nn.ReLU())

    _, back = through_torch(layer, 12)
    assert back == pytest.approx(np.pi / (np.pi - 1), rel=0.03)
    assert outcome("batch-norm-explodes").table["factor per layer, mean"][0] == pytest.approx(back, rel=0.03)


def test_a_log_length_walks_over_the_layers_at_random() -> None:
    """A Gaussian matrix times a vector is Gaussian whatever its direction, so no matrix has to be drawn."""
    source, (width, layers) = np.random.default_rng(7), (64, 16)
    units = np.maximum(source.standard_normal((4000, layers, width)), 0)
    steps = np.log(2 * (units**2).mean(2))
    walks = np.cumsum(steps - steps.mean(0), 1)
    assert walks.var(1).mean() == pytest.approx(5 * (layers**2 - 1) / (6 * layers * width), rel=0.15)
    assert numbers.fluctuations()["plain"][width, layers].mean() == pytest.approx(walks.var(1).mean(), rel=0.15)


def test_the_correlation_of_gradients_is_that_of_the_arc_cosine_kernel() -> None:
    """Of two inputs at an angle, a share (π - angle) / 2π of the units is on for both."""
    found = dict(zip(numbers.SHATTERED_LAYERS, numbers.shattered()["correlation"]["residual"].mean(0), strict=True))
    square, product, variance, covariance = 1.0, 0.0, 1.0, 1.0
    for layer in range(1, 5):
        angle = np.arccos(product / square)
        both = (np.pi - angle) / (2 * np.pi)
        product += square * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
        square, variance, covariance = 2 * square, 2 * variance, covariance * (1 + 2 * both)
        if layer in found:
            assert found[layer] == pytest.approx(covariance / variance, rel=0.05)
    # Ten draws scatter by 6 % at four layers, so more are drawn than the card has.
    plain = [[numbers.gradient_correlation("plain", layers, seed) for layers in (1, 2, 4)] for seed in range(200, 240)]
    assert np.mean(plain, axis=0) == pytest.approx([1 / 2, 1 / 4, 1 / 16], rel=0.1)


def test_with_batch_norm_the_correlation_tends_to_a_power_of_its_own() -> None:
    """-pi / 2(pi - 1), because batch norm removes ReLU's mean; -1/2 is what it would be if it did not."""
    depths = (10**5, 10**6)
    ends = [numbers.correlation_law("residual with batch norm", depth) for depth in depths]
    power = np.log(ends[1] / ends[0]) / np.log(10)
    assert power == pytest.approx(-np.pi / (2 * (np.pi - 1)), abs=1e-4)
    kept = [np.prod([(1 + 0.5 / v) / (1 + 1 / v) for v in range(1, depth + 1)]) for depth in (10**4, 10**5)]
    assert np.log10(kept[1] / kept[0]) == pytest.approx(-0.5, abs=1e-3)
    found = numbers.shattered()
    law, normed = (found[name]["residual with batch norm"] for name in ("law", "correlation"))
    assert normed.mean(0) == pytest.approx(law, rel=0.12)


def test_attention_by_hand_makes_tokens_alike_faster_than_exponentially_and_a_skip_does_not() -> None:
    def distances(*, skip: bool) -> np.ndarray:
        source = np.random.default_rng(4)
        x, found = source.standard_normal((32, 64)), []
        for _ in range(3):
            q, k, v = (source.standard_normal((64, 64)) / 8 for _ in range(3))
            logits = (x @ q) @ (x @ k).T / 8
            weights = np.exp(logits - logits.max(1, keepdims=True))
            out = weights / weights.sum(1, keepdims=True) @ x @ v
            x = x + out if skip else out
            found.append(np.linalg.norm(x - x.mean(0)) / np.linalg.norm(x))
        return np.array(found)

    bare, skipped = np.log(distances(skip=False)), distances(skip=True)
    assert (bare[1:] / bare[:-1] > 2).all()
    assert skipped[-1] > 0.3
    found = np.log(np.array(outcome("rank-collapse").table["distance, no skip"])[1:3])
    assert found[1] / found[0] > 2


@pytest.mark.parametrize("scaled", [False, True])
def test_a_pre_norm_stream_by_hand_grows_by_the_sum_of_the_formula(scaled: bool) -> None:
    torch.manual_seed(3)
    x = torch.nn.functional.layer_norm(torch.randn(64, 256), (256,))
    start, blocks = x.square().mean(), 16
    for block in range(1, blocks + 1):
        w1, w2 = torch.randn(256, 1024) / 16, torch.randn(1024, 256) / 32
        read = torch.nn.functional.layer_norm(x, (256,)) / (block**0.5 if scaled else 1)
        x = x + (read @ w1).relu() @ w2
    harmonic = float((1 / np.arange(1, blocks + 1)).sum())
    expected = 1 + 0.5 * (harmonic if scaled else blocks)
    assert (x.square().mean() / start).item() == pytest.approx(expected, rel=0.05)


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
        dict(zip(PAPERS["degradation"].sources, (ending(*[one] * 10) for one in losses), strict=True))
    )


def test_degradation_is_judged_by_the_order_of_the_losses_in_every_seed() -> None:
    assert degraded(0.1, 0.5, 1.8, 0.02, 0.02, 0.02).answer == HOLDS
    assert degraded(0.1, 0.5, 1.8, 0.02, 0.5, 1.0).answer == PARTLY
    assert degraded(0.1, 0.1, 0.1, 0.1, 0.2, 0.3).answer == NOT_HERE
    said = degraded(0.1, 0.5, 1.8, 0.02, 0.5, 1.0)
    assert said.condition == PAPERS["degradation"].judge.keywords["statements"][1]["says"]  # type: ignore[attr-defined]
    values = dict(
        zip(PAPERS["degradation"].sources, (ending(*[one] * 10) for one in (0.1, 0.5, 1.8, 0, 0, 0)), strict=True)
    )
    values["plain, 32"] = ending(*[1.8, 0.1] * 5)
    assert PAPERS["degradation"].finding(values).answer == HOLDS, "half of the seeds are enough for the mean"
    values["plain, 32"] = ending(*[1.8, *[0.1] * 9])
    assert PAPERS["degradation"].finding(values).answer == PARTLY


def dropping(step: float) -> list[Trace]:
    """Losses that are 2 up to a step and 0.1 from it on."""
    return [replace(short(2), loss=np.where(np.arange(25) < step, 2.0, 0.1))] * 10


def gated(*steps: float) -> str:
    """The verdict on ReZero, pre-norm and plain nets of both depths that learn after so many steps."""
    return (
        PAPERS["zero-gates"].finding(dict(zip(PAPERS["zero-gates"].sources, map(dropping, steps), strict=True))).answer
    )


def test_zero_gates_are_judged_by_the_steps_that_each_net_needs() -> None:
    assert gated(10, 8, 12, 12, 15, np.inf) == HOLDS
    assert gated(10, 8, 5, 5, 15, np.inf) == PARTLY
    assert gated(10, 8, 12, 12, 15, 20) == PARTLY
    assert gated(8, np.inf, 5, 5, 15, 18) == NOT_HERE


def fed(factor: float) -> SignalAtInit:
    """A signal of 30 layers that grows by this factor a layer, forward and back."""
    squares = np.tile(factor ** np.arange(31.0), (6, 1))
    return SignalAtInit(tuple(range(6)), squares, np.sqrt(squares[:, ::-1]), np.ones((6, 30)), np.ones((6, 30)))


def of_weights(he: float, xavier: float, *losses: float) -> str:
    values: dict[str, Any] = {"He, before training": fed(he), "Xavier, before training": fed(xavier)}
    values |= {
        name: ending(*[loss] * 10) for name, loss in zip(("He, trained", "Xavier, trained"), losses, strict=True)
    }
    return PAPERS["he-weights"].finding(values).answer


def test_weights_are_judged_by_their_factors_and_by_which_net_learns() -> None:
    assert of_weights(1.0, 0.5, 1.6, 2.3) == HOLDS
    assert of_weights(1.2, 0.5, 1.6, 2.3) == PARTLY
    assert of_weights(1.0, 0.5, 1.6, 1.6) == PARTLY
    assert of_weights(1.2, 1.0, 2.3, 1.6) == NOT_HERE


def of_norms(share: Callable[[np.ndarray], np.ndarray], *losses: float) -> str:
    values = dict(zip(PAPERS["nearly-identity"].sources, (ending(*[one] * 10) for one in losses), strict=True))
    one = values["batch norm"][0]
    blocks = np.arange(1.0, 33.0)
    act, branch = np.ones((1, 33)), np.sqrt(share(blocks))[None]
    values["batch norm"] = [replace(one, act_rms=act, branch_rms=branch)] * 10
    return PAPERS["nearly-identity"].finding(values).answer


def test_an_identity_is_judged_by_the_share_of_the_branches_and_by_which_nets_learn() -> None:
    assert of_norms(lambda blocks: 1 / blocks, 0.09, 0.03, np.inf) == HOLDS
    assert of_norms(lambda blocks: 0.5 + 0 * blocks, 0.09, 0.03, np.inf) == PARTLY
    assert of_norms(lambda blocks: 1 / blocks, 0.09, 2.0, 2.3) == PARTLY
    assert of_norms(lambda blocks: 0.5 + 0 * blocks, 0.09, 2.0, 0.1) == NOT_HERE


def lesions(*accuracies: float, loss: float = 0.3) -> Lesions:
    """The intact net has an accuracy of 0.9 and a loss of 0.3."""
    left, losses = np.array(accuracies), np.full(len(accuracies), loss)
    return Lesions(0.3, 0.9, losses, left, losses, left)


def of_paths(residual: float, plain: float, length: int) -> str:
    values: dict[str, Any] = {f"residual, seed {at}": lesions(*[residual] * 16) for at in range(3)}
    values |= {f"plain, seed {at}": lesions(*[plain] * 8) for at in range(3)}
    sizes = np.eye(17)[length]
    values |= {f"paths, seed {at}": PathLengths(8, sizes, sizes, sizes, 1.0) for at in range(3)}
    return PAPERS["short-paths"].finding(values).answer


def test_an_ensemble_is_judged_by_what_is_left_without_a_block_and_by_the_paths() -> None:
    assert of_paths(0.89, 0.1, 5) == HOLDS
    assert of_paths(0.5, 0.1, 5) == PARTLY
    assert of_paths(0.89, 0.85, 5) == PARTLY
    assert of_paths(0.5, 0.85, 12) == NOT_HERE


def of_streams(plain: float, scaled: float, late: float, *, linear: bool = False) -> str:
    """The verdict on streams that end at these mean squares, and what the last scaled blocks are worth."""
    grid = np.linspace if linear else np.geomspace
    values: dict[str, Any] = {}
    for kind, end, worth in (("pre-norm", plain, 0.01), ("LayerNorm scaling", scaled, late)):
        signal = fed(end ** (1 / 32))
        squares = np.tile(grid(1, end, 33), (6, 1))
        values[f"{kind}, before training"] = replace(signal, mean_square=squares)
        values |= {f"{kind}, lesions, seed {at}": lesions(*[0.9] * 16, loss=0.3 + worth) for at in range(3)}
    return PAPERS["curse-of-depth"].finding(values).answer


def test_the_curse_is_judged_by_both_streams_and_by_the_last_blocks() -> None:
    assert of_streams(17.0, 3.03, 0.1) == HOLDS
    assert of_streams(17.0, 3.03, 0.001) == PARTLY
    assert of_streams(17.0, 17.0, 0.1) == PARTLY
    assert of_streams(17.0, 3.03, 0.1, linear=True) == PARTLY
    assert of_streams(65000.0, 17.0, 0.001, linear=True) == NOT_HERE


def test_the_curse_quotes_the_paper_and_scales_only_once() -> None:
    """Linear growth, which the toy has before training, does not count as the exponential one of the abstract."""
    card = PAPERS["curse-of-depth"]
    assert "exponentially grows with the model depth" in card.result
    assert "version 4" in card.result
    scaled = [cfg for name, cfg in card.nets.items() if name.startswith("LayerNorm scaling")]
    assert scaled
    for cfg in scaled:
        assert config_caution(cfg) is None
        assert "to remove the latter" in str(config_caution(replace(cfg, init="gpt2")))
        assert "to remove the latter" not in str(config_caution(replace(cfg, init="gpt2", input_scale="one")))


def exponential(values: dict[str, Any]) -> None:
    for name, one in values.items():
        if name.startswith("no skip"):
            values[name] = replace(one, spread=0.5 ** np.arange(17.0))


def swapped(values: dict[str, Any]) -> None:
    """Tokens are alike with skips, and without them they fall slowly and starve nothing."""
    for name, one in values.items():
        factor, share = (0.9, 0.3) if name.startswith("no skip") else (0.1, 0.0)
        values[name] = replace(one, spread=factor ** np.arange(17.0), query_key_share=np.full(8, share))


def lengths(factor: float) -> Callable[[dict[str, Any]], None]:
    """Variances that are larger by this factor, and grow in residual nets too."""

    def change(values: dict[str, Any]) -> None:
        plain = {shape: variances * factor for shape, variances in values["numbers"]["plain"].items()}
        values["numbers"] = {
            "plain": plain,
            "residual": {shape: plain[shape] for shape in values["numbers"]["residual"]},
        }

    return change


def of_depth_alone(values: dict[str, Any]) -> None:
    values["numbers"] = {
        kind: {(width, layers): np.full(3, layers / 8) for width, layers in shapes}
        for kind, shapes in values["numbers"].items()
    }


def normed(**factors: float) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        rows = dict(zip(values["numbers"], factors.values(), strict=True))
        values["numbers"] = {name: np.tile(one ** -np.arange(13.0), (3, 1)) for name, one in rows.items()}

    return change


def correlated(**of_depth: Callable[[np.ndarray], np.ndarray]) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        found = values["numbers"]
        depths = np.array(found["layers"], float)
        rows = zip(found["correlation"], of_depth.values(), strict=True)
        values["numbers"] = found | {"correlation": {name: np.tile(of(depths), (3, 1)) for name, of in rows}}

    return change


def profiles(gap: float, **factors: float) -> Callable[[dict[str, Any]], None]:
    """Gradients that change by these factors a layer, from the first to the last, and a gap of correlations."""

    def change(values: dict[str, Any]) -> None:
        found = values["numbers"]
        rows = dict(zip(found["profiles"], factors.values(), strict=True))
        values["numbers"] = found | {
            "profiles": {one: np.tile(factor ** -np.arange(31.0), (3, 1)) for one, factor in rows.items()},
            "gaps": np.tile(gap ** np.arange(9.0), (3, 1)),
        }

    return change


def last_gradients(**powers: float) -> Callable[[dict[str, Any]], None]:
    """Gradients that are these powers of depth, by net."""

    def change(values: dict[str, Any]) -> None:
        for name in values:
            kind, depth, _ = name.split(", ")
            values[name] = Update(0.0, 0.0, float(depth) ** powers[kind[: -len("-LN")]])

    return change


def of_checks(width: dict[str, float], depth: dict[str, float]) -> Callable[[dict[str, Any]], None]:
    """Sizes that are all these powers of width and of depth, by parametrisation."""

    def change(values: dict[str, Any]) -> None:
        values["numbers"] = {
            (field, name): replace(
                one,
                size=tuple(
                    tuple(tuple(tuple(at**power for _ in row) for row in seed) for seed in of)
                    for at, of in zip(one.values, one.size, strict=True)
                ),
            )
            for (field, name), one in values["numbers"].items()
            for power in [(width if field == "width" else depth)[name]]
        }

    return change


STANDARD, MUP, BY_DEPTH = "standard", "muP", "muP + 1/depth"
CONTRARY: dict[str, list[tuple[str, Callable[[dict[str, Any]], None]]]] = {
    "order-and-chaos": [
        (HOLDS, profiles(low=0.759, edge=1.0, high=1.342, gap=0.8665)),
        (PARTLY, profiles(low=0.759, edge=1.1, high=1.342, gap=0.8665)),
        (PARTLY, profiles(low=0.759, edge=1.0, high=1.342, gap=1 / 1.342)),
        (NOT_HERE, profiles(low=1.2, edge=1.3, high=0.9, gap=0.5)),
    ],
    "fluctuations": [(PARTLY, lengths(1.0)), (PARTLY, lengths(2.0)), (NOT_HERE, of_depth_alone)],
    "batch-norm-explodes": [
        (PARTLY, normed(relu=1.2, linear=1.0, skip=1.1)),
        (PARTLY, normed(relu=1.6, linear=1.0, skip=1.1)),
        (PARTLY, normed(relu=1.467, linear=1.3, skip=1.1)),
        (NOT_HERE, normed(relu=0.9, linear=1.3, skip=1.3)),
    ],
    "rank-collapse": [(PARTLY, exponential), (NOT_HERE, swapped)],
    "shattered": [
        (PARTLY, correlated(plain=lambda d: 0.5**d, residual=lambda d: 0.75**d, normed=lambda d: d**-0.5)),
        (PARTLY, correlated(plain=lambda d: 0.9**d, residual=lambda d: 0.95**d, normed=lambda d: d**-0.5)),
        (NOT_HERE, correlated(plain=lambda d: 0.7**d, residual=lambda d: 0.6**d, normed=lambda d: 0.5**d)),
    ],
    "mup": [
        (HOLDS, of_checks({STANDARD: 0.5, MUP: 0.0, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
        (PARTLY, of_checks({STANDARD: 0.5, MUP: 0.2, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
        (PARTLY, of_checks({STANDARD: 0.5, MUP: -0.2, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
        (PARTLY, of_checks({STANDARD: -0.5, MUP: 0.0, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
        (PARTLY, of_checks({STANDARD: 0.5, MUP: 0.0, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.0, BY_DEPTH: 0.0})),
        (NOT_HERE, of_checks({STANDARD: 0.0, MUP: 0.5, BY_DEPTH: 0.0}, {STANDARD: 0.0, MUP: 0.0, BY_DEPTH: 0.5})),
    ],
    "last-gradient": [
        (HOLDS, last_gradients(post=0.0, pre=-0.5)),
        (PARTLY, last_gradients(post=0.0, pre=0.0)),
        (PARTLY, last_gradients(post=0.3, pre=-0.5)),
        (NOT_HERE, last_gradients(post=-1.0, pre=-1.0)),
    ],
}


def test_every_card_has_contrary_numbers() -> None:
    assert {*CONTRARY, *LONG} == set(PAPERS)


@pytest.mark.parametrize("key", CONTRARY)
def test_a_result_holds_on_what_is_measured_and_not_on_contrary_numbers(key: str) -> None:
    said = outcome(key)
    assert said.answer == (PARTLY if key in IN_PART else HOLDS), said.condition
    assert (said.condition == "") == (said.answer == HOLDS)
    assert len({len(column) for column in said.table.values()}) == 1
    assert set(JUDGES[PAPERS[key].judge.func.__name__].numbers) <= set(  # type: ignore[attr-defined]
        PAPERS[key].judge(gathered(key)).numbers
    )
    for wanted, change in CONTRARY[key]:
        other = outcome(key, change)
        assert other.answer == wanted, other.condition
        assert (other.condition == "") == (wanted == HOLDS)


@pytest.mark.parametrize("key", CONTRARY)
def test_the_figure_has_a_line_for_everything_that_is_compared(key: str) -> None:
    lines = outcome(key).lines
    assert lines is not None
    figure = drawn(lines_figure(lines))
    assert {trace["name"] for trace in figure["data"] if trace["mode"] != "markers"} >= set(lines.values)


@pytest.mark.full
@pytest.mark.parametrize("key", sorted(LONG))
def test_a_long_card_run_for_real_comes_out_as_the_paper_says(key: str) -> None:
    said = outcome(key)
    assert said.answer == (PARTLY if key in IN_PART else HOLDS), said.sentence


def test_recorded_tests_are_of_the_statements_that_stand() -> None:
    """Each verdict follows from its interval and the bound in the card."""
    for key, one in PAPERS.items():
        statements = [Statement(**stated) for stated in one.judge.keywords["statements"]]  # type: ignore[attr-defined]
        parts = recorded_tests().get(key, {})
        if not parts:
            continue
        trains = any(isinstance(source, Trained) for source in one.sources.values())
        wanted = ["one seed at a time"] * trains + ["at another depth"] * (not one.recorded)
        assert list(parts) == wanted, key
        for rows in parts.values():
            for statement, (mean, low, high, verdict) in zip(statements, rows, strict=True):
                assert low <= mean <= high
                assert statement.verdict(low, high) == verdict, (key, statement.says)


@pytest.mark.full
def test_a_recorded_test_comes_out_again() -> None:
    card = PAPERS["batch-norm-explodes"]
    tests = card.finding({name: value(source) for name, source in card.sources_elsewhere().items()}).tests
    for mean, (recorded, *_) in zip(tests["mean"], recorded_tests()[card.key]["at another depth"], strict=True):
        assert mean == pytest.approx(recorded, rel=1e-3)


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
    assert f"{len(papers_on('depth'))} of {len(PAPERS)} results" in words(page)


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
