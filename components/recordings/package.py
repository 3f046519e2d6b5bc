"""The recorder as a zip that pip installs, made of the files that the app itself runs on."""

import io
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[2]
NAME = "addnorm.zip"
ROOT_FILES = ("LICENSE", "pyproject.toml", "setup.py")  # that pip needs


@cache
def package() -> bytes:
    """The zip: the same files make the same bytes."""
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        sources = (path for path in sorted((ROOT / "addnorm").rglob("*")) if "__pycache__" not in path.parts)
        for path in (*(ROOT / name for name in ROOT_FILES), *filter(Path.is_file, sources)):
            archive.writestr(ZipInfo(path.relative_to(ROOT).as_posix()), path.read_bytes(), ZIP_DEFLATED)
    return packed.getvalue()
