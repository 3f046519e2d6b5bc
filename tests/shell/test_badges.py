"""Where a number on a page comes from: a badge says measured, recorded or formula, and hovering says by what."""

import re

import pytest

from addnorm.player import BY
from components.shell.style import BADGES
from components.shell.text import NEW_WORDS, WRITTEN, badge, explained, typed
from models.claims.claims import CLAIMS
from models.lessons.glossary import ENTRIES, key_of
from models.lessons.lessons import LESSONS
from tests.app_page import sound, words
from tests.labs_page import lab

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

DECIMAL = re.compile(r"\d\.\d|\de-\d")


@pytest.mark.parametrize("kind", BADGES)
def test_a_badge_leads_to_its_word_and_hovering_says_by_what(kind):
    assert badge(kind).startswith(f"[:{BADGES[kind]}-badge[{kind}]](glossary?word={kind} ")
    assert badge(kind).endswith(f'"{BY[kind]}")')
    assert badge(kind, "by hand").endswith('"by hand")')
    assert key_of(kind) in ENTRIES
    assert not any(mark in BY[kind] + WRITTEN.get(kind, "") for mark in '"()[]')  # it stands in a link's title


def test_a_written_text_has_a_badge_where_it_tells_results_and_none_for_papers_and_counts():
    assert typed("off by 13.4 %.", "formula") == f"off by 13.4 %. {badge('formula', WRITTEN['formula'])}"
    assert typed("down to 1e-8.", "recorded").endswith(badge("recorded", WRITTEN["recorded"]))
    for text in ("32 blocks", "He 2015, 1512.03385", "as 1/4", "level"):
        assert typed(text, "formula") == text


@pytest.mark.parametrize("key", ["by-hand", "rms-norm", "copies"])
def test_what_is_true_of_a_claim_has_a_badge_where_it_tells_numbers(key):
    page = lab("claims", "learn")
    page.query_params["claim"] = key
    page = sound(page.run())
    page.get_by_key(f"claim_{key}_guess").set_value("false")
    page = sound(page.run())
    next(one for one in page.button if one.label == "Run").click()
    for _ in range(5):
        page = sound(page.run())
    said = next(line for line in words(page).splitlines() if line.startswith(CLAIMS[key].why[:20]))
    assert ("-badge[" in said) == bool(DECIMAL.search(CLAIMS[key].why))


def test_numbers_that_cards_and_lessons_tell_have_decimals_if_they_are_results():
    """So that the badge finds them: whole numbers in these texts are settings, bounds and counts."""
    assert {key for key, claim in CLAIMS.items() if DECIMAL.search(claim.why)} == {
        "by-hand",
        "spread-of-one",
        "rms-norm",
        "batch-norm-momentum",
        "he-keeps",
        "one-learning-rate",
        "warm-up",
    }
    assert {key for key, lesson in LESSONS.items() if DECIMAL.search(lesson.why)} >= {"vanishing", "exploding"}


def test_a_new_word_carries_the_glossarys_sentence_where_it_first_stands_and_nowhere_in_code_or_a_formula() -> None:
    says = explained("Over six seeds the mean cosine of `seed` and $gain$, then another seed.")
    seeds, cosine = (ENTRIES[word].senses[0].text for word in ("seed", "sample cosine"))
    assert says == (
        f'Over six [seeds](glossary?word=seed "{seeds}") the '
        f'[mean cosine](glossary?word=sample%20cosine "{cosine}") of `seed` and $gain$, then another seed.'
    )
    assert set(NEW_WORDS.values()) <= set(ENTRIES)
