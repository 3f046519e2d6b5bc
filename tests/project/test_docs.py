"""What the documents name is there: files, folders and links of the repository."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DOCUMENTS = sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")) + [ROOT / "addnorm" / "README.md"]
QUOTED = re.compile(r"`((?:addnorm|benchmarks|components|content|docs|examples|exhibits|models|pages|tests)/[\w./-]*)`")
LINKED = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_is_there(document):
    text = document.read_text(encoding="utf-8")
    quoted = [name for name in QUOTED.findall(text) if not (ROOT / name).exists()]
    linked = [name for name in LINKED.findall(text) if not (document.parent / name).exists()]
    assert not quoted
    assert not linked
