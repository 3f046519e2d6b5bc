"""Where a number on a page comes from: a badge says measured, recorded or formula, and hovering says by what."""

import pytest

from addnorm.player.declare import BADGE_HELP
from components.shell.style import BADGES
from components.shell.text import STATED_HELP, badge, with_badge
from models.lessons.glossary import ENTRIES, key_of

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.mark.parametrize("kind", BADGES)
def test_a_badge_leads_to_its_word_and_hovering_says_by_what(kind):
    assert badge(kind).startswith(f"[:{BADGES[kind]}-badge[{kind}]](glossary?word={kind} ")
    assert badge(kind).endswith(f'"{BADGE_HELP[kind]}")')
    assert badge(kind, "by hand").endswith('"by hand")')
    assert key_of(kind) in ENTRIES
    assert not any(
        mark in BADGE_HELP[kind] + STATED_HELP.get(kind, "") for mark in '"()[]'
    )  # it stands in a link's title


def test_a_written_text_has_a_badge_where_it_tells_results_and_none_for_papers_and_counts():
    assert with_badge("off by 13.4 %.", "formula") == f"off by 13.4 %. {badge('formula', STATED_HELP['formula'])}"
    assert with_badge("down to 1e-8.", "recorded").endswith(badge("recorded", STATED_HELP["recorded"]))
    for text in ("32 blocks", "He 2015, 1512.03385", "as 1/4", "level"):
        assert with_badge(text, "formula") == text
