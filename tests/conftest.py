"""What all tests share: one torch thread, as the trainer has,
hypothesis without a clock, and which tests share a process.
"""

import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, settings
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

# What drives browsers or measures time runs one after another in one process: side by side they wait in vain.
ALONE = ("browser", "stage", "test_load", "test_benchmarks")


def group(nodeid: str) -> str:
    """Which tests share a process and its fixtures with this one: those of its file, or all that run alone."""
    name = nodeid.split("::", maxsplit=1)[0].removeprefix("tests/").split("/")[0].removesuffix(".py")
    return "alone" if name in ALONE else name


class Groups(LoadScopeScheduling):
    """Gives out whole groups. xdist's own loadgroup renames tests in a way that pytest 9.2 no longer hears of."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups | None:
    """Takes the place of `--dist loadscope`."""
    return Groups(config, log) if config.getvalue("dist") == "loadscope" else None


# Start servers, train lessons and maps to their ends, or copy the whole project.
SLOW = (
    "test_benchmarks", "test_errors", "test_faults", "test_how_to_add", "test_lessons", "test_limits", "test_load", "test_maps",
    "test_maps_page", "test_maps_work", "test_proxies", "test_remedies", "test_script", "test_service", "test_app", "watch",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs a browser or takes long. The longest group comes first: at the end it would run alone."""
    for item in items:
        if "/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)
        name = item.nodeid.split("::", maxsplit=1)[0].removeprefix("tests/").split("/")[0].removesuffix(".py")
        if name in SLOW or item.nodeid.startswith("tests/stage/test_route"):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: group(item.nodeid) != "alone")


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
    """Estimates are for the reference machine, until a worker of these tests says what this one is like."""
    calibrated(Machine())


@pytest.fixture(scope="session", autouse=True)
def maps_of_these_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Maps that tests compute, in servers that they start too, are kept apart from those of whoever runs the tests."""
    os.environ["MAPS_FOLDER"] = str(tmp_path_factory.mktemp("maps"))
