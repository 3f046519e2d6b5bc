"""Records the residual stream of your own model while it trains: signal and gradient at every depth.

    from addnorm import watch

    with watch(model, "run.jsonl", optimizer=optimizer) as recorder:
        ...  # train as usual

`profile(model, batch)` measures one pass, `coordinates(build, widths, batch)` how sizes depend on the width, and
`read("run.jsonl")` returns a recording.

torch is imported when `watch` is first used, so that a recording can be read without it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from addnorm.alarms import Alarm
    from addnorm.coordinate_check import Coordinates, coordinates
    from addnorm.display import side_by_side
    from addnorm.profiling import Profile, profile
    from addnorm.recorder import Recorder, unwatch, watch
    from addnorm.recording import Recording, read
    from addnorm.rules import Diagnostic

__version__ = "0.2.0"
__all__ = [
    "Alarm", "Coordinates", "Diagnostic", "Profile", "Recorder", "Recording", "coordinates", "profile", "read",
    "side_by_side", "unwatch", "watch",
]  # fmt: skip

_MODULES = {
    "Profile": "profiling",
    "profile": "profiling",
    "Alarm": "alarms",
    "Diagnostic": "rules",
    "Coordinates": "coordinate_check",
    "coordinates": "coordinate_check",
    "Recording": "recording",
    "read": "recording",
    "side_by_side": "display",
    "Recorder": "recorder",
    "unwatch": "recorder",
    "watch": "recorder",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
