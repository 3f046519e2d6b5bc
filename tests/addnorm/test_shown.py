"""How recordings show themselves: in a notebook, as a page, as tables, as a figure."""

import csv
import html
import json
import math
import re
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

import examples
from addnorm import display, live, profile, read, side_by_side, watch
from addnorm.__main__ import main
from addnorm.recording import Reader, Recording
from addnorm.words import verdict
from tests.addnorm.loops import net, recorded, train
from tests.addnorm.test_read import END, HEADER, ROW, fed

SHIPPED = Path(examples.__file__).parent / "recordings"
ROOT = SHIPPED.parents[1]


@pytest.mark.parametrize("name", ["digits", "gpt2"])
def test_a_recording_that_was_read_writes_the_same_file_again(name: str) -> None:
    path = SHIPPED / f"{name}.jsonl"
    assert b"".join(read(path).lines()) == path.read_bytes()


def test_numbers_that_are_not_finite_or_not_measured_are_written_again_as_they_were() -> None:
    row = {**ROW, "loss": None, "act_rms": ["NaN", None], "grad_rms": ["Infinity", 0.5]}
    huge = json.dumps({**HEADER, "meta": {"steps": "huge"}}).replace('"huge"', "1e400").encode()
    one = fed({**HEADER, "meta": {}}, row, {**row, "step": 3, "skipped": True}, END)
    again = fed(raw=b"".join(one.lines()))
    assert again.problem == ""
    assert (again.masks, again.skipped, again.end) == (one.masks, one.skipped, one.end)
    assert list(map(repr, again.series["act_rms"])) == list(map(repr, one.series["act_rms"]))
    assert fed(raw=b"".join(fed(raw=huge + b"\n").lines())).header["meta"] == {}


def test_a_long_recording_is_thinned_to_what_an_output_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(SHIPPED / "digits.jsonl")
    monkeypatch.setattr(display, "MAX_OUTPUT_BYTES", 90_000)
    page = html.unescape(whole._repr_html_() or "")
    assert "one of 4 rows, and those with updates" in page
    part = Reader().feed(b"".join(whole.lines(4)))
    assert (part.steps[0], part.steps[-1]) == (whole.steps[0], whole.steps[-1])
    assert sum(map(sum, (part.measured("update_to_weight", at) for at in range(len(part))))) == sum(
        whole.masks["update_to_weight"]
    )


def test_a_notebook_frames_the_player_safely() -> None:
    one = read(SHIPPED / "gpt2.jsonl")
    bundle = one._repr_mimebundle_()
    assert bundle["text/plain"].startswith("GPT2LMHeadModel, 308,928 parameters, 150 rows, ended\nstep 149")
    frame = bundle["text/html"]
    assert 'sandbox="allow-scripts"' in frame
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert "default-src 'none'" in page
    assert page.rstrip().endswith("</html>")
    left = re.sub(r"<[^>]*>", "", frame)  # what Jupyter keeps where a notebook is not trusted
    assert left.startswith("The player is left out because this notebook is not trusted: trust it, or run the cell")
    assert left.endswith(f"Step 149: {verdict(one, 149)}")
    assert repr(one) == "<Recording of GPT2LMHeadModel, 150 rows, 13 sites>"
    assert Recording()._repr_mimebundle_() == {"text/plain": "There is no row yet."}


def test_no_name_of_a_recording_is_taken_for_markup() -> None:
    hostile = '"></iframe><img src=x onerror=alert(1)>'
    sites = [{**site, "name": hostile} for site in HEADER["sites"]]
    frame = fed({**HEADER, "model": hostile, "sites": sites}, ROW)._repr_html_() or ""
    assert frame.count("<") == 2, "the frame and its end"
    assert "<img" not in html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])


def test_the_tables_hold_every_number_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    one = read(SHIPPED / "digits.jsonl")
    sites, blocks, steps = one.frame(), one.frame("block"), one.frame("step")
    assert list(sites["act_rms"]) == list(one.series["act_rms"])
    assert list(sites["grad_rms"]) == list(one.series["grad_rms"])
    last = sites[(sites["step"] == 299) & (sites["site"] == "12")]
    assert (last["depth"].item(), last["act_rms"].item()) == (12, one.row("act_rms", 299)[12])
    assert len(blocks) == len(one) * len(one.blocks)
    assert blocks["update_to_weight"].notna().sum() == sum(one.masks["update_to_weight"])
    assert list(steps["loss"]) == list(one.scalars["loss"])
    with pytest.raises(ValueError, match="neither site nor block nor step"):
        one.frame("layer")  # type: ignore[arg-type]
    with one.csv(tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["act_rms"]) for row in rows] == list(one.series["act_rms"])
    assert rows[-1]["sample_cosine"] == "", "not measured in this row"


