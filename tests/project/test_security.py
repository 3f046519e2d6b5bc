"""What comes from outside stays text: links, JSON, names and typed words; and the sources open no door."""

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement
from streamlit.testing.v1 import AppTest

from components.controls.number_table import MAX_CELLS, parse_table
from components.labs.prompts import reading_notes
from components.lessons.attempt import parse_link
from components.shell import compare_link, hidden_parts
from models.export import configuration_from, configuration_json
from models.lessons.board import is_valid_code
from models.spec import RunConfig, knobs
from models.spec.query import JOINER, MAX_LINK_KEYS, MAX_VALUE_CHARS, escape_markdown
from tests.app_page import APP, PATIENCE, sound, words
from tests.browser.page import PAGES

ROOT = Path(__file__).parents[2]
SOURCES = [
    ROOT / "app.py",
    *(
        path
        for room in ("pages", "components", "models", "exhibits")
        for path in sorted((ROOT / room).rglob("*.py"))
        if not path.name.startswith("test_")
    ),
]
ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "$\\href{javascript:alert(1)}{x}$",
    ":red[x]:material/face:",
    "../../../../etc/passwd",
    "..\\..\\app.py",
    "%2e%2e%2fapp.py",
    "file:///etc/passwd",
    "a\x00b\r\nSet-Cookie: a=b",
    "__import__('os').system('true')",
    "{0.__class__.__init__.__globals__}",
    "9" * 400,
    "https://evil.example/a",
    "www.evil.example",
    "a@evil.example",
    ":material/face: :wave: :blue-badge[x] _x_ ~~x~~",
)
HARMFUL = ("<img", "<script", "](", "$\\", ":red[", "\x00", "\r")  # none of them in a sentence of the app
attacks = st.sampled_from(ATTACKS) | st.text(max_size=60)


def harmless(text: str) -> bool:
    return not any(sign in text for sign in HARMFUL)


def unescaped(text: str) -> str:
    """What is left for Markdown to act on: without the signs that have a backslash before them."""
    return re.sub(r"\\[\\\[\]<>$`*_~#|]", "", text)


# --- links ---

OTHERS = ("lesson", "hide", "view", "class", "key", "plan", "digest", "arrangement", "seeds", *"abcde")


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from([*knobs(), *OTHERS]) | attacks, attacks, max_size=6))
def test_a_hostile_link_gives_legal_configurations_and_harmless_words_wherever_it_is_read(query):
    cfg, notes = RunConfig.from_query(query)
    columns, seeds, said = compare_link.from_query(query)
    names, unknown = hidden_parts.parse_names(",".join(query.values()))
    assert [RunConfig(**vars(one)) for one in (cfg, *columns)] == [cfg, *columns]
    assert 1 <= seeds <= compare_link.MAX_SEEDS
    assert names <= {*knobs(), *hidden_parts.PARTS}
    assert all(harmless(note) for note in (*notes, *said, *unknown))


@given(attacks)
def test_a_hostile_link_that_is_pasted_does_no_more(text):
    cfg, notes = parse_link(f"https://here/playground?{text}&depth={text}")
    assert cfg == RunConfig(**vars(cfg))
    assert all(harmless(note) for note in notes)


def test_an_oversized_link_is_read_to_an_end_and_says_so():
    query = {f"k{at}": "v" for at in range(50_000)} | {"width": "7"}
    cfg, notes = RunConfig.from_query({"depth": "9" * 10**6, "overrides": "1.norm.none," * 10**5} | query)
    assert cfg == RunConfig(depth=128)
    assert len(notes) <= MAX_LINK_KEYS + 3
    assert f"{50_003 - MAX_LINK_KEYS} settings after the first {MAX_LINK_KEYS}: ignored" in notes
    assert sum(map(len, notes)) < 20_000


def test_the_longest_honest_link_is_read_whole():
    every = tuple(
        (block, key, value) for block in range(1, 129) for key, value in (("norm", "rms norm"), ("residual", False))
    )
    overrides = tuple(one for one in every if one[0] % 2)  # no two neighbours can be written as a range
    cfg = RunConfig(depth=128, overrides=overrides)
    assert len(cfg.to_query()["overrides"]) < MAX_VALUE_CHARS
    assert RunConfig.from_query(cfg.to_query()) == (cfg, [])


@given(attacks)
def test_a_name_of_a_class_holds_letters_digits_and_hyphens_only(text):
    assert not is_valid_code(text) or re.fullmatch(r"[A-Za-z0-9-]{1,24}", text)


# --- JSON ---

