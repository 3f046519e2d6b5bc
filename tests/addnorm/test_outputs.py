"""What is found reaches every output, with its numbers, its place in the code and what to do."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import addnorm
from addnorm import watch
from addnorm.__main__ import EXIT_PARTED, main
from addnorm.recording import Recording, read
from addnorm.rules import RULES
from addnorm.table import table
from addnorm.words import number
from tests.addnorm.loops import net, recorded, train
from tests.addnorm.test_findings import told

SKIPLESS = "AN-B1"


def without_a_skip(folder: Path, to: Any = ()) -> Recording:
    """Four rows of a net of which one block has no skip."""
    model: Any = net(5)
    model[3].forward = lambda x: model[3].down(model[3].act(model[3].up(model[3].norm(x))))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, folder / "run.jsonl", optimizer=optimizer, to=to) as recorder:
        train(model, optimizer, recorder, 4)
    found = read(recorder.path)
    assert [one.id for one in found.findings] == [one.id for one in recorder.findings] == [SKIPLESS]
    return found


def test_every_output_says_what_to_do_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = without_a_skip(tmp_path)
    (finding,) = found.findings
    remedy = RULES[SKIPLESS].remedy
    assert (finding.place, finding.remedy, finding.numbers) == ("3", remedy, {"blocks": 1, "peers": 4})
    report = "\n".join(table(found))
    assert f"AN-B1 warning: {finding.sentence}\n  at 3: blocks 1, peers 4, threshold 2 (He 2016" in report
    assert f"What to do: {remedy}." in report
    assert remedy in found.sentence("findings", 3), "on the page, in a notebook and in a page as a file"
    assert main(["show", str(tmp_path / "run.jsonl"), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["findings"]
    assert (shown["place"], shown["remedy"], shown["threshold"]) == ("3", remedy, 2)


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that keeps what is posted to it."""
    posted: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_arguments: Any) -> None:
            """Prints nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", posted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class WandbRun:
    """A run of Weights & Biases as far as it is used."""

    def __init__(self) -> None:
        self.alerts: list[dict[str, str]] = []

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        """Does nothing."""

    def log(self, numbers: dict[str, Any]) -> None:
        """Does nothing."""

    def alert(self, title: str, text: str, level: str = "INFO", wait_duration: float = 60) -> None:
        self.alerts.append({"title": title, "text": text, "level": level})


class TensorBoard:
    """A writer of TensorBoard as far as it is used."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Does nothing."""

    def add_text(self, name: str, text: str, step: int) -> None:
        self.texts[name] = text


def test_dashboards_and_a_webhook_hear_of_a_finding_once(tmp_path: Path) -> None:
    run, board = WandbRun(), TensorBoard()
    with listening() as (address, posted):
        (finding,) = without_a_skip(tmp_path, to=[run, board, address]).findings
    (alert,) = run.alerts
    assert (alert["title"], alert["level"]) == ("AN-B1 warning", "WARN")
    (message,) = posted
    assert (message["id"], message["place"], message["remedy"]) == (SKIPLESS, "3", finding.remedy)
    for text in (alert["text"], board.texts["addnorm/AN-B1"], message["text"]):
        assert finding.sentence in text
        assert finding.advice in text


def test_a_webhook_that_fails_leaves_the_training_alone(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Webhook gets no more of the recording"):
        found = without_a_skip(tmp_path, to="http://127.0.0.1:9/closed")
    assert len(found) == 4
    with pytest.raises(ValueError, match="is not a webhook's address, which begins"):
        watch(net(), tmp_path / "other.jsonl", to=["ftp://example.org"])


def test_a_healthy_table_ends_without_a_fault(tmp_path: Path) -> None:
    assert list(table(recorded(net(), tmp_path)))[-1] == "Nothing was found."


def test_the_command_alone_prints_its_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "compare" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--version"])
    assert addnorm.__version__ in capsys.readouterr().out


def test_a_growing_table_is_printed_until_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(net(), tmp_path, steps=6)
    lines = (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)
    growing = tmp_path / "growing.jsonl"
    growing.write_bytes(b"".join(lines[:2]))

    def grow(_seconds: float) -> None:
        have = growing.read_bytes().count(b"\n")
        growing.write_bytes(b"".join(lines[: have + 4]))

    monkeypatch.setattr("addnorm.__main__.time.sleep", grow)
    assert main(["show", str(growing), "--follow"]) == 0
    printed = capsys.readouterr().out
    assert printed.index("step 0, loss") < printed.index("step 5, loss")
    assert printed.count("step 5, loss") == 1


def test_two_recordings_part_first_where_they_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name / "run.jsonl" for name in ("one", "same", "other")]
    for path in paths:
        model: Any = net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with watch(model, path, optimizer=optimizer) as recorder:
            train(model, optimizer, recorder, 3)
            if path.parent.name == "other":
                with torch.no_grad():
                    model[2].down.weight.mul_(1.5)
            train(model, optimizer, recorder, 2)
    one, same, other = map(str, paths)
    assert main(["compare", one, same]) == 0
    assert capsys.readouterr().out == "They agree in all 5 steps that both have.\n"
    assert main(["compare", one, other]) == EXIT_PARTED
    assert "first differ at step 3: the signal at 2, " in capsys.readouterr().out
    assert main(["compare", one, str(tmp_path / "none.jsonl")]) == 2


def test_sites_of_other_sizes_are_not_compared(tmp_path: Path) -> None:
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    recorder = watch(model, tmp_path / "run.jsonl")
    with pytest.warns(UserWarning, match="No residual additions"):
        output = model(torch.randn(8, 1, 32, 32))
    output.square().mean().backward()
    recorder.step(loss=1.0)
    recorder.close()
    found = read(recorder.path)
    sizes = dict(zip([site.name for site in found.sites], found.row("grad_rms", 0), strict=True))
    assert sizes["5"] > 30 * sizes["0"], "as the sizes of logits and maps are"
    assert found.findings == []
    factor = number(max(sizes["2"] / sizes["0"], sizes["0"] / sizes["2"]))
    assert f"by a factor of {factor} on the way back" in found.sentence("verdict", 0)


def test_a_state_of_the_loss_is_said_from_its_form() -> None:
    first = {"loss_form": [1, 24, 0], "cross_entropy": 40.3, "step": 0}
    (finding,) = told([first, {}]).findings
    assert (finding.id, finding.numbers["classes"]) == ("AN-L3", 24)
    assert finding.numbers["guessing"] == pytest.approx(3.178, rel=1e-3)
    assert told([{**first, "cross_entropy": 5.0}]).findings == []


@pytest.mark.parametrize("unit", [1.0, 32.0, 0.5])
def test_a_loss_that_never_beats_guessing_is_said(unit: float) -> None:
    rows: list[dict[str, Any]] = [{"loss": 1.4 * unit, "update_to_weight": [0.01, 0.01]} for _ in range(120)]
    rows[0] |= {"loss_form": [1, 4, 0], "cross_entropy": 1.4}
    assert [one.id for one in told(rows).findings] == ["AN-L1"]
    falling = [row | {"loss": row["loss"] * 0.99**at} for at, row in enumerate(rows)]
    assert told(falling).findings == []
