"""What all tests share: one torch thread, as the trainer has,
hypothesis without a clock, and which tests share a process.
"""

import logging
import os
import time
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

from models.service import client
from models.service.client import close_trainer
from models.spec.budget import Machine, calibrated
from tests import traces
from tests.inprocess import InProcessTrainer
from tests.load.server import Server, serving

torch.set_num_threads(1)

# Processes that tests start read what others have compiled, also in a container's image, which often forbids to keep it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

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


# What drives browsers or real servers, times or counts them runs one after another, in two processes at most.
TOGETHER = {
    "journeys": ("browser/test_journeys.py", "browser/test_walk.py", "browser/test_failures.py", "stage/"),
    "pages": ("attack/", "browser/", "load/", "project/test_benchmarks.py", "service/test_faults.py"),
}


def file_of(nodeid: str) -> str:
    """The file of a test, below tests/."""
    return nodeid.partition("::")[0].removeprefix("tests/")


def group(nodeid: str) -> str:
    """Which tests share a process and its fixtures with this one: those of its file, or of one of the groups above."""
    file = file_of(nodeid)
    return next((name for name, files in TOGETHER.items() if file.startswith(files)), file)


class Groups(LoadScopeScheduling):
    """Gives out whole groups. xdist's own loadgroup renames tests in a way that pytest 9.2 no longer hears of."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups | None:
    """Takes the place of `--dist loadscope`."""
    return Groups(config, log) if config.getvalue("dist") == "loadscope" else None


# Rooms and files that take more than three seconds of a processor: they start servers, train, open pages, copy the project.
SLOW = (
    "addnorm/", "attack/", "claims/", "export/test_digest.py", "export/test_script.py", "export/test_take_home.py",
    "insight/test_four_cells.py", "insight/test_postmortem.py", "insight/test_readings.py", "insight/test_remedies.py",
    "insight/test_signal.py", "insight/test_verdict.py", "instruments/", "labs/", "lessons/test_lessons.py", "lessons/test_teacher.py", "load/",
    "maps/", "pages/", "project/test_benchmarks.py", "project/test_how_to_add.py", "project/test_security.py",
    "service/", "shell/test_address.py", "spec/test_budget.py", "stage/test_pure.py", "stage/test_route.py",
    "training/",
)  # fmt: skip

# Belong to the full suite alone, but for the tests in them that are marked first.
FULL = (
    "attack/", "browser/", "load/", "project/test_benchmarks.py", "project/test_how_to_add.py", "service/test_faults.py",
    "service/test_proxies.py", "stage/browser/",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test: what it needs, `first` unless it or its file says `full`, and `full`, which is every test.

    What takes longest comes first, and what is over in a moment last, so that all processes end at the same time.
    """
    for item in items:
        file = file_of(item.nodeid)
        if "/browser/" in item.nodeid:
            item.add_marker("browser")
        if file.startswith(SLOW):
            item.add_marker("slow")
        if not item.get_closest_marker("full") and not file.startswith(FULL):
            item.add_marker("first")
        item.add_marker("full")
    items.sort(key=lambda item: (group(item.nodeid) not in TOGETHER, not file_of(item.nodeid).startswith(SLOW)))


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
    with serving(PLAYGROUND_RECORDINGS=str(recordings)) as started:
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
    calibrated(Machine())


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
def traces_of_these_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Finished runs are kept where all processes of the session find them."""
    own = tmp_path_factory.getbasetemp()
    traces.folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "traces"
    traces.folder.mkdir(exist_ok=True)


@pytest.fixture(scope="session", autouse=True)
def maps_of_these_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Maps and classes of tests, in servers that they start too, are kept apart from those of whoever runs the tests."""
    os.environ["MAPS_FOLDER"] = str(tmp_path_factory.mktemp("maps"))
    os.environ["CLASSES_FOLDER"] = str(tmp_path_factory.mktemp("classes"))
