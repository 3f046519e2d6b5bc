"""The specification of a run, behind its controls, links, validation and identity. Plain Python, without torch."""

from models.spec.arrangements import ARRANGEMENTS, arrangement_of
from models.spec.config import RunConfig
from models.spec.fields import knobs
from models.spec.placement import PLACEMENTS
from models.spec.plan import plan
from models.spec.scales import BRANCH_SCALES, INPUT_SCALES, SKIP_SCALES
from models.spec.tasks import TASKS
from models.spec.vocabulary import (
    ACTIVATIONS,
    DECAYED,
    DEVICES,
    INITS,
    MASKS,
    NET_DEFAULTS,
    NETS,
    NORMS,
    OPTIMIZERS,
    PARAMETRIZATIONS,
    POSITIONS,
    SCHEDULES,
    STACKS,
)

__all__ = [
    "ACTIVATIONS",
    "ARRANGEMENTS",
    "BRANCH_SCALES",
    "DECAYED",
    "DEVICES",
    "INITS",
    "INPUT_SCALES",
    "MASKS",
    "NETS",
    "NET_DEFAULTS",
    "NORMS",
    "OPTIMIZERS",
    "PARAMETRIZATIONS",
    "PLACEMENTS",
    "POSITIONS",
    "SCHEDULES",
    "SKIP_SCALES",
    "STACKS",
    "TASKS",
    "RunConfig",
    "arrangement_of",
    "knobs",
    "plan",
]
