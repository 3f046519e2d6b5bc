"""What all tests share: one torch thread, as the trainer has, and hypothesis without a clock."""

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)

# Derandomised: a run of the tests is repeatable, and no machine is too slow for them.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
