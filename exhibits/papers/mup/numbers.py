"""The recorded coordinate checks of the page Maps."""

from functools import cache
from typing import Any

from models.maps.prepared import CHECKS, recorded_check


@cache
def coordinate_checks() -> dict[Any, Any]:
    """Coordinate checks recorded for the page Maps, by the field that varies and parametrisation."""
    checks = {key: recorded_check(check) for key, check in CHECKS.items()}
    return {key: check.coordinates for key, check in checks.items() if check is not None}
