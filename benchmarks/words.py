"""`python -m benchmarks.words` counts the words of text in the code: long string literals, without docstrings."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("models", "components")
MIN_WORDS = 8  # of a long literal


def count_words(file: Path) -> int:
    """The number of words in a file's long literals; an f-string is one literal."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    f_strings = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    not_literals = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    not_literals |= {id(part) for f_string in f_strings for part in f_string.values}
    texts = [_constant_text(f_string) for f_string in f_strings]
    texts += [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in not_literals
    ]
    counts = [len(text.split()) for text in texts]
    return sum(count for count in counts if count >= MIN_WORDS)


def _constant_text(f_string: ast.JoinedStr) -> str:
    return " ".join(str(part.value) for part in f_string.values if isinstance(part, ast.Constant))


if __name__ == "__main__":
    counts: Counter[str] = Counter()  # by folder
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            counts["/".join(path.relative_to(ROOT).parts[:2])] += count_words(path)
    for folder, count in counts.most_common():
        print(f"{count:7,}  {folder}")
    print(f"{counts.total():7,}  in all")
