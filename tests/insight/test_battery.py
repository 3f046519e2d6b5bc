"""The sentences of drawn runs: none contradicts another, and what is printed of them is counted right."""

import json
from dataclasses import replace

import pytest

from models.insight.sentences import sentences_at
from models.spec import RunConfig
from tests.insight.battery import Judged, contradictions, drawn, figures, judged, linear_accuracy, main, trained

FEW = [cfg for cfg in drawn(31, 60, steps=40, max_seconds=0.25) if cfg.batch < 64][:5]
MANY = list(drawn(32, 40, steps=120, max_seconds=3.0))
HEALTHY = Judged({}, ("healthy",), "", "", "learns", (2.3, 0.1, 0.1), 0.9, False, False, ())


@pytest.mark.parametrize("cfg", [*FEW, *(pytest.param(cfg, marks=pytest.mark.full) for cfg in MANY)])
def test_no_two_sentences_of_a_run_contradict(cfg):
    assert judged(cfg).contradictions == ()


@pytest.mark.parametrize(
    ("loss", "verdict", "kind"),
    [
        ("Step 8: loss 0.2: it learns.", "Inert branches: nothing.", "inert beside learning"),
        ("Step 8: loss 0.6: it begins to learn.", "Healthy.", "learning at chance"),
        ("Step 8: loss 0.6: it learns.", "Vanishing: hardly any.", "failing beside learning"),
        ("Step 9: loss 0.6, held-out accuracy 51%: slightly.", "Healthy.", "a number of another step"),
        ("Step 8: loss 0.6.", "training can switch them on.", "a promise after the start"),
        ("Step 9: no better than that.", "Healthy: all.", "healthy at the end beside a guess"),
        ("Step 8: not on held-out samples.", "Healthy.", "samples blamed for a mode"),
        ("Step 8: loss 0.6, (eval mode) nan.", "Healthy.", "a number that is none"),
    ],
)
def test_planted_contradictions_are_found(loss, verdict, kind):
    cfg = RunConfig(task="circles", depth=1, width=8, batch=8, steps=9, device="cpu")
    trace = trained(cfg)
    at = 9 if "Step 9" in loss else 8
    said = [sentences_at(cfg, trace, row) for row in range(at)] + [{"loss": loss, "verdict": verdict, "brief": verdict}]
    frames = [replace(frame, held_out_accuracy=0.51, train_mode_loss=0.2) for frame in trace.frames if frame.step <= 8]
    found = contradictions(cfg, replace(trace, frames=tuple(frames)).first(at + 1), said)
    found = [one.partition(":")[0] for one in found]
    assert kind in found


def test_a_cut_net_learns_what_lines_part():
    assert linear_accuracy("linear", "mlp") > 0.95
    assert linear_accuracy("circles", "mlp") < 0.65


def test_wrong_words_are_counted():
    wrong = [replace(HEALTHY, outcome="gets stuck"), replace(HEALTHY, kinds=("vanishing",))]
    shares = {figure.name: figure.value for figure in figures([HEALTHY] * 3 + wrong)}
    assert shares["healthy, and does not learn"] == 1 / 4
    assert shares["exploding, vanishing, collapsed or diverged, and learns"] == 1


def test_the_battery_prints_and_writes_its_runs(tmp_path, capsys):
    file = tmp_path / "runs.json"
    assert main(["--seeds", "3", "--count", "1", "--steps", "4", "--processes", "1", "--json", str(file)]) == 0
    assert "seed 3      contradict themselves" in capsys.readouterr().out
    runs = json.loads(file.read_text(encoding="utf-8"))["3"]
    assert [RunConfig.from_query(run["link"])[0].steps for run in runs] == [4]
