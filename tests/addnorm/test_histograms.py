"""Histograms of each site's values, against numpy's of the tensors that plain hooks take."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.__main__ import main
from addnorm.format import BIN_ENDS_RMS, BINS
from addnorm.histogram import MAX_VALUES
from addnorm.recording import Reader, Recording, read
from tests.addnorm.loops import batch, net, recorded
from tests.drawn import run

Given = list[Tensor]


class ConvBlock(nn.Module):
    """x + conv(relu(norm(x)))."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inside(x)


def conv_net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), ConvBlock(), ConvBlock(), nn.Flatten(), nn.Linear(4 * 36, 3))


def seen_and_recorded(model: nn.Sequential, which: list[int], path: Path, inputs: Given) -> tuple[Given, Recording]:
    """Outputs of some modules, pass after pass, as plain hooks copy them, and the recording of the same modules."""
    kept: Given = []
    for at in which:
        model[at].register_forward_hook(lambda _module, _args, out: kept.append(out.detach().clone()))
    with watch(model, path, sites=[str(at) for at in which], detail="histograms") as recorder:
        for x in inputs:
            model(x).square().mean().backward()
            recorder.step()
    return kept, read(recorder.path)


def by_numpy(tensor: Tensor) -> np.ndarray:
    """Shares by bin, as numpy counts them: what lies beyond is moved into the outer bins."""
    x = tensor.double().flatten().numpy()
    end = BIN_ENDS_RMS * np.sqrt(np.mean(x * x))
    counts, _ = np.histogram(np.clip(x, -end, end), BINS, (-end, end))
    return counts / len(x)


@pytest.mark.parametrize(
    ("build", "which", "draw"),
    [(net, [1, 2, 3], lambda k: batch(k, 50)[0]), (conv_net, [1, 2], lambda k: 3 * torch.randn(5, 3, 8, 8))],
)
def test_a_histogram_is_numpys_of_the_tensor_that_a_hook_takes(
    build: Callable[[], nn.Sequential], which: list[int], draw: Callable[[int], Tensor], tmp_path: Path
) -> None:
    inputs = [draw(k) for k in range(3)]
    inputs[2] = inputs[2] * (1 + 30 * (torch.rand_like(inputs[2]) > 0.98))  # outliers, beyond the ends
    kept, found = seen_and_recorded(build(), which, tmp_path / "run.jsonl", inputs)
    assert (found.problem, found.bins, len(found.sites)) == ("", BINS, len(which))
    expected = [kept[at : at + len(which)] for at in range(0, len(kept), len(which))]
    for row, tensors in enumerate(expected):
        shares = np.array(found.histogram(row))
        assert shares.shape == (len(which), BINS)
        for site, tensor in enumerate(tensors):
            assert np.abs(shares[site] - by_numpy(tensor)).max() <= 1 / tensor.numel()
            assert shares[site].sum() == pytest.approx(1, abs=BINS * 1e-5)
    assert max(found.histogram(2)[0][0], found.histogram(2)[0][-1]) > 0


def one_row(x: Tensor, path: Path) -> list[float]:
    """The histogram of what a model is given."""
    model = nn.Sequential(nn.Identity(), nn.Linear(x.shape[-1], 4))
    _, found = seen_and_recorded(model, [0], path, [x])
    return found.histogram(0)[0]