scalars = st.none() | st.booleans() | st.integers() | st.floats() | attacks
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(attacks, inner, max_size=4), max_leaves=12
)


def refused_or_legal(text: str) -> None:
    try:
        cfg, notes = configuration_from(text)
    except ValueError as error:
        notes = [str(error)]
    else:
        assert cfg == RunConfig(**vars(cfg))
    assert all(harmless(note) for note in notes), notes


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(list(knobs())) | attacks, trees, max_size=6), st.sampled_from([{}, {"depth": 3}])
)
def test_hostile_json_is_refused_in_harmless_words_or_is_a_legal_configuration(fields, kept):
    whole = json.loads(configuration_json(RunConfig()))
    refused_or_legal(json.dumps(whole | {"configuration": fields | kept}))
    refused_or_legal(json.dumps(whole | {"configuration": whole["configuration"] | fields}))
    refused_or_legal(json.dumps(fields))


@given(trees, attacks)
def test_json_of_any_form_is_refused_in_a_sentence(tree, text):
    refused_or_legal(json.dumps({"format": tree, "configuration": tree}))
    refused_or_legal("{" + text)
    refused_or_legal("[" * 5000)
    refused_or_legal('{"configuration": ' * 3000)
    refused_or_legal("{" + " " * 10**6)


# --- what is typed ---


@given(st.lists(attacks, max_size=4).map(" ".join))
def test_a_pasted_table_is_numbers_or_is_refused_in_harmless_words(text):
    said = ""
    try:
        assert parse_table(text).size <= MAX_CELLS
    except ValueError as error:
        said = str(error)
    assert harmless(unescaped(said))


@given(attacks)
def test_text_shown_as_it_is_keeps_every_character_and_makes_no_markup(text):
    shown = escape_markdown(text)
    assert re.sub(r"\\([\\\[\]<>$`*_~#|])", r"\1", shown).replace(JOINER, "") == text.replace(JOINER, "")
    left = unescaped(shown)
    assert not re.search(r"[\[\]<>$`*_~#|]", left)
    assert not re.search(r"https?://|www\.|:\w+:|:material/|\w@\w", left, re.IGNORECASE)


def test_a_prompt_of_many_strange_symbols_is_told_in_few_harmless_words():
    (note,) = reading_notes([*ATTACKS, *(f"![{at}](http://evil.example)" for at in range(500))], 0, 16, slides=False)
    assert harmless(unescaped(note).replace("\x00", "").replace("\r", ""))
    assert len(note) < 1000


# --- pages ---


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.split("?")[0])
def test_no_page_repeats_a_hostile_link(path, trainer_in_this_process):
    page = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    if name := path.strip("/").split("?")[0]:
        page.switch_page(f"{name}.py")
    for at, key in enumerate((*OTHERS, "depth", "norm", "task", "init", ATTACKS[0], ATTACKS[2])):
        page.query_params[key] = ATTACKS[at % 7]
    said = words(sound(page.run()))
    assert said
    for attack in ATTACKS:
        assert attack not in said
    kinds = (page.title, page.header, page.subheader, page.code, page.latex, page.success)
    assert not any(attack in element.value for elements in kinds for element in elements for attack in ATTACKS[:3])


# --- the sources ---

LOADERS = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "yaml",
    "ctypes",
    "code",
    "socket",
    "ssl",
}
LOADERS |= {
    "requests",
    "httpx",
    "aiohttp",
    "ftplib",
    "smtplib",
    "telnetlib",
    "socketserver",
    "xmlrpc",
    "tempfile",
    "zipfile",
}
NETWORK = ("urllib.request", "http.server", "http.client", "multiprocessing")
CALLS = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
METHODS = {
    "file_uploader",
    "camera_input",
    "audio_input",
    "chat_input",
    "system",
    "popen",
    "import_module",
    "load_module",
}
METHODS |= {"memmap", "iframe"}
# A call that is there for a reason: file, what is called, why it is safe.
ALLOWED = {
    ("components/recordings/package.py", "zipfile"): "packs files of ours in memory, unpacks nothing",
    ("components/classroom/board.py", "st.html"): "two numbers of ours",
    ("components/classroom/following.py", "st.html"): "a constant",
    ("components/classroom/ways_in.py", "st.html"): "a code of ours, and the page's address, escaped",
    ("components/shell/projector.py", "st.html"): "a constant",
    ("components/teacher/page.py", "st.html"): "the same code and address",
    ("components/teacher/page.py", "socket"): "asks this machine for its own address, and sends nothing",
    ("models/exhibits.py", "import_module"): "a file of a folder that it has listed",
    ("models/cli.py", "subprocess"): "starts the app with a fixed list of arguments, no shell",
    ("models/cli.py", "tempfile"): "a folder for the logs of one command, gone with it",
    (
        "components/shell/qr.py",
        "st.html",
    ): "an image whose only variable part is the squares that segno makes of a link",
    ("models/service/runs.py", "tempfile"): "a folder of the server's own for its logs",
    ("models/service/worker_process.py", "subprocess"): "starts the worker with a fixed list of arguments, no shell",
    ("models/maps/process.py", "subprocess"): "starts a map with a fixed list of arguments, no shell",
    (
        "models/maps/work.py",
        "joblib",
    ): "pickles between a map's own processes: a specification that was checked, and numbers",
    ("models/maps/cluster.py", "cloudpickle"): "sends a question of ours to the machines of a cluster",
    ("models/maps/command.py", "joblib.externals.loky"): "ends those processes",
    ("models/maps/record.py", "tempfile"): "a command of ours, which no page calls",
}


