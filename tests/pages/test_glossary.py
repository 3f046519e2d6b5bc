"""The glossary: every word of the app has an entry, every control's help leads to one, and the page opens at a word."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from components.glossary.page import SCRIPTS, meaning
from components.search.index import answer
from components.shell.link import field_help, with_glossary_link
from models.content import paths
from models.lessons.glossary import ENTRIES, SYNONYMS, key_of, nearest_term
from models.spec import knobs
from models.spec.placement import PLACEMENTS
from models.spec.vocabulary import NETS, NORMS
from tests.app_page import back, by_link, playground, sound, unfolded, words

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

LINK = re.compile(r"\[Glossary\]\((glossary\?[^)]*)\)$")
KINDS = (
    "select_slider",
    "selectbox",
    "slider",
    "number_input",
    "toggle",
    "button_group",
    "multiselect",
    "text_input",
    "menu_button",
)
CHOICES = {name: {**(knob.choices or {}), **(knob.rules or {})} for name, (_, knob) in knobs().items()}


def sense(word: str, of: str):
    entry = ENTRIES.get(key_of(word))
    assert entry is not None, word
    return next(one for one in entry.senses if one.category == of)


# --- every word is there, in the words of its own vocabulary ---


def test_every_field_is_defined_by_its_own_help_and_leads_to_its_choices():
    def defined_by(one, name, knob):
        return one.text.startswith(knob.help) and set(one.related) == set(CHOICES[name])

    fields = [(name, knob, ENTRIES.get(key_of(knob.label))) for name, (_, knob) in knobs().items()]
    assert [
        name
        for name, knob, entry in fields
        if entry is None or not any(defined_by(one, name, knob) for one in entry.senses)
    ] == []


def test_an_entry_is_a_few_sentences_and_leads_only_to_what_is_there():
    found = [(word, one) for word, entry in ENTRIES.items() for one in entry.senses]
    assert [word for word, one in found if not one.text.endswith((".", "?"))] == []
    assert [word for word, one in found if one.text[:1] != one.text[:1].upper()] == []
    assert [word for word, one in found if not 1 <= len(re.findall(r"[.?](?= |$)", one.text)) <= 4] == []
    assert [(word, other) for word, one in found for other in one.related if key_of(other) not in ENTRIES] == []
    assert [word for word, one in found if not one.pages or not set(one.pages) <= set(SCRIPTS)] == []


def test_papers_become_links_and_formulas_stay_formulas():
    said = meaning(sense("layer norm", "Norm"))
    assert "[1607.06450](https://arxiv.org/abs/1607.06450)" in said
    assert f"${NORMS['layer norm'].formula}$" in said
    for word in ENTRIES:
        assert ENTRIES[word].senses[0].formula.count("$") == 0


def test_a_term_spelled_otherwise_is_found():
    assert nearest_term("pre norm") == "pre-norm"


@pytest.mark.parametrize(
    ("asked", "term"),
    [
        ("BatchNorm", "batch norm"),
        ("LayerNorm", "layer norm"),
        ("RMSNorm", "rms norm"),
        ("self-attention", "attention"),
        ("multi-head attention", "attention head"),
        ("positional encoding", "position"),
        ("masked", "causal"),
        ("backpropagation", "gradient"),
        ("epsilon", "eps"),
        ("encoder", "encoder"),
        ("Add & Norm", "add & norm"),
        ("FFN", "feed-forward"),
        ("logits", "logit"),
        ("overfitting", "overfitting"),
        ("tokenization", "subword"),
        ("saturation", "saturation"),
        ("standardization", "z-score"),
        ("identity mapping", "residual"),
        ("generalization", "generalisation"),
        ("stopping condition", "end symbol"),
        ("end of sequence", "end symbol"),
        ("greedy", "temperature"),
        ("feature scaling", "feature scaling"),
    ],
)
def test_what_people_search_for_leads_to_the_term(asked, term):
    assert nearest_term(asked.replace("-", " ")) == term
    assert term in [entry.title.casefold() for entry in answer(asked).entries]


@pytest.mark.parametrize("lab", ["normalization", "residual", "gradients", "attention", "autoregression"])
def test_a_term_names_the_labs_that_use_it(lab):
    words = [path for files in (f"labs/{lab}.md", f"labs/{lab}/*.md") for path in paths(files).values()]
    said = " ".join(" ".join(path.read_text(encoding="utf-8") for path in words).casefold().split())
    for key, entry in ENTRIES.items():
        pages = {page for one in entry.senses for page in one.pages}
        if re.search(r"[ -]", key) and re.search(rf"(?<!-)\b{re.escape(key)}\b(?!-)", said):
            assert lab in pages, key
    assert {"normalization", "residual", "gradients"} <= set(sense("norm", "a control").pages)
    assert {"attention", "autoregression"} <= set(sense("causal", "Mask").pages)


def test_every_synonym_stands_for_a_term_and_is_none_itself():
    for word, term in SYNONYMS["synonyms"].items():
        assert key_of(term) in ENTRIES, word
        assert key_of(word) not in ENTRIES, word
        assert word == key_of(word).replace("-", " ")


# --- every control leads to its word ---


def linked(help_: str) -> str | None:
    """The key of the entry that a help ends with a link to."""
    address = LINK.search(help_ or "")
    if address is None:
        return None
    (word,) = parse_qs(urlsplit(address[1]).query)["word"]
    return key_of(word)


def drawn(page: AppTest) -> Iterator[tuple[str, str]]:
    """Label and help of every control that has the name of a field, or picks an arrangement."""
    labels = {knob.label for _, knob in knobs().values()} | {"Arrangement"}
    for kind in KINDS:
        for widget in page.get(kind):
            label = getattr(widget, "label", None) or getattr(getattr(widget, "proto", None), "label", "")
            label = label.partition(":")[0]  # the menu of arrangements is called by what is set
            if label in labels:
                yield label, getattr(widget, "help", None) or widget.proto.help


def leads(page: AppTest) -> set[str]:
    """The labels of all such controls, each of which must lead to the entry of its own word."""
    found = list(drawn(page))
    for label, help_ in found:
        assert linked(help_) == key_of(label), (label, help_)
        assert key_of(label) in ENTRIES
    return {label for label, _ in found}


@pytest.mark.parametrize("net", NETS)
def test_every_control_of_the_playground_leads_to_its_word(net):
    labels = leads(unfolded(playground(net=net, depth="2", width="8", steps="10")))
    fields = {knob.label for name, (_, knob) in knobs().items() if net in knob.nets and name != "overrides"}
    assert labels == fields | {"Arrangement"}


def test_the_link_is_relative_so_that_it_holds_under_a_base_path():
    address = LINK.search(field_help("skip_scale"))[1]
    assert urljoin("https://host/base/playground?depth=3", address) == "https://host/base/glossary?word=skip%20weight"
    assert linked(with_glossary_link("Tip.", "1/sqrt(2)")) == "1/sqrt(2)"


# --- the page ---


def glossary(**query: str) -> AppTest:
    return by_link("glossary.py", **query)


def opened(page: AppTest) -> list[str]:
    return [heading.value for heading in page.subheader]


def test_an_address_opens_at_its_word_however_it_is_capitalised():
    page = glossary(word="Pre-Norm")
    assert opened(page) == ["pre-norm"]
    assert PLACEMENTS["pre-norm"].description.capitalize()[:30] in words(page)


def test_an_address_with_an_unknown_word_is_told_the_nearest():
    page = glossary(word="layernorm")
    assert opened(page) == []
    assert "Did you mean **layer norm**" in words(page)
    page.selectbox(key="glossary_word").select("layer norm")
    sound(page.run())
    assert opened(page) == ["layer norm"]
    assert page.query_params["word"] in ("layer-norm", ["layer-norm"])


def test_a_word_that_is_closed_leaves_the_address_and_can_be_opened_by_it_again():
    page = glossary(word="norm")
    page.selectbox(key="glossary_word").set_value(None)
    sound(page.run())
    assert opened(page) == []
    assert "word" not in page.query_params
    assert opened(back(page, word="norm")) == ["Norm"]


def test_a_source_whose_result_is_run_here_leads_to_its_card() -> None:
    shown = meaning(ENTRIES["pre-norm"].senses[0])
    assert "[2002.04745](https://arxiv.org/abs/2002.04745), [run it here](papers?paper=last-gradient)" in shown
    assert "papers?paper=" not in meaning(ENTRIES["rms norm"].senses[0])
