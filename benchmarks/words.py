"""How many words of text stand in the code: string literals of eight words or more, docstrings left out.

python -m benchmarks.words
"""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS, WORDS = ("models", "components"), 8


def words(file: Path) -> int:
    """The words of a file's long literals; an f-string counts as one."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    aside |= {id(part) for node in whole for part in node.values}
    texts = [" ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant)) for node in whole]
    texts += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside
    ]
    return sum(count for text in texts if (count := len(text.split())) >= WORDS)


if __name__ == "__main__":
    rooms: Counter[str] = Counter()
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        rooms["/".join(path.relative_to(ROOT).parts[:2])] += words(path)
    for name, count in rooms.most_common():
        print(f"{count:7,}  {name}")
    print(f"{rooms.total():7,}  in all")
