"""What is installed: the names of the package, its wheel, and a clone that stays clean."""

import inspect
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest

import addnorm
import addnorm.recording
from tests.addnorm.loops import net, recorded

ROOT = Path(__file__).parents[2]

# By extra: the package that it installs, and what of addnorm needs it.
USES: dict[str, tuple[str, Callable[[addnorm.Recording], Any]]] = {
    "frames": ("pandas", lambda recording: recording.frame()),
    "figures": ("plotly", lambda recording: recording.figure()),
    "huggingface": ("transformers", lambda _: import_module("addnorm.huggingface")),
    "lightning": ("lightning", lambda _: import_module("addnorm.lightning")),
}


@pytest.mark.parametrize("extra", USES)
def test_a_missing_or_broken_extra_is_one_sentence(extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, use = USES[extra]
    recording = recorded(net(), tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == package or name == f"addnorm.{extra}"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(ROOT)])  # where nothing is installed
    (tmp_path / package).mkdir()  # a folder of that name is no package
    with pytest.raises(ImportError, match=rf"^`?\w+`? needs {package}: pip install 'addnorm\[{extra}\]'\.$"):
        use(recording)
    monkeypatch.delitem(sys.modules, package, raising=False)
    (tmp_path / package / "__init__.py").write_text("raise RuntimeError('operator nms does not exist\\nat all')")
    invalidate_caches()
    with pytest.raises(
        ImportError, match=rf"{package}, which is installed but does not load: operator nms does not exist$"
    ):
        use(recording)


def test_every_file_names_the_same_project() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    (author,) = project["authors"]
    assert f"- name: {author['name']}\nversion: {addnorm.__version__}\n" in citation
    assert json.loads((ROOT / ".zenodo.json").read_text("utf-8"))["creators"] == [author]
    assert f"## [{addnorm.__version__}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")
    repository = project["urls"]["Repository"].removeprefix("https://github.com")
    owner, name = repository.strip("/").split("/")
    named = dict.fromkeys(("CITATION.cff", "README.md", "mkdocs.yml", "examples/notebook.ipynb"), repository)
    named |= {"docs/governance.md": f"`{owner}` with the repository `{name}`"}
    for file, what in named.items():
        assert what in (ROOT / file).read_text("utf-8"), file


def test_every_public_name_is_listed_and_leads_to_what_it_says() -> None:
    assert set(addnorm.__all__) <= set(dir(addnorm))
    assert all(getattr(addnorm, name).__name__ == name for name in addnorm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        addnorm.nothing  # noqa: B018


@pytest.mark.full
def test_the_wheel_holds_the_recorder_alone(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77", reason="pip would fetch setuptools to build the package")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    clone = tmp_path / "clone"
    for name in [one for one in listed.split("\0") if one.startswith("addnorm/") or (one.count("/") == 0 and one)]:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    before = {path for path in clone.rglob("*") if path.is_file()}
    pip = [
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-index",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
        tmp_path,
        clone,
    ]
    subprocess.run([sys.executable, *pip], cwd=tmp_path, check=True)
    assert {path for path in clone.rglob("*") if path.is_file()} == before
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"addnorm-{addnorm.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
        facts = packed.read(f"addnorm-{addnorm.__version__}.dist-info/METADATA").decode()
    held = {path.relative_to(clone).as_posix() for path in before if path.is_relative_to(clone / "addnorm")}
    assert names == {name for name in held if not name.startswith("addnorm/engine/")}, "the app's engine stays out"
    assert "Requires-Dist: torch>=2.4\n" in facts
    assert "Requires-Python: >=3.10" in facts
    assert "# addnorm" in facts, "the page of the package index"


def test_the_manual_names_every_argument_and_everything_that_a_recorder_and_a_profile_have() -> None:
    manual = (ROOT / "docs" / "recorder.md").read_text(encoding="utf-8")
    functions = (addnorm.watch, addnorm.profile, addnorm.coordinates)
    given = [pair for one in functions for pair in inspect.signature(one).parameters.items()]
    for name, argument in given:
        assert f"`{name}{'=' if argument.kind is argument.KEYWORD_ONLY else ''}`" in manual
    inner = {"begin_pass", "end_pass", "step_of", "snapshot", "csv"}  # of other loops, and in `.csv(...)`
    for kind in (addnorm.Recorder, addnorm.Profile, addnorm.Coordinates, addnorm.recording.Display):
        for name in [one for one in vars(kind) if not one.startswith("_") and one not in inner]:
            assert re.search(rf"`(\w+\.)?\.?{name}\b", manual), name


@pytest.mark.full
def test_nothing_in_the_package_needs_more_than_python_3_10(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    checked = [sys.executable, "-m", "mypy", "--python-version", "3.10", "--cache-dir", str(tmp_path), "addnorm"]
    said = subprocess.run(checked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout
