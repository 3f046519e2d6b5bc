"""What all tests share: one torch thread, as the trainer has,
hypothesis without a clock, and which tests share a process.
"""

import os
from collections.abc import Iterator
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, settings
from streamlit.components.v2 import manifest_scanner
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from models.service.client import close_trainer
from models.spec.budget import Machine, calibrated

torch.set_num_threads(1)

# Derandomised: a run of the tests is repeatable, and no machine is too slow for them.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

# What drives browsers or real servers runs one after another, in two processes: more side by side wait in vain.
TOGETHER = {
    "journeys": ("browser/test_journeys.py", "browser/test_walk.py", "browser/test_failures.py", "stage/"),
    "pages": ("browser/", "load/", "project/test_benchmarks.py"),
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


# Start servers, train lessons and maps to their ends, or copy the whole project.
SLOW = (
    "addnorm/", "claims/", "export/test_script.py", "insight/test_four_cells.py", "insight/test_remedies.py",
    "lessons/test_lessons.py", "load/", "maps/", "pages/test_playground.py", "pages/test_playground_refusals.py",
    "project/test_benchmarks.py", "project/test_how_to_add.py", "service/test_faults.py", "service/test_limits.py",
    "service/test_log.py", "service/test_proxies.py", "service/test_recorded.py", "service/test_service.py",
    "stage/test_route.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs a browser or takes long. The longest groups come first: at the end they would run alone."""
    for item in items:
        if "/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)
        if file_of(item.nodeid).startswith(SLOW) or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: group(item.nodeid) not in TOGETHER)


@pytest.fixture(scope="module")
def trainer_in_this_process() -> Iterator[None]:
    """Pages train inside their own script run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYGROUND_TRAINER", "inprocess")
        close_trainer()
        yield
        close_trainer()


@pytest.fixture(scope="module", autouse=True)
def reference_machine() -> None:
    """Estimates are for the reference machine. A trainer that other tests have left could say what this one is like."""
    close_trainer()
    calibrated(Machine())


@pytest.fixture(scope="session", autouse=True)
def installed_components_are_looked_for_once() -> Iterator[None]:
    """Each AppTest would read the metadata of every installed package, which takes longer than most pages do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session", autouse=True)
def maps_of_these_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Maps that tests compute, in servers that they start too, are kept apart from those of whoever runs the tests."""
    os.environ["MAPS_FOLDER"] = str(tmp_path_factory.mktemp("maps"))
