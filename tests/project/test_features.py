"""FEATURES.md: every row that says done is declared in the code, and what is declared has such a row."""

import re
from pathlib import Path

import pytest

from models.papers.papers import PAPERS
from models.spec import ARRANGEMENTS, NORMS, OPTIMIZERS
from tests.addnorm.families import LIBRARIES

ROOT = Path(__file__).parents[2]
SECTIONS = dict(re.findall(r"^## (.+)\n([^#]+)", (ROOT / "FEATURES.md").read_text("utf-8"), re.MULTILINE))
DECLARED = {
    "Arrangements": list(ARRANGEMENTS),
    "Norms": [name for name in NORMS if name != "none"],
    "Optimisers": list(OPTIMIZERS),
    "Papers": [f"{card.paper} (`{key.replace('-', '_')}`)" for key, card in PAPERS.items()],
    "Families of models": [f"{library}: {', '.join(names)}" for library, (_, names) in LIBRARIES.items()],
}


@pytest.mark.parametrize("section", DECLARED)
def test_what_is_done_is_what_is_declared(section: str) -> None:
    rows = [line.strip("| ").split(" | ") for line in SECTIONS[section].splitlines() if line.startswith("| ")][1:]
    assert {state for _, state, _ in rows} == {"done", "easy", "hard"}, "an invitation"
    done = [
        f"{name}: {names}" if section.startswith("Families") else name for name, state, names in rows if state == "done"
    ]
    assert sorted(done) == sorted(DECLARED[section])
