"""The loader of `content/`: a fault is one sentence with file and line, and a change is seen at the next look."""

import re
import shutil
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addnorm.words import number
from models import content
from models.claims import judging
from models.claims.claims import CLAIMS, claim
from models.content import (
    Content,
    ContentError,
    Texts,
    fill,
    placeholders,
    read,
    text_tables,
    unwrapped,
)
from models.experiment import experiments_from, judges_of
from models.lessons import judges
from models.lessons.glossary import _entries
from models.lessons.lessons import LESSONS, lesson
from models.papers.papers import PAPERS, paper
from tests.headings import Module, modules
from tests.stated import check_numbers_named, kind_of

ROOT = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of all words, that a test may spoil."""
    for room in ("content", "exhibits"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(content, "FOLDER", tmp_path / "content/en")
    monkeypatch.setattr(content, "EXHIBITS", tmp_path / "exhibits")
    return tmp_path


MAKERS: dict[str, Any] = {
    "claims": claim,
    "lessons": lesson,
    "papers": paper,
    "glossary.toml": lambda text: _entries([text]),
}
MAKERS |= dict.fromkeys(["help.toml", "vocabulary.toml"], lambda text: text_tables([text]))
SPOILT = [  # file, what is replaced, by what, where the fault is, and what it says
    ("claims/unchanged.md", "{gradients}", "{gradient}", "{gradient}", "nothing measured is called “gradient”"),
    ("claims/unchanged.md", '"gradient_ratio"', '"nobody"', "nobody", "there is no judge “nobody”"),
    ("claims/unchanged.md", "above = 0.5", "beyond = 0.5", "beyond", "nothing is called “beyond”"),
    ("claims/unchanged.md", "depth = 64", "depth = 6400", "sigmoid", "Depth 6400"),
    ("claims/unchanged.md", '"post-norm" }', '"past-norm" }', '"post-norm" =', "there is no arrangement"),
    ("claims/unchanged.md", '"residual"', '"skip"', "topic", "the topic is one of"),
    ("claims/unchanged.md", 'topic = "residual"', "topic = 3", "topic", "topic must be a text"),
    ("claims/unchanged.md", "## Why", "## Whence", "", "the section “Why” is missing"),
    ("claims/unchanged.md", "1512.03385", "about 1512", "about 1512", "neither a number at arXiv nor an address"),
    ("claims/unchanged.md", "The identity", "[The](nowhere) identity", "nowhere", "this leads nowhere"),
    ("claims/unchanged.md", "+++\norder", "order", "", "does not begin with TOML"),
    ("claims/unchanged.md", "above = 0.5", "above = = 0.5", "above", "invalid value"),
    ("claims/spread_of_one.md", '"spreads"', '"spraeds"', "spraeds", "nothing computes “spraeds”"),
    ("claims/unchanged.md", "six seeds, 32 blocks", "six seeds, 33 blocks", "33", "the number 33 is neither"),
    (
        "lessons/skip.md",
        "size of its input, with",
        "size of its input, 40 %, with",
        "40 %",
        "the number 40 % is neither",
    ),
    ("lessons/vanishing.md", '"gradient", "init', '"gradeint", "init', "gradeint", "there is no term"),
    ("lessons/vanishing.md", "init_gain = 1.19", "depth = 4", "key = {", "this challenge leaves it"),
    ("lessons/vanishing.md", "1.5e-5", "1.6e-5", "1.6e-5", "the number 1.6e-5 is neither"),
    ("claims/spread_of_one.md", "+ 1e-5)", "+ 1e-4)", "0.688", "the number 0.688 is neither"),
    ("claims/spread_of_one.md", '"FEATURES"', '"FEATURE"', "features =", "cannot be computed: KeyError"),
    ("claims/spread_of_one.md", '"FEATURES"', "\"open('x')\"", "features =", "cannot be computed: KeyError"),
    ("claims/covariate_shift.md", "tokens = 256", "tokens = 256\nrows = 9", "rows", "no sentence states “rows”"),
    ("papers/order_and_chaos.md", '"PROFILE_WIDTH"', '"PLANE_WIDTH"', "width 400", "the number 400 is neither"),
    ("lessons/skip.md", '= ["without"]', '= ["with out"]', "with out", "there is no net “with out”"),
    ("lessons/skip.md", "loss_within", "loss_without", "loss_without", "there is no goal “loss_without”"),
    ("lessons/skip.md", "Sublayer.forward", "Sublayer.nowhere", "code", "has no Sublayer.nowhere"),
    ("lessons/skip.md", '"grad_rms"', '"grad"', "charts", "there is no chart “grad”"),
    ("lessons/skip.md", "target = 0.1", "target = 0.1, by = 2", "loss_within", "unexpected keyword"),
    ("glossary.toml", '"branch share"', '"branch chair"', "branch chair", "there is no term “branch chair”"),
    ("glossary.toml", "{collapsed:g}", "{collapse:g}", "{collapse", "nothing measured is called “collapse”"),
    ("help.toml", 'net = "', "net = 3 # ", "net = 3", "net must be a text"),
    ("vocabulary.toml", "[nets]", "nets = 3", "nets", "nets must be a table"),
    ("glossary.toml", '"anatomy"', '"physiology"', "physiology", "there is no page “physiology”"),
]


def loaded_and_checked(path: Path) -> None:
    MAKERS[kind_of(path)](read(path))
    check_numbers_named(read(path))


@pytest.mark.parametrize("spoilt", SPOILT, ids=lambda one: one[4])
def test_bad_content_ends_with_one_sentence_that_names_file_and_line(
    folder: Path, spoilt: tuple[str, str, str, str, str]
) -> None:
    file, right, wrong, at, said = spoilt
    path = content.paths(file)[file]
    text = path.read_text("utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong, 1), "utf-8")
    with pytest.raises(ContentError) as caught:
        loaded_and_checked(path)
    sentence = str(caught.value)
    line = re.match(rf"{re.escape(str(path.relative_to(folder)))}, line (\d+): ", sentence)
    assert line is not None, sentence
    assert said in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert at in path.read_text("utf-8").splitlines()[int(line[1]) - 1]


def test_a_change_of_a_file_is_seen_and_a_bad_one_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "CHECK_SECONDS", 0.0)
    refused: list[str] = []
    monkeypatch.setattr(content, "event", lambda what, *_, sentence: refused.append(f"{what}: {sentence}"))
    claims = Content("claims/*.md", partial(experiments_from, claim))
    path, before = folder / "exhibits/claims/unchanged/words.md", claims["unchanged"].title
    path.write_text(path.read_text("utf-8").replace(before, "Said in another way."), "utf-8")
    assert claims["unchanged"].title == "Said in another way."
    path.write_text("nothing", "utf-8")
    assert claims["unchanged"].title == "Said in another way."
    assert "unchanged/words.md, line 1" in refused[0]
    assert list(claims)[:2] == ["by-hand", "spread-of-one"]


def test_placeholders_are_numbers_of_three_digits_unless_they_say_otherwise_and_formulas_stay() -> None:
    measured = {"loss": np.float64(0.123456), "each": {"a": 0.5, "b": np.inf}, "rows": [1, 2], "who": "nobody"}
    text = "{loss}, {loss:1}, {loss:.1%}, {each}, {each[a]:.2f}, {rows[-1]}, {who}: $\\frac{loss}{who}$ and `{loss}`"
    said = "0.123, 0.1, 12.3%, a: 0.5; b: diverged, 0.50, 2, nobody: $\\frac{loss}{who}$ and `{loss}`"
    assert fill(text, measured) == said


def test_every_number_of_every_judge_is_said() -> None:
    """Those of a shared judge by one of its texts."""
    used, numbers = defaultdict(set), {}
    for one in [*LESSONS.values(), *CLAIMS.values(), *PAPERS.values()]:
        name = one.judge.function.func  # type: ignore[attr-defined]
        numbers[name] = one.judge.numbers
        used[name].update(*map(placeholders, (one.result_text, one.early_text, one.condition_text)))
    assert used == {name: set(provided) for name, provided in numbers.items()}
    shared = [*judges_of(judging).values(), *judges_of(judges).values()]
    assert {one.function for one in shared} <= used.keys()


STATING_KINDS = ("claims", "lessons", "papers")
TEXTS = {name: path for kind in ("md", "toml") for name, path in content.paths(f"**/*.{kind}").items()}
STATING = {name: path for name, path in TEXTS.items() if kind_of(path) in STATING_KINDS}


@pytest.mark.parametrize("path", STATING.values(), ids=STATING)
def test_every_stated_number_is_measured_or_named(path: Path) -> None:
    check_numbers_named(read(path))


def test_an_exhibit_has_its_words_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "maps" / "new").mkdir(parents=True)
    (tmp_path / "maps" / "new" / "words.md").write_text(
        "+++\norder = 1\n+++\n# What?\n\n## said\n\nOne {loss}.\n", "utf-8"
    )
    monkeypatch.setattr(content, "EXHIBITS", tmp_path)
    texts = Texts("maps/new")
    assert (texts.title, texts("said", loss=2)) == ("What?", "One 2.")
    fronts = Content("maps/*.md", lambda files: {text.key: text.front for text in files})
    assert dict(fronts) == {"new": {"order": 1}}


def test_negative_numbers_have_the_formatter_s_sign() -> None:
    sign = number(-0.5)[0]
    other = re.compile(rf"(?<![\w)])[{'-−–'.replace(sign, '')}](?=[\d.{{]+)")
    rooms = [ROOT / room for room in ("components", "models", "addnorm", "exhibits", "content")]
    for file in [path for room in rooms for kind in ("py", "md", "toml") for path in room.rglob(f"*.{kind}")]:
        assert not other.search(file.read_text(encoding="utf-8")), file


def test_points_of_a_list_stay_apart() -> None:
    assert unwrapped("a\nb:\n\n- one\n  more\n- two\n\nend") == "a b:\n\n- one more\n- two\n\nend"


def test_every_call_of_a_text_fills_its_placeholders_and_every_text_is_called() -> None:
    """The headings of every call, also of one with a variable, and what is given for the placeholders."""
    called, faults = defaultdict(set), []
    for module in modules():
        for call in module.calls():
            sections = sections_of(call.file)
            called[call.file] |= call.headings
            faults += [(call.at, f"no “{heading}”") for heading in call.headings - sections.keys()]
            asked = [set(placeholders(sections.get(heading, ""))) for heading in call.headings]
            unused, filled = call.given.difference(*asked), call.given | call.constants
            unfilled = set() if call.open else set().union(*asked) - filled
            if not call.headings or unused or unfilled:
                faults.append((call.at, f"{sorted(call.headings)} {sorted(unused)} {sorted(unfilled)}"))
    assert faults == []
    assert len(called) > 10
    for file, headings in called.items():
        assert set(sections_of(file)) - headings == set(), file


def sections_of(file: str) -> dict[str, str]:
    return read(content.paths(f"{file}.md")[f"{file}.md"]).sections


SAID = """
from models.content import Texts

TEXTS = Texts("labs/gradients")
KINDS = {1: "cancels", 2: "stays"}

def draw(kind, way):
    heading = "cancels" if kind else "stays" if way else "tamed"
    TEXTS(heading, needs=1)
    TEXTS(KINDS[kind])
    TEXTS(way)
    more = {"needs": 1} | {"paths": 2}
    TEXTS("paths", **more)
    TEXTS("paths", **way)

draw(1, "vanishes")
"""


def test_a_variable_heading_is_read_from_what_it_may_be() -> None:
    """Of a choice, a table of the module, a parameter, and a mapping of placeholders."""
    calls = list(Module("made", SAID).calls())
    assert [call.headings for call in calls] == [
        {"cancels", "stays", "tamed"},
        {"cancels", "stays"},
        {"vanishes"},
        {"paths"},
        {"paths"},
    ]
    assert [call.given for call in calls] == [{"needs"}, set(), set(), {"needs", "paths"}, set()]
    assert [call.open for call in calls] == [False, False, False, False, True]
