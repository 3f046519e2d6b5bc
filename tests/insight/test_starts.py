"""What is said of other nets that started alike: of the same part only, in words that fit the counts, and held-out."""

from collections import Counter

import pytest

from benchmarks import verdicts as drawn
from models.insight import starts
from models.insight.health import update_sentence
from models.insight.said import said_at
from models.insight.starts import LEAST, SHAPES, STARTS, UPDATES, WORDS, Count, Group, after_updates, became
from models.insight.verdict import verdicts
from models.spec import RunConfig
from models.training import Run, profile_at_init

MLP = {"depth": 8, "width": 32, "device": "cpu", "steps": 20}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of which most learn, beside one of which few do."""
    parts = {
        Group("mlp", "momentum", "digits"): {"healthy": Count(90, 100, 12), "exploding": Count(10, 100, 12)},
        Group("mlp", "adam", "digits"): {"healthy": Count(20, 100, 12)},
        Group("transformer", "adam", "book"): {"healthy": Count(50, 100, 12)},
    }
    monkeypatch.setattr(starts, "STARTS", parts)
    updates = {True: Count(12, 100, 12), False: Count(80, 100, 12)}
    monkeypatch.setattr(starts, "UPDATES", {("mlp", "momentum"): updates, ("mlp", "adam"): {True: Count(75, 100, 12)}})


@pytest.mark.parametrize(
    ("count", "word"),
    [
        (Count(70, 100, 12), "Most"),
        (Count(69, 100, 12), ""),
        (Count(60, 100, 12), "About half"),
        (Count(40, 100, 12), "About half"),
        (Count(39, 100, 12), ""),
        (Count(30, 100, 12), "Few"),
        (Count(0, 100, 12), "Few"),
        (Count(LEAST - 1, LEAST - 1, 12), ""),
        (Count(100, 100, SHAPES - 1), ""),
        (Count(0, 0, 0), ""),
    ],
)
def test_a_count_is_said_in_words_where_it_is_large_enough_and_clearly_one_of_them(count: Count, word: str) -> None:
    assert count.word == word


@pytest.mark.usefixtures("counted")
def test_what_is_said_holds_for_the_part_that_the_net_belongs_to() -> None:
    of = {
        optimizer: became(RunConfig(**MLP, optimizer=optimizer, lr=0.01), "healthy")
        for optimizer in ("momentum", "adam")
    }
    assert of["momentum"] == (
        "Most of the MLPs drawn at random that start like this learn the digits with momentum in 200 steps."
    )
    assert of["adam"].startswith("Few of the MLPs drawn at random")
    transformer = RunConfig.arranged("pre-norm", net="transformer", task="book", depth=4, device="cpu")
    assert became(transformer, "healthy").startswith("About half of the transformers")
    assert became(transformer, "vanishing") == ""


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    "fields",
    [
        {"optimizer": "sgd"},
        {"optimizer": "adamw", "lr": 0.001},
        {"task": "circles"},
        {"task": "copy"},
        {"task": "reverse"},
        {"task": "recall"},
        {"lr": 0.5},
        {"lr": 1e-5},
        {"depth": 100},
    ],
)
def test_nothing_is_said_of_a_net_that_none_of_the_parts_is_like(fields: dict[str, object]) -> None:
    cfg = RunConfig(**MLP | {"lr": 0.01} | fields)
    assert became(cfg, "healthy") == ""
    assert "drawn at random" not in said_at(cfg, profile_at_init(cfg), 0)["loss"]


@pytest.mark.usefixtures("counted")
def test_nothing_is_said_where_the_task_is_beyond_the_net_or_gives_its_answer_away() -> None:
    seen = RunConfig.arranged("pre-norm", net="transformer", task="book", mask="none", depth=2, device="cpu")
    assert became(seen, "healthy") == ""
    assert after_updates(RunConfig(**MLP, task="copy"), large=False) == ""


@pytest.mark.usefixtures("counted")
def test_the_loss_ends_with_what_became_of_its_part_on_the_first_row_alone() -> None:
    cfg = RunConfig(**MLP)
    run = Run(cfg)
    run.advance(2)
    first, later = (said_at(cfg, run.trace(), row) for row in (0, 1))
    assert first["kind"] == "healthy"
    assert first["loss"].endswith(became(cfg, "healthy"))
    assert became(cfg, "healthy")
    assert "drawn at random" not in later["loss"]


@pytest.mark.usefixtures("counted")
def test_large_updates_are_judged_by_the_optimiser() -> None:
    """With momentum few of those with large updates learn, with Adam three quarters."""
    said = {}
    for optimizer, lr in (("momentum", 5.0), ("adam", 0.1)):
        cfg = RunConfig(**MLP | {"optimizer": optimizer, "lr": lr, "depth": 4})
        run = Run(cfg)
        run.advance(2)
        said[optimizer] = update_sentence(cfg, run.trace(), 1)
    assert all(": more than 30%." in one for one in said.values())
    assert said["momentum"].endswith(
        "Few of the MLPs drawn at random with early updates above 30% learn with momentum."
    )
    assert said["adam"].endswith("Most of the MLPs drawn at random with early updates above 30% learn with Adam.")


@pytest.mark.usefixtures("counted")
def test_nothing_good_is_said_of_updates_beside_another_verdict() -> None:
    """Post-norm of 64 blocks ends at the loss of guessing, and its updates are of a usual size."""
    said = {}
    for arrangement, depth in (("post-norm", 64), ("pre-norm", 8)):
        cfg = RunConfig.arranged(arrangement, depth=depth, width=32, batch=32, device="cpu", steps=20)
        run = Run(cfg)
        run.advance(9)
        kinds = {one.kind for one in verdicts(cfg, run.trace(), 5)}
        said[arrangement] = kinds, update_sentence(cfg, run.trace(), 5)
    kinds, withheld = said["post-norm"]
    assert kinds != {"healthy"}
    assert "learn" not in withheld
    kinds, told = said["pre-norm"]
    assert kinds == {"healthy"}
    assert told.endswith("Most of the MLPs drawn at random with early updates up to 30% learn with momentum.")


def test_the_table_says_nothing_of_parts_that_are_not_drawn() -> None:
    groups = {Group(cfg.net, cfg.optimizer, cfg.task) for cfg in drawn.configurations()}
    assert STARTS.keys() <= groups
    for counts in [*STARTS.values(), *UPDATES.values()]:
        for count in counts.values():
            assert 0 <= count.learn <= count.nets <= drawn.TOGETHER * len(drawn.TIMES) * count.shapes


@pytest.mark.full
def test_nets_that_were_not_counted_bear_the_words_out() -> None:
    """Held-out shapes of up to 16 blocks, by part and verdict: where enough were drawn, the word is right by a margin."""
    held_out = [cfg for cfg in drawn.configurations(seed=drawn.HELD_OUT_SEED) if cfg.depth <= 16 and cfg.net == "mlp"]
    table: dict[tuple[Group, str], Counter[bool]] = {}
    for one in drawn.outcomes(held_out[: 16 * drawn.TOGETHER]):
        group = Group(one.cfg.net, one.cfg.optimizer, one.cfg.task)
        table.setdefault((group, one.start), Counter())[one.became == "learns"] += 1
    judged = 0
    for (group, start), found in table.items():
        count = STARTS.get(group, {}).get(start)
        if count is None or not count.word or found.total() < 2 * drawn.TOGETHER:
            continue
        low, high = WORDS[count.word]
        assert low - drawn.MARGIN <= found[True] / found.total() <= high + drawn.MARGIN, (group, start, found)
        judged += 1
    assert judged >= 2
