"""Who may import whom, read from the source: the direction
of imports, torch away from the pages, no paths of a machine.
"""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("app.py", "pages", "components", "models", "exhibits")


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {
    module_of(path): path
    for room in ROOMS
    for path in (sorted((ROOT / room).rglob("*.py")) or [ROOT / room])
    if not path.name.startswith("test_")
}


def resolved(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that an import statement names; `from a import b` is a.b where that is a module of ours."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "imports are absolute here"
    whole = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in SOURCES else str(node.module) for name in whole]


class Imports(ast.NodeVisitor):
    """All imports of a module, and those that run when it is loaded: outside functions and type checking."""

    def __init__(self) -> None:
        self.all: set[str] = set()
        self.at_load: set[str] = set()
        self._late = 0

    def later(self, node: ast.AST) -> None:
        self._late += 1
        self.generic_visit(node)
        self._late -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = later

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).endswith("TYPE_CHECKING"):
            self.later(node)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.all |= set(resolved(node))
        if not self._late:
            self.at_load |= set(resolved(node))

    visit_ImportFrom = visit_Import


@cache
def imports(module: str) -> Imports:
    found = Imports()
    found.visit(ast.parse(SOURCES[module].read_text(encoding="utf-8")))
    return found


def within(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


def modules(*rooms: str) -> list[str]:
    """All modules of some rooms, of which there must be some."""
    found = [name for name in SOURCES if within(name, rooms)]
    assert found
    return found


def ours(module: str) -> bool:
    return within(module, ("app", "pages", "components", "models", "exhibits"))


# --- the direction ---

NUMPY_SIDE = tuple(name for name in SOURCES if within(name, ("models.insight",)) and name != "models.insight.signal")
WEB = (
    "models.spec",
    "models.trace",
    "models.runlog",
    "models.log",
    "models.answers",
    "models.labs",
    "models.content",
    "models.exhibits",
    "models.experiment",
    "models.lessons",
    "models.claims",
    "models.papers",
    "models.maps",
    "models.service.client",
    "models.service.recorded",
    "models.service.recorded_text",
    "models.export",
    *NUMPY_SIDE,
)
TORCH_SIDE_OF_SERVICE = tuple(
    f"models.service.{name}" for name in ("worker", "engine", "calibration", "questions", "record")
)

# The first line that fits a module says what of ours it may import, besides its own room.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "app": ("pages", "components", *WEB),
    "pages": ("components", *WEB),
    "components": WEB,
    "models.spec": ("models.content",),
    "models.trace": ("models.spec",),
    "models.log": (),
    "models.runlog": ("models.spec", "models.trace", "models.log", "models.service.messages", "models.service.wire"),
    "models.answers": ("models.trace",),
    "models.generator": (),
    "models.nets": ("models.spec", "models.generator"),
    "models.tasks": ("models.spec", "models.generator"),
    "models.training.log_writer": (
        "models.training",
        "models.insight.sentences",
        "models.runlog",
        "models.service.wire",
        "models.spec",
    ),
    "models.training": ("models.nets", "models.tasks", "models.spec", "models.trace"),
    "models.labs": ("models.content", "models.spec"),
    "models.content": ("models.exhibits", "models.log"),
    "models.exhibits": ("models.answers",),
    "models.experiment": (
        "models.content",
        "models.answers",
        "models.exhibits",
        "models.lessons.glossary",
        "models.spec",
        "models.trace",
    ),
    "models.claims": (
        "models.answers",
        "models.content",
        "models.experiment",
        "models.spec",
        "models.trace",
        *NUMPY_SIDE,
    ),
    "models.papers": (
        "models.maps",
        "models.answers",
        "models.content",
        "models.experiment",
        "models.spec",
        "models.trace",
        *NUMPY_SIDE,
    ),
    "models.maps.unit": ("models.training", "models.maps", "models.spec"),
    "models.maps": ("models.content", "models.spec", "models.trace", "models.runlog", "models.log", *NUMPY_SIDE),
    "models.lessons.stops": (
        "models.claims",
        "models.labs",
        "models.papers",
        "models.insight",
        "models.spec",
    ),  # what may be shown
    "models.lessons": ("models.content", "models.experiment", "models.spec", "models.trace", "models.log", *NUMPY_SIDE),
    "models.insight.signal": ("models.training", "models.nets", "models.spec", "models.generator"),
    "models.insight": ("models.answers", "models.content", "models.spec", "models.trace"),
    "models.instruments": (
        "models.answers",
        "models.exhibits",
        "models.training",
        "models.nets",
        "models.tasks",
        "models.generator",
        "models.insight",
        "models.spec",
        "models.trace",
    ),
    **dict.fromkeys(
        TORCH_SIDE_OF_SERVICE,
        (
            "models.instruments",
            "models.training",
            "models.insight",
            "models.answers",
            "models.exhibits",
            "models.spec",
            "models.trace",
            "models.runlog",
            "models.log",
        ),
    ),
    "models.service": ("models.answers", "models.spec", "models.trace", "models.runlog", "models.log"),
    "models.export": ("models.content", "models.spec", "models.trace", *NUMPY_SIDE),
}