def test_the_figure_is_of_the_step_asked_for() -> None:
    pytest.importorskip("plotly")
    one = read(SHIPPED / "digits.jsonl")
    act, grad = one.figure(step=10).data
    assert list(act.y) == list(one.row("act_rms", 10))
    assert list(grad.y) == list(one.row("grad_rms", 10))
    assert list(act.text) == [site.name for site in one.sites]
    assert "Step 299" in one.figure().layout.title.text


def test_the_command_writes_the_page_and_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, table = tmp_path / "run.html", tmp_path / "run.csv"
    given = ["show", str(SHIPPED / "digits.jsonl"), "--html", str(page), "--csv", str(table)]
    assert main(given) == 0
    assert capsys.readouterr().out.split() == [str(page), str(table)]
    assert "default-src 'none'" in page.read_text(encoding="utf-8")
    assert len(table.read_text(encoding="utf-8").splitlines()) == 300 * 13 + 1
    assert main([*given[:2], "--html", str(tmp_path / "none" / "run.html")]) == 2
    assert capsys.readouterr().err.endswith("cannot be written: No such file or directory.\n")


def test_up_to_eight_stand_on_one_page_by_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, batch = net(), torch.randn(4, 4)
    runs = {"digits": read(SHIPPED / "digits.jsonl"), "checkpoint": profile(model, batch)}
    page = side_by_side(runs, tmp_path / "both.html").read_text()
    assert "<title>digits beside checkpoint</title>" in page
    assert all(f'"recording":"{name}"' in page for name in runs)
    for wrong in ({}, dict.fromkeys("123456789", runs["digits"]), {"empty": Recording()}):
        with pytest.raises(ValueError, match=r"legal is 1 to 8|no row"):
            side_by_side(wrong, tmp_path / "wrong.html")
    paths = [str(SHIPPED / f"{name}.jsonl") for name in ("digits", "gpt2", "x-transformer")]
    assert main(["show", *paths, "--html", str(tmp_path / "three.html")]) == 0
    assert "digits beside gpt2 beside x-transformer" in Path(capsys.readouterr().out.strip()).read_text()
    for arguments in (paths, [*paths, "--csv", "one.csv"], [*paths * 3, "--html", "nine.html"]):
        with pytest.raises(SystemExit) as ended:
            main(["show", *arguments])
        assert ended.value.code == 2


@pytest.mark.parametrize("value", [sys.float_info.max, 1e308, 5e-324])
@pytest.mark.parametrize("series", ["loss", "act_rms", "grad_rms"])
def test_any_legal_number_is_shown(series: str, value: float, tmp_path: Path) -> None:
    sign = -1 if series == "loss" else 1
    for values in (value, sign * value), (value, value):
        rows = [{**ROW, "step": at, series: one if series == "loss" else [one, one]} for at, one in enumerate(values)]
        recording = fed(HEADER, *rows, END)
        assert recording.problem == ""
        page = recording.html(tmp_path / "page.html").read_text(encoding="utf-8")
        assert not re.search(r'd="[^"]*(nan|inf)', page)
        assert str(recording)


def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    name = '=HYPERLINK("a.example")'
    sites = [{**site, "name": name} if at else {**site, "name": "-1+1"} for at, site in enumerate(HEADER["sites"])]
    recording = fed({**HEADER, "sites": sites}, ROW, END)
    with recording.csv(tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert f"'{name}" in cells
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@") or (cell[:1] == "-" and not _is_number(cell))]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", text) is not None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
@pytest.mark.parametrize("option", ["--json", "--html=/dev/full", "--csv=/dev/full"])
def test_a_full_disk_is_one_sentence(option: str) -> None:
    command = [sys.executable, "-m", "addnorm", "show", str(SHIPPED / "digits.jsonl"), option]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr


def test_a_page_is_made_without_torch_and_without_numpy() -> None:
    path = str(SHIPPED / "digits.jsonl")
    code = f"import sys, addnorm; addnorm.read({path!r})._repr_html_(); print({{'torch', 'numpy'}} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"


# --- while it trains ---


