"""The search: what everything is found by, where it leads, and any input at all."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.instruments import INSTRUMENTS
from components.labs.page import PARTS
from components.search import index
from components.search.index import TEXTS, Findable, answer
from models import exhibits
from models.claims.claims import CLAIMS
from models.content import read
from models.lessons.glossary import ENTRIES
from models.lessons.lessons import LESSONS
from models.papers.papers import PAPERS
from models.spec import knobs


def everything() -> list[Findable]:
    return list(index._index()[""].entries)


def test_whatever_can_be_opened_is_in_the_index() -> None:
    addresses = {entry.href for entry in everything()}
    assert {f"claims?claim={key}" for key in CLAIMS} <= addresses
    assert {f"papers?paper={key}" for key in PAPERS} <= addresses
    assert {f"lessons?lesson={key}" for key in LESSONS} <= addresses
    settings = {entry.href.partition("&")[0] for entry in everything() if entry.kind == "setting"}
    assert settings == {f"playground?setting={name}" for name in knobs() if name != "overrides"}
    kinds = [entry.kind for entry in everything()]
    assert kinds.count("instrument") == len(INSTRUMENTS)
    assert sum(kind.endswith(" lab") for kind in kinds) == sum(map(len, PARTS.values()))
    titles = {entry.title for entry in everything()}
    assert {entry.word for entry in ENTRIES.values()} - titles == {"Overrides"}, "which has no control"


def test_whatever_has_a_title_is_found_by_it() -> None:
    lost = [
        entry.title
        for entry in everything()
        if entry.title not in [found.title for found in answer(entry.title).entries] and entry.kind != "page"
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("", TEXTS("nothing")),
        (' "*:^(){}- ', TEXTS("nothing")),
        ("what is the", TEXTS("stop words")),
        ("AND OR NOT", TEXTS("stop words")),
        ("xyzzyplugh", TEXTS("not found")),
        ("norm " * 2000, TEXTS("cut", count=index.MAX_CHARS)),
    ],
)
def test_input_of_little_sense_gets_one_sentence(typed: str, sentence: str) -> None:
    assert answer(typed).sentence == sentence


@pytest.mark.parametrize(
    "typed", ["NEAR(norm add, 2)", 'title:"norm', "norm*", "^norm", "norm AND (add", "norm -add", "{norm}:x"]
)
def test_an_operator_is_read_as_words(typed: str) -> None:
    assert any("norm" in entry.title.lower() for entry in answer(typed).entries)


@given(st.text(max_size=300) | st.text(alphabet="\"'*:^()+-{}[]ANDORTE \x00é残", max_size=60))
def test_any_text_has_one_sentence(typed: str) -> None:
    assert re.fullmatch(r"[^.]+\.|[^.]+\. [^.]+\.", answer(typed).sentence)


def test_a_half_typed_word_finds_its_thing() -> None:
    assert answer("dropou").entries[0].title.lower().endswith("dropout")


def test_no_result_says_what_a_guess_is_about() -> None:
    answers = {read(path).sections["Why"] for path in exhibits.FOLDER.glob("claims/*/words.md")}
    shown = " ".join(entry.says for entry in everything() if entry.kind == "claim")
    assert not [why for why in answers if why[:60] in shown]


@pytest.mark.parametrize(
    ("text", "said"),
    [("Why? It is deep.", "Why?"), ("x" * 200, "x" * index.MAX_SAID + " ..."), ("a " * 200, "a " * 79 + "a ...")],
)
def test_a_result_says_one_sentence(text: str, said: str) -> None:
    assert index._first_sentence(text) == said


def test_every_address_names_a_page_and_its_keys() -> None:
    for entry in everything():
        for address in filter(None, (entry.href, entry.remedy)):
            link = urlsplit(address)
            assert (exhibits.FOLDER.parent / "pages" / f"{link.path or 'start'}.py").exists(), address
            assert all(len(values) == 1 for values in parse_qs(link.query, strict_parsing=bool(link.query)).values())
