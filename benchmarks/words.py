"""`python -m benchmarks.words` counts the words of text in the code: long string literals, without docstrings."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("models", "components")
MIN_WORDS = 8  # of a long literal


def words(file: Path) -> int:
    """The number of words in a file's long literals; an f-string is one literal."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    f_strings = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    not_literals = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    not_literals |= {id(part) for f_string in f_strings for part in f_string.values}
    texts = [" ".join(str(part.value) for part in text.values if isinstance(part, ast.Constant)) for text in f_strings]
    texts += [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in not_literals
    ]
    counts = [len(text.split()) for text in texts]
    return sum(count for count in counts if count >= MIN_WORDS)


if __name__ == "__main__":
    rooms: Counter[str] = Counter()
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        rooms["/".join(path.relative_to(ROOT).parts[:2])] += words(path)
    for name, count in rooms.most_common():
        print(f"{count:7,}  {name}")
    print(f"{rooms.total():7,}  in all")
