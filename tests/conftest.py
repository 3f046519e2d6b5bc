"""What all tests share: one torch thread, as the trainer has, and hypothesis without a clock."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, settings

from models.service.client import close_trainer

torch.set_num_threads(1)

# Derandomised: a run of the tests is repeatable, and no machine is too slow for them.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture(scope="module")
def trainer_in_this_process() -> Iterator[None]:
    """Pages train inside their own script run: what AppTest sees is then complete."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYGROUND_TRAINER", "inprocess")
        close_trainer()
        yield
        close_trainer()
