"""The pictures of README and docs are those that `tests/browser/pictures.py` takes."""

import io
import re

import pytest
from PIL import Image

from tests.browser.pictures import FOLDER, PICTURES

MAX_BYTES = {".png": 200_000, ".webp": 1_500_000}


@pytest.mark.parametrize(
    ("name", "few"), [("start.webp", {"blocks": [0, 32], "steps": [0, 1]}), ("recordings.png", {})]
)
def test_a_picture_can_be_taken_again(visitors, server, name, few):
    frames = [*PICTURES[name](visitors.tab(viewport={"width": 1280, "height": 720}), server.url, **few)]
    taken, kept = (Image.open(source) for source in (io.BytesIO(frames[0]), FOLDER / name))
    assert taken.size == kept.size
    assert len({*frames}) == (3 if few else 1), "the last block before training is the first step"
    assert getattr(kept, "is_animated", False) is bool(few)


def test_these_pictures_are_shown_and_they_are_light():
    texts = [(FOLDER.parent / name).read_text(encoding="utf-8") for name in ("README.md", "docs/your-model.md")]
    shown = [name for text in texts for name in re.findall(r"!\[.*\]\((?:docs/)?(.*\.(?:png|webp))\)", text)]
    assert sorted(shown) == sorted(PICTURES)
    assert all((FOLDER / name).stat().st_size < MAX_BYTES[(FOLDER / name).suffix] for name in PICTURES)