def room_of(module: str) -> str | None:
    return next((room for room in MAY_IMPORT if within(module, (room,))), None)


def own_room(module: str) -> str:
    return ".".join(module.split(".")[: 2 if module.startswith("models.") else 1])


def test_imports_point_in_one_direction():
    astray = [
        f"{module} imports {name}"
        for module in modules(*MAY_IMPORT)
        for name in imports(module).all
        if ours(name) and not within(name, (*MAY_IMPORT[room_of(module) or ""], own_room(module)))
    ]
    assert astray == []


KIT = (
    "charts",
    "server",
    "shell",
    "player",
    "classroom",
    "controls",
    "experiments",
    "instruments",
    "labs",
)  # rooms that every page may use, and each those before it


def page_room(module: str) -> str:
    """The room of a module of `components`; a lab that has no folder in `exhibits` is one of its own."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2] if parts[0] == "labs" and len(parts) > 2 else parts[:1])


def test_a_page_uses_its_own_room_and_the_kit_and_no_page_is_used_by_another():
    astray = []
    for module in [name for name in modules("components") if name != "components"]:
        own = page_room(module)
        rooms = {page_room(name) for name in imports(module).all if name.startswith("components.")}
        below = KIT[: KIT.index(own)] if own in KIT else KIT
        astray += [f"{module} uses {room}" for room in rooms - {own, *below}]
    assert astray == []


PAGE = (*(f"components.{room}" for room in KIT), *WEB)
BESIDE = {"page": PAGE, "numbers": WEB, "judge": WEB, "answer": ("models.answers",), "measure": ("models",)}
ALLOWED = """An exhibit's files may import each other, though `page.py` never `measure.py`, and of what is ours besides:
`page.py` the kit and models without torch; `numbers.py` and `judge.py` models without torch; `answer.py`
models/answers.py; `measure.py` all of models/. Another exhibit: never. The kit and models/ list the folders with
models/exhibits.py and import none by name. What two exhibits share goes down into the kit or into models/.
"""


def test_an_exhibit_imports_kit_and_engine_alone():
    """That nobody imports an exhibit is held by `test_imports_point_in_one_direction`."""
    astray = []
    for module in modules("exhibits"):
        folder, _, part = module.rpartition(".")
        own = [f"{folder}.{other}" for other in BESIDE if (part, other) != ("page", "measure")]
        astray += [
            f"{module} imports {name}"
            for name in imports(module).all
            if ours(name) and not within(name, (*own, *BESIDE[part]))
        ]
    assert astray == [], ALLOWED


def test_charts_are_declared_in_their_own_room_and_the_player_knows_none_of_them():
    def used(room: str) -> set[str]:
        return {name for module in modules(room) for name in imports(module).all if name.startswith("components.")}

    assert {page_room(name) for name in used("components.charts")} == {"charts"}
    assert not {name for name in used("components.player") if within(name, ("components.charts.figures",))}


SESSION = "components.shell.session"


def test_the_session_is_reached_by_keys_only():
    """Nobody else reaches into the session's state but for what is
    Streamlit's own, and what a widget holds is asked for by the name that its page gave it.
    """
    astray = []
    pages = modules("app", "pages", "components", "exhibits")
    for module in [name for name in pages if name not in (SESSION, STREAMLITS_OWN)]:
        for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "session_state":
                astray.append(f"{module}, line {node.lineno}: session_state")
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                astray += (
                    [f"{module}: {ast.unparse(node)}"] if name in ("widget_value", "set_widget", "set_initial") else []
                )
    assert astray == []


def test_every_text_that_a_visitor_may_type_has_an_end():
    """Streamlit cuts a text at `max_chars` on the server too, whatever a browser claims."""
    endless = []
    for module in modules("pages", "components", "exhibits"):
        for node in ast.walk(ast.parse(SOURCES[module].read_text("utf-8"))):
            name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
            if name in ("chat_input", "file_uploader") or (
                name in ("text_input", "text_area") and "max_chars" not in [given.arg for given in node.keywords]
            ):
                endless.append(f"{module}, line {node.lineno}: {name}")
    assert endless == []


def test_every_key_of_the_session_has_a_name_of_its_own():
    """`Key` refuses the name of another module's; one that is loaded again makes its own once more."""
    names = [
        ast.unparse(node.args[0])
        for module in modules("components", "exhibits")
        for node in ast.walk(ast.parse(SOURCES[module].read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Key"
    ]
    assert len(names) > 50
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_no_two_classes_have_the_same_name():
    found: dict[str, list[str]] = {}
    for path in [*SOURCES.values(), *(ROOT / "addnorm").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}, line {node.lineno}")
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_every_room_of_the_models_is_known_here():
    """A new folder needs a line in MAY_IMPORT; single files beside the folders (a command line) may use all of them."""
    folders = {name for name in SOURCES if name.count(".") >= 1 and SOURCES[name].name == "__init__.py"}
    assert [name for name in sorted(folders) if not room_of(name)] == []


def test_the_service_asks_for_its_torch_side_only_when_it_runs():
    for module in SOURCES:
        if within(module, ("models.service",)) and module not in TORCH_SIDE_OF_SERVICE:
            assert not imports(module).at_load & set(TORCH_SIDE_OF_SERVICE), module


def importing(rooms: tuple[str, ...], foreign: tuple[str, ...]) -> list[str]:
    """The imports of foreign packages in some rooms, at load or later."""
    found = [(module, name) for module in modules(*rooms) for name in imports(module).all]
    return [f"{module} imports {name}" for module, name in found if within(name, foreign)]


def test_nothing_in_the_models_draws():
    assert importing(("models",), ("streamlit", "plotly")) == []
    assert importing(("components",), ("streamlit",)) != []  # what it looks for, it finds


def test_the_description_of_a_run_is_plain_python_without_a_circle_hidden_in_its_functions():
    assert importing(("models.spec",), ("torch", "numpy", "pandas")) == []
    assert [name for name in modules("models.spec") if imports(name).all != imports(name).at_load] == []


# --- what Streamlit does not promise to keep stays in one place ---

STREAMLITS_OWN = "components.shell.streamlits_own"
PROMISED = ("streamlit", "streamlit.delta_generator", "streamlit.navigation.page")  # the two for annotations
UNPROMISED = re.compile(
    r"\b(get_script_run_ctx|script_requests|_rerun_data|ThreadState|ForwardMsg|_is_origin_allowed|session_id\s*=|"
    r"is_history_navigation|_scriptrunner|st\._[a-z]\w+|streamlit\._[a-z]\w+)"
)


def test_what_streamlit_does_not_promise_is_used_in_one_place():
    astray = []
    for module in [name for name in SOURCES if ours(name) and name != STREAMLITS_OWN]:
        used = {name for name in imports(module).all if within(name, ("streamlit",))}
        # `from streamlit import a` may name a module or what a module holds.
        unpromised = [name for name in used if not (name in PROMISED or name.rpartition(".")[0] in PROMISED[1:])]
        unpromised += UNPROMISED.findall(SOURCES[module].read_text(encoding="utf-8"))
        astray += [f"{module} uses {name}" for name in unpromised]
    assert astray == []


def test_streamlit_is_pinned_exactly():
    assert re.search(r"^streamlit==\d+\.\d+\.\d+$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)


# --- torch stays away from the pages ---


def loaded(module: str) -> dict[str, str]:
    """Every module that loading one of ours loads, with the one that asked for it; packages load before their parts."""
    asked, waiting = {module: ""}, [module]
    while waiting:
        at = waiting.pop()
        if at not in SOURCES:
            continue
        parents = [at.rsplit(".", depth)[0] for depth in range(1, at.count(".") + 1)]
        for name in [*imports(at).at_load, *parents]:
            if name not in asked:
                asked[name] = at
                waiting.append(name)
    return asked


def trail(asked: dict[str, str], module: str) -> str:
    return module if not asked[module] else f"{trail(asked, asked[module])} -> {module}"


def test_no_page_loads_torch_not_even_by_way_of_others():
    web = [name for name in modules("app", "pages", "components", "exhibits") if not name.endswith(".measure")]
    found = [(asked, name) for asked in map(loaded, web) for name in asked if within(name, ("torch",))]
    assert [trail(asked, name) for asked, name in found] == []
    assert importing(("app", "pages", "components"), ("torch",)) == []


# --- no paths of a machine ---

# In two pieces, so that this file does not find itself.
FOREIGN = [
    left + right
    for left, right in (("/wo", "rk/"), ("..", "/shared"), ("/ro", "ot/"), ("/Use", "rs/"), ("/tmp", "/v/"))
]


def tracked() -> list[Path]:
    """The files of the repository, as git lists them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_no_file_names_a_path_of_somebodys_machine():
    found = [
        (str(path.relative_to(ROOT)), word)
        for path in tracked()
        if path.is_file()
        for word in FOREIGN
        if word.encode() in path.read_bytes()
    ]
    assert found == []
    assert ROOT / "pyproject.toml" in tracked()


def test_no_selector_restyles_the_page_at_each_redraw_of_a_chart():
    """A `:has()` costs at every element that plotly makes, unless it names what plotly does not."""
    costly = re.compile(r"\*|:(not|empty|first|last|nth|only)\b|(^|[\s>+~(,])(g|svg|path|rect|text|tspan|div)\b")
    for file in [*ROOT.glob("components/**/*.css"), *ROOT.glob("addnorm/player/*.css")]:
        style = re.sub(r"/\*.*?\*/", "", file.read_text("utf-8"), flags=re.DOTALL)
        selectors = [one.strip() for one in re.findall(r"([^{};]+)\{", style) if ":has(" in one]
        assert [one for one in selectors if re.search(r":has\(.*:(first|last|nth)-", one, re.DOTALL)] == [], file
        assert [one for one in selectors if any(costly.search(asked) for asked in has_arguments(one))] == [], file


def has_arguments(selector: str) -> list[str]:
    """What stands in the parentheses of every `:has()`."""
    found = []
    for start in (match.end() for match in re.finditer(r":has\(", selector)):
        depth, at = 1, start
        while depth:
            depth += {"(": 1, ")": -1}.get(selector[at], 0)
            at += 1
        found.append(selector[start : at - 1])
    return found
