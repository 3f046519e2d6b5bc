"""The pictures of README and docs are those that `tests/browser/pictures.py` takes."""

import re
import struct

import pytest

from tests.browser.pictures import FOLDER, PICTURES

HEAVIEST = 200_000  # bytes


def size(png: bytes) -> tuple[int, int]:
    """Width and height, as they stand in a PNG's header."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_taken_again(visitors, server, name):
    tab = visitors.tab(viewport={"width": 1280, "height": 720})
    PICTURES[name](tab, server.url)
    assert size(tab.screenshot()) == size((FOLDER / f"{name}.png").read_bytes())


def test_these_pictures_are_shown_and_they_are_light():
    texts = [(FOLDER.parent / name).read_text(encoding="utf-8") for name in ("README.md", "docs/your-model.md")]
    shown = [name for text in texts for name in re.findall(r"!\[.*\]\((?:docs/)?(.*)\.png\)", text)]
    assert sorted(shown) == sorted(PICTURES)
    assert all((FOLDER / f"{name}.png").stat().st_size < HEAVIEST for name in PICTURES)
