"""The residual stream of your own model, recorded while it trains: activation and gradient at every depth.

    from addnorm import watch

    with watch(model, "run.jsonl", optimizer=optimizer) as tape:
        ...  # train as ever

torch is imported when `watch` is first used, so that a recording can be read without it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from addnorm.recorder import Tape, unwatch, watch

__all__ = ["Tape", "unwatch", "watch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from addnorm import recorder

    return getattr(recorder, name)