def doors(path: Path) -> list[tuple[str, str]]:
    """What a source does that could turn foreign bytes into code, files, markup or connections, as (file, what)."""
    name, found = path.relative_to(ROOT).as_posix(), []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
            suspects = LOADERS | {"runpy", "subprocess"}
            found += [one for one in modules if one.split(".")[0] in suspects or one.startswith(NETWORK)]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if (
                called in CALLS | {"st.html", "torch.load", "torch.save", "np.load", "numpy.load"}
                or called.split(".")[-1] in METHODS
            ):
                found.append(called)
        elif isinstance(node, ast.keyword) and node.arg in {
            "unsafe_allow_html",
            "shell",
            "allow_pickle",
            "accept_file",
        }:
            found.append(str(node.arg))
    return [(name, one) for one in found]


def test_no_source_unpickles_evaluates_uploads_or_opens_a_connection():
    assert {door for path in SOURCES for door in doors(path)} == set(ALLOWED)


def scripts(path: Path) -> list[str]:
    """The strings of a source that run in a browser."""
    strings = [node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)]
    return [one for one in strings if isinstance(one, str) and re.search(r"=> \{|document\.", one)]


MARKUP = re.compile(
    r"innerHTML\s*=\s*(\S+)|(outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc)"
)


def test_a_script_in_the_browser_sets_text_and_never_markup_save_for_the_diagrams():
    files = {
        path: path.read_text("utf-8")
        for room in ("components", "addnorm")
        for path in (ROOT / room).glob("**/[!p]*.js")
    }
    markup = {(path.name, found[0] or found[1]) for path, text in files.items() for found in MARKUP.findall(text)}
    constants = {(name, what) for name, what in markup if what == "HTML" or what.startswith("'")}
    # Their SVGs are made of our own words, escaped.
    assert markup - constants == {
        ("block.js", "panel.diagram"),
        ("diagram.js", "data.svg"),
        ("stack.js", "diagram"),
        ("widget.js", "srcdoc"),  # the page of `growing_html`, in a sandbox
    }
    assert any("textContent" in text for text in files.values())


def test_scripts_stand_in_files_of_their_own():
    sources = [*SOURCES, *(ROOT / "addnorm").rglob("*.py")]
    assert [path for path in sources if scripts(path)] == [
        ROOT / "addnorm/player/__init__.py"
    ]  # a page without a server


def test_the_server_is_told_to_take_little_and_to_show_no_agent_in():
    settings: dict[str, Any] = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert settings["server"]["maxMessageSize"] <= 10
    assert settings["server"]["maxWidgetStateSize"] <= 1
    assert settings["server"]["maxUploadSize"] <= 1
    assert not {"enableAgentApi", "enableStaticServing", "enableXsrfProtection", "enableCORS"} & set(settings["server"])


def test_what_is_fetched_is_pinned_by_digest() -> None:
    workflows = [path.read_text() for path in (ROOT / ".github/workflows").iterdir()]
    used = [action for text in workflows for action in re.findall(r"uses: (\S+)", text)]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used)
    assert all("permissions:" in text for text in workflows)
    assert re.search(r"^FROM \S+@sha256:[0-9a-f]{64}$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


def test_the_spaces_lock_fits_the_requirements() -> None:
    text = (ROOT / "requirements-space.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    locked = dict(line.partition(" --hash=sha256:")[0].split("==") for line in lines)
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.+]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        wanted = Requirement(line)
        assert wanted.specifier.contains(locked[wanted.name], prereleases=True), line