def test_zeros_and_numbers_that_are_not_finite(tmp_path: Path) -> None:
    zeros = one_row(torch.zeros(4, 8), tmp_path / "zeros.jsonl")
    assert zeros == [0.0] * (BINS // 2) + [1.0] + [0.0] * (BINS // 2 - 1)
    x = torch.randn(10, 10, generator=torch.Generator().manual_seed(0))
    finite = x.flatten()[10:]
    x[0, :5], x[0, 5:] = math.nan, torch.tensor([math.inf, -math.inf, math.nan, math.inf, math.nan])
    shares = one_row(x, tmp_path / "nan.jsonl")
    assert sum(shares) == pytest.approx(0.9, abs=1e-9)
    assert shares == pytest.approx(list(0.9 * by_numpy(finite)), abs=1e-9)
    assert one_row(torch.full((4, 8), math.nan), tmp_path / "all.jsonl") == [0.0] * BINS
    for scale in (1e-30, 1e30):
        assert one_row(scale * torch.ones(4, 8), tmp_path / f"{scale}.jsonl")[20] == 1.0  # 1 RMS, on an edge


def test_of_a_large_tensor_an_even_sample_is_counted(tmp_path: Path) -> None:
    x = torch.randn(3000, 64, generator=torch.Generator().manual_seed(0))
    x[:, ::2] *= 5  # a sample at a stride of two would see one half alone
    assert x.numel() > 2 * MAX_VALUES
    shares = one_row(x, tmp_path / "run.jsonl")
    assert shares == pytest.approx(list(by_numpy(x)), abs=5 / math.sqrt(MAX_VALUES))


def test_small_batches_of_one_update_give_the_mean_of_their_shares(tmp_path: Path) -> None:
    model, kept = net(), []
    model[1].register_forward_hook(lambda _module, _args, out: kept.append(out.detach().clone()))
    with watch(model, tmp_path / "run.jsonl", sites=["1"], detail="histograms") as recorder:
        for step in range(2):
            for part in range(2):
                model(batch(2 * step + part)[0]).square().mean().backward()
            recorder.step()
    found = read(recorder.path)
    for row in range(2):
        expected = (by_numpy(kept[2 * row]) + by_numpy(kept[2 * row + 1])) / 2
        assert found.histogram(row)[0] == pytest.approx(list(expected), abs=1e-5)


def test_histograms_are_in_rows_with_updates_bounded_in_bytes_and_change_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain, found = recorded(net(), tmp_path / "plain", 12), recorded(net(), tmp_path, 12, detail="histograms")
    bare, lines = (
        [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
        for folder in (tmp_path / "plain", tmp_path)
    )
    rows = [line for line in lines if "step" in line]
    assert [row["step"] for row in rows if "histogram" in row] == [0, 1, 2, 4, 8]
    assert [row["step"] for row in rows if "update_to_weight" in row] == [0, 1, 2, 4, 8]
    for row in rows:
        size = len(json.dumps(row.get("histogram", []), separators=(",", ":")))
        assert size <= 2 + 8 * BINS * len(found.sites)
    own = {"histogram", "bins", "seconds", "created"}
    without = [[{key: line[key] for key in line if key not in own} for line in one] for one in (bare, lines)]
    assert without[0] == without[1]
    assert "bins" not in bare[0]
    assert (plain.bins, plain.histogram(0), found.histogram(3)) == (0, [], [])
    again = Reader()
    again.feed(b"".join(found.lines()))
    assert again.recording.histograms == found.histograms


def test_show_tells_of_them_and_the_player_draws_the_last_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from addnorm.player.charts import recorded_values

    found = recorded(net(), tmp_path, 7, detail="histograms")
    assert main(["show", str(tmp_path / "run.jsonl")]) == 0
    assert "Histograms of the signal at 4 steps, the last at step 4: --html draws them." in capsys.readouterr().out
    code = """
    const log = new runlog.RunLog({ link: "", recording: null })
    log.decoder.feed(new TextEncoder().encode(text))
    log.decoder.finish()
    const now = { logs: [log], position: shown, shown, furthest: 6, playing: false }
    const [{ x, z, customdata, colorbar }] = bind.fillFigure(figure, now, {}).data
    return { x, rows: z.length, customdata, said: colorbar.title.text, update: log.frame(shown, 0, "update_to_weight").step }
    """
    text = (tmp_path / "run.jsonl").read_text()
    drawn = run(code, text=text, figure=recorded_values("Values by layer", 0), shown=6)
    assert (drawn["x"][0], drawn["x"][-1], len(drawn["x"])) == (-3.875, 3.875, BINS)
    assert (drawn["rows"], drawn["said"], drawn["update"]) == (len(found.sites), "share<br>step 4", 4)
    assert [list(row) for row in drawn["customdata"]] == [pytest.approx(row, rel=1e-3) for row in found.histogram(4)]
