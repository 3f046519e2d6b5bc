"""Coordinate checks: sizes against a loop by hand, slopes against numpy, and what muP promises of them."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from addnorm.coordinate_check import FLAT, Coordinates, slope
from models.cli import main
from models.maps.coordinates import CoordinateCheck, coordinates_of
from models.maps.prepared import CHECKS, PREPARED, recorded_check, recording
from models.maps.sensitivity import best_rates
from models.maps.unit import run_check_value
from models.nets import build_model
from models.spec import RunConfig
from models.tasks import open_task
from models.training import cross_entropy
from models.training.coordinates import site_rms

SMALL = RunConfig(depth=3, width=16, batch=8, optimizer="adam", lr=0.01)
WIDE = (32, 64, 128, 256, 512)
DEEP = (8, 16, 32, 64)


def check(cfg: RunConfig, field: str, values: tuple[int, ...], **fields: object) -> Coordinates:
    """A check computed in this process."""
    given = CoordinateCheck(replace(cfg, **fields), field, values, seeds=2)
    return coordinates_of(given, [run_check_value(given.to_json(), at)["size"] for at in range(len(values))])


def test_sizes_are_those_of_a_loop_by_hand() -> None:
    found = site_rms(SMALL, 3)
    model = build_model(SMALL)
    x, y = open_task(SMALL, torch.device("cpu")).batch(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for row in found:
        stream = [model.embed(x)]
        for block in model.stream.blocks.values():
            stream.append(block["mlp"](stream[-1]))
        stream.append(model(x))
        assert row == pytest.approx([part.square().mean().sqrt().item() for part in stream], rel=1e-4)
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
    assert found[0][1:] != found[3][1:]


def test_a_slope_is_the_least_squares_line_through_the_logarithms() -> None:
    source = np.random.default_rng(3)
    values, given = [16, 24, 64, 512], source.lognormal(size=4).tolist()
    assert slope(values, given) == pytest.approx(np.polyfit(np.log(values), np.log(given), 1)[0])
    assert slope(values, [3 * value**0.5 for value in values]) == pytest.approx(0.5)
    for lost in (0.0, math.nan, math.inf):
        assert math.isnan(slope(values, [1.0, lost, 1.0, 1.0]))


def test_the_verdict_is_a_function_of_the_sizes() -> None:
    def of(power: float) -> Coordinates:
        return Coordinates((16, 64), ("x0", "logits"), tuple((((1.0, width**power),),) for width in (16, 64)))

    assert of(FLAT - 0.001).flat
    assert of(FLAT - 0.001).verdict.startswith("Flat: after 0 steps")
    assert "the size at logits grows as width^0.50" in of(0.5).verdict
    assert "the size at logits shrinks as width^-0.50" in of(-0.5).verdict
    assert not of(math.nan).flat
    assert "the size at logits is 0 or not finite" in of(math.nan).verdict


@pytest.mark.parametrize(("optimizer", "lr"), [("adam", 0.01), ("momentum", 0.1)])
def test_after_four_steps_the_standard_net_drifts_with_its_width_and_mup_is_flat(optimizer: str, lr: float) -> None:
    standard, mup = (
        check(SMALL, "width", WIDE, optimizer=optimizer, lr=lr, parametrization=name) for name in ("standard", "muP")
    )
    assert standard.slope(4, "logits") > 0.3
    assert not standard.flat
    assert optimizer != "adam" or standard.slope(4, "b03") > 0.3
    for site in mup.sites:
        assert abs(mup.slope(4, site)) < FLAT, site
    assert mup.flat
    assert mup.slope(0, "logits") == pytest.approx(-0.5, abs=0.1), "a drawn head whose logits fall as 1/sqrt(width)"


@pytest.mark.full
def test_the_first_update_moves_a_transformers_logits_as_much_at_every_width(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = RunConfig.arranged(
        "pre-norm", net="transformer", task="copy", depth=4, optimizer="adam", lr=0.002, parametrization="muP"
    )
    monkeypatch.setattr("models.nets.build.head_gain", lambda _: 0.0)
    mup = check(transformer, "width", WIDE[1:4])
    standard = check(transformer, "width", WIDE[1:4], parametrization="standard")
    assert mup.size[0][0][0][-1] == 0, "a zero head: what the logits are is what the update made"
    assert abs(mup.slope(1, "logits")) < 2 * FLAT
    assert standard.slope(1, "logits") > 0.5


@pytest.mark.parametrize(("optimizer", "lr"), [("adam", 0.003), ("sgd", 0.1)])
def test_after_four_steps_only_branches_over_depth_are_flat_over_it(optimizer: str, lr: float) -> None:
    fields = {"width": 64, "optimizer": optimizer, "lr": lr}
    mup, over_depth = (check(SMALL, "depth", DEEP, parametrization=name, **fields) for name in ("muP", "muP + 1/depth"))
    assert mup.sites == ("x0", "middle", "end", "logits")
    assert mup.slope(4, "end") > 0.3
    for site in ("x0", "middle", "end"):
        assert abs(over_depth.slope(4, site)) < FLAT, site


@pytest.mark.parametrize(("field", "name"), CHECKS)
def test_a_prepared_check_is_recorded_and_its_verdict_is_the_papers(field: str, name: str) -> None:
    recorded = recorded_check(CHECKS[field, name])
    assert recorded is not None
    assert recorded.torch.startswith("2.13.0")
    found = recorded.coordinates
    assert len(list(found.rows())) == len(found.values) * 8 * 5 * len(found.sites)
    flat = {"width": ("muP", "muP + 1/depth"), "depth": ("muP + 1/depth",)}
    assert found.flat == (name in flat[field]), found.verdict


def test_the_narrowest_nets_of_a_check_come_out_as_recorded() -> None:
    given = CHECKS["width", "muP"]
    recorded = recorded_check(given)
    assert recorded is not None
    for at in (0, 1):
        np.testing.assert_allclose(
            run_check_value(given.to_json(), at)["size"], recorded.coordinates.size[at], rtol=0.01
        )


def test_the_best_rate_moves_with_the_width_of_the_standard_net_and_stands_still_under_mup() -> None:
    """By hand: of each width the rate of the least loss, and the slope of their logarithms by numpy."""
    slopes = {}
    for key in ("rate over width", "rate over width under muP"):
        spec, kept = PREPARED[key].spec, recording(key)
        assert kept is not None
        found = best_rates(spec, kept.outcomes)
        assert found is not None
        for width in spec.y.values:
            losses = {
                rate: np.mean([math.log(run.final_loss) for run in kept.outcomes if (run.x, run.y) == (rate, width)])
                for rate in spec.x.values
            }
            assert found.rates[width] == min(losses, key=losses.__getitem__)
        slopes[key] = np.polyfit(np.log(spec.y.values), np.log(list(found.rates.values())), 1)[0]
        assert found.slope == pytest.approx(slopes[key])
        assert found.is_flat == (key == "rate over width under muP")
    assert slopes["rate over width"] < -0.7
    unfinished = [run for run in kept.outcomes if run.seed]
    assert best_rates(spec, unfinished) is None
    assert best_rates(PREPARED["arrangements"].spec, []) is None


def test_the_command_prints_slopes_and_the_verdict_and_writes_every_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = ["depth=2", "batch=4", "optimizer=adam", "lr=0.01", "device=cpu"]
    given = [word for field in fields for word in ("--set", field)]
    out = tmp_path / "sizes.csv"
    assert main(["coordinates", *given, "--width", "16..64", "--seeds", "2", "--jobs", "1", "--csv", str(out)]) == 0
    cfg = RunConfig(depth=2, batch=4, optimizer="adam", lr=0.01, device="cpu")
    expected = check(cfg, "width", (16, 32, 64))
    assert str(expected) in capsys.readouterr().out
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert len(rows) == 3 * 2 * 5 * 4
    assert [float(row["rms"]) for row in rows] == pytest.approx([size for *_, size in expected.rows()], rel=1e-6)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "a coordinate check needs --width 16..512 or --depth 2..128"),
        (["--width", "x"], "--width is x; legal is as 16..512"),
        (["--width", "64..16"], "legal is a range within 1 to 512"),
        (["--width", "9999999999,3"], "legal is as 16..512"),
        (["--width", "16,16"], "legal are 2 to 24 different values"),
        (["--depth", "2,1000"], "Depth 1,000 is out of range (1 to 128)"),
        (
            ["--width", "20..80", "--set", "net=transformer", "--set", "heads=8"],
            "width 20 does not divide into 8 heads",
        ),
        (["--width", "16..512", "--set", "net=transformer", "--set", "batch=512"], "This is over budget"),
        (["--width", "16..64", "--seeds", "9"], "seeds is 9; legal is 1 to 8"),
        (["--width", "16..64", "--jobs", "-1"], "--jobs is -1; legal is 1 to 256"),
    ],
)
def test_bad_input_gets_one_sentence(given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coordinates", *given]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
