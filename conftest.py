"""What all tests share: one torch thread, as the trainer has,
hypothesis without a clock, and the order of the files.
"""

import gc
import json
import logging
import os
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import joblib
import pytest
import torch
from hypothesis import HealthCheck, settings
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime import context
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from models.service import client
from models.service.client import close_trainer
from models.spec.budget import Machine, set_machine
from tests import traces
from tests.inprocess import InProcessTrainer
from tests.load.server import Server, serving

torch.set_num_threads(1)

# What modules and tests are made of stays: the collector would look through it again and again.
gc.disable()

# Processes that tests start read what others have compiled, also in a container's image, which often forbids to keep it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Derandomised: a run of the tests is repeatable, and no machine is too slow for them.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

WORKER_BYTES = 0.7e9  # that a process of tests takes, with a server or a trainer of its own


def pytest_xdist_auto_num_workers() -> int:
    """As many processes as there are cores, and no more than there is memory for."""
    room = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else []
    with suppress(OSError, ValueError):  # a container's own limit, where it has one
        room.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    with suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        room += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")]
    return max(1, min([joblib.cpu_count(), *(int(most / WORKER_BYTES) for most in room)]))


# What drives browsers or real servers, times or counts them: no more than two such files run at the same time.
SERIAL = ("attack/", "browser/", "project/test_benchmarks.py", "service/test_faults.py", "player/browser/")

# Belong to the full suite alone, but for the tests in them that are marked first.
FULL = (*SERIAL, "project/test_how_to_add.py", "service/test_proxies.py")

# Seconds by tier and file, as `pytest --record-durations` wrote them. Only their proportions count.
DURATIONS = Path(__file__).parent / "tests" / "durations.json"
durations: dict[str, dict[str, float]] = json.loads(DURATIONS.read_text())
measured: Counter[tuple[str, str]] = Counter()


def file_of(nodeid: str) -> str:
    """The file of a test, below tests/ if it is there."""
    return nodeid.partition("::")[0].removeprefix("tests/")


class Files(LoadScopeScheduling):
    """Gives out whole files in their order: serial ones to the first two processes, to the others when no more is left."""

    def _split_scope(self, nodeid: str) -> str:
        return file_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        others = node not in self.nodes[:2]
        self.workqueue = OrderedDict(
            sorted(self.workqueue.items(), key=lambda unit: unit[0].startswith(SERIAL) == others)
        )
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Files | None:
    """Takes the place of `--dist loadscope`."""
    return Files(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help="write how long each file took, for the order")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    measured["first" if "first" in report.keywords else "rest", file_of(report.nodeid)] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("record_durations") and "PYTEST_XDIST_WORKER" not in os.environ:
        for (tier, file), seconds in measured.items():
            durations[tier][file] = round(seconds, 1)
        DURATIONS.write_text(json.dumps(durations, indent=1, sort_keys=True) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks each test: what it needs, `first` unless it or its file says `full`, and `full`, which is every test.

    Serial files come first, folder by folder, whose browser they share; then what takes longest, so that all processes
    end at the same time.
    """
    long = sum(durations["first"].values()) / 300
    for item in items:
        file = file_of(item.nodeid)
        if "/browser/" in item.nodeid:
            item.add_marker("browser")
        if durations["first"].get(file, 0) > long or file.startswith(SERIAL):
            item.add_marker("slow")
        if not item.get_closest_marker("full") and not file.startswith(FULL):
            item.add_marker("first")
        item.add_marker("full")
    seconds = durations["first" if str(config.getoption("markexpr")).startswith("first") else "rest"]

    def place(item: pytest.Item) -> tuple[bool, str, float, str]:
        file = file_of(item.nodeid)
        serial = file.startswith(SERIAL)
        return not serial, file.rpartition("/")[0] if serial else "", -seconds.get(file, 0), file

    items.sort(key=place)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config, "cache", None):  # not with -p no:cacheprovider
        traces.keep_in(config.cache.mkdir("traces"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test that would begin after TESTS_END, in seconds of Unix time: CI may last so long, and machines differ."""
    if time.time() > float(os.environ.get("TESTS_END", "inf")):
        pytest.skip("the time for this run was over")


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of recordings of the shared server."""
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="session")
def server(recordings: Path) -> Iterator[Server]:
    """One server, with its trainer, for all tests of a process that neither end nor limit it."""
    with serving(PLAYGROUND_RECORDINGS=str(recordings), PLAYGROUND_FRAMES="*") as started:
        started.wait_for(b'"ready"')
        yield started


@pytest.fixture(scope="module")
def trainer_in_this_process() -> Iterator[None]:
    """Pages train inside their own script run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "Trainer", InProcessTrainer)
        close_trainer()
        yield
        close_trainer()


@pytest.fixture(scope="module", autouse=True)
def reference_machine() -> None:
    """Estimates are for the reference machine. A trainer that other tests have left could say what this one is like."""
    close_trainer()
    set_machine(Machine())


@pytest.fixture(scope="session", autouse=True)
def pages_in_this_process_start_quickly() -> Iterator[None]:
    """Takes from every AppTest what takes longer than most pages do: reading the metadata of all installed packages,
    making mocks of a browser's headers, compiling the page's script. And from pytest the handlers that it would give
    each of Streamlit's loggers, three times a test.
    """
    compiled = ScriptCache().get_bytecode
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        patch.setattr(context, "_get_client_context", lambda: None)
        patch.setattr(ScriptCache, "get_bytecode", lambda _self, path: compiled(path))
        for name in logging.root.manager.loggerDict:
            if name.startswith("streamlit"):
                patch.setattr(logging.getLogger(name), "propagate", True)
        yield


@pytest.fixture(scope="session", autouse=True)
def maps_of_these_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Maps and classes of tests, in servers that they start too, are kept apart from those of whoever runs the tests."""
    os.environ["MAPS_FOLDER"] = str(tmp_path_factory.mktemp("maps"))
    os.environ["CLASSES_FOLDER"] = str(tmp_path_factory.mktemp("classes"))
