"""What the documentation site adds to this folder: the pages at the repository's root, and a list of the decisions."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
AT_ROOT = {
    "README.md": "index.md",
    **{name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "FEATURES.md", "CODE_OF_CONDUCT.md", "SECURITY.md")},
}
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages."""
    for name, page in AT_ROOT.items():
        text = (ROOT / name).read_text("utf-8").rpartition("\n---\n\n")[2]  # a Space's settings stand before README's
        files.append(File.generated(config, page, content=_relinked(text, name, config)))
    decisions = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    listed = "".join(f"- [{path.read_text('utf-8').splitlines()[0][2:]}]({path.name})\n" for path in decisions)
    files.append(File.generated(config, "decisions/index.md", content=f"# Decisions\n\n{listed}"))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links of a page in this folder."""
    return _relinked(markdown, f"docs/{page.file.src_uri}", config) if page.file.abs_src_path else markdown


def _relinked(text: str, source: str, config: Any) -> str:
    """The text of a file of the repository with links to the site's pages; to other files, with their address there."""
    page = AT_ROOT.get(source, source.removeprefix("docs/"))

    def relinked(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))
        if target == "docs/decisions":
            target = "docs/decisions/index.md"
        elif not (target.startswith("docs/") or target in AT_ROOT):
            return f"]({config.extra['repository']}/blob/main/{target}"
        there = AT_ROOT.get(target, target.removeprefix("docs/"))
        return f"]({posixpath.relpath(there, posixpath.dirname(page) or '.')}"

    return LINK.sub(relinked, text)