class Handle:
    """What IPython's `display` gives: remembers what was shown."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def update(self, what: Any) -> None:
        self.shown.append(what)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Handle:
    handle, ipython, display = Handle(), ModuleType("IPython"), ModuleType("IPython.display")

    def shown(what: Any, display_id: bool) -> Handle:
        handle.update(what)
        return handle

    ipython.get_ipython = lambda: SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    display.display = shown  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    return handle


@pytest.fixture
def widgets(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What anywidget gives: each widget remembers the pieces that it is sent, its state and its messages alike."""
    made: list[Any] = []

    class Widget:
        def __init__(self, page: str) -> None:
            self.page, self.pieces = page, list[tuple[int, bytes]]()
            made.append(self)

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "recording":
                self.pieces.append((0, value))

        def send(self, content: dict[str, int], buffers: list[bytes]) -> None:
            self.pieces.append((content["start"], *buffers))

    def trait() -> Any:
        return SimpleNamespace(tag=lambda sync: None)

    anywidget, traitlets = ModuleType("anywidget"), ModuleType("traitlets")
    anywidget.AnyWidget = Widget  # type: ignore[attr-defined]
    anywidget.__spec__ = ModuleSpec("anywidget", None, origin="here")
    traitlets.Unicode = traitlets.Bytes = trait  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "anywidget", anywidget)
    monkeypatch.setitem(sys.modules, "traitlets", traitlets)
    return made


def trained(folder: Path, *, show: bool, steps: int = 20) -> list[float]:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, folder / "run.jsonl", optimizer=optimizer) as recorder:
        if show:
            recorder.show()
        return train(model, optimizer, recorder, steps)


def test_a_notebook_follows_the_file_as_it_grows(
    tmp_path: Path, notebook: Handle, widgets: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (SHIPPED / "digits.jsonl").read_bytes()
    (path := tmp_path / "run.jsonl").touch()
    monkeypatch.setattr(live, "PAUSE_SECONDS", 0.0)
    output = live.Live(path)
    (widget,) = widgets
    for end in range(1000, len(data) + 999, 1000):  # inside lines
        path.write_bytes(data[:end])
        output.refresh()
        output.refresh()  # nothing new
        start, piece = widget.pieces[-1]
        assert data[start : start + len(piece)] == piece
        assert start + len(piece) == min(end, len(data)), "the browser has what the file has"
    wholes = [len(piece) for start, piece in widget.pieces if not start]
    assert len(wholes) > 10, "a browser that heard no piece gets the whole"
    assert sum(wholes) < 3.1 * len(data)
    output.finish()
    first, last = notebook.shown
    assert (first, len(last)) == (widget, 300)
    monkeypatch.setattr(live, "PAUSE_SECONDS", math.inf)
    (output := live.Live(path)).refresh()
    path.write_bytes(data * 2)
    output.refresh()
    assert len(widgets[1].pieces) == 1, "no piece before the pause is over"
    assert trained(tmp_path / "a", show=True) == trained(tmp_path / "b", show=False)


def test_too_long_a_recording_is_shown_at_its_end(
    notebook: Handle, widgets: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MAX_PAGE_BYTES", 2000)
    (output := live.Live(SHIPPED / "digits.jsonl")).refresh()
    output.finish()
    assert notebook.shown[0] is widgets[0]
    assert repr(notebook.shown[1]) == live.TOO_LONG
    assert len(notebook.shown[2]) == 300


def test_without_anywidget_one_sentence_names_the_extra(tmp_path: Path, notebook: Handle) -> None:
    trained(tmp_path, show=True)
    note, last = notebook.shown
    assert repr(note) == (
        "The live player needs anywidget: pip install 'addnorm[notebook]'. The player appears here when the recording ends."
    )
    assert len(last) == 20


def test_outside_of_a_notebook_or_where_its_output_fails_training_goes_on(tmp_path: Path, notebook: Handle) -> None:
    def failing(_what: Any) -> None:
        raise OSError("the front end is gone")

    notebook.update = failing  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match="the front end is gone"):
        trained(tmp_path / "a", show=True)
    assert len(read(tmp_path / "a" / "run.jsonl")) == 20
    sys.modules["IPython"].get_ipython = lambda: None  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="draws in a notebook, and this is not one"):
        trained(tmp_path / "b", show=True)
    assert read(tmp_path / "b" / "run.jsonl").is_complete


def test_a_recorder_shows_what_it_has_written_so_far(tmp_path: Path) -> None:
    assert str(recorded(net(), tmp_path)).startswith("Sequential, ")
    recorder = watch(net(), tmp_path / "next.jsonl")
    assert str(recorder) == "There is no row yet."
    with pytest.warns(UserWarning, match="has no rows"):
        recorder.close()
