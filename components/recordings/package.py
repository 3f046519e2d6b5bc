"""The recorder as a zip that pip installs, packed from the files that the app itself runs on."""

import io
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[2]
NAME = "addnorm.zip"
ROOT_FILES = ("LICENSE", "pyproject.toml", "setup.py")  # what pip needs


@cache
def package() -> bytes:
    """Bytes of the zip; the same files give the same bytes."""
    paths = [ROOT / name for name in ROOT_FILES]
    sources = sorted((ROOT / "addnorm").rglob("*"))
    paths += [path for path in sources if path.is_file() and "__pycache__" not in path.parts]
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for path in paths:
            archive.writestr(ZipInfo(path.relative_to(ROOT).as_posix()), path.read_bytes(), ZIP_DEFLATED)
    return buffer.getvalue()
