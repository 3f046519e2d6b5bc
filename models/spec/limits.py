"""Limits on what the server spends on its visitors, set by its operator in environment variables."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Variable(NamedTuple):
    """An environment variable: the field of `Limits` that it sets, its default, range, unit and meaning."""

    field: str
    default: float
    low: float
    high: float
    unit: str
    meaning: str


# docs/server.md has the same table; a test keeps both equal.
VARIABLES: dict[str, Variable] = {
    "PLAYGROUND_CORES": Variable(
        "cores", 1, 1, 256, "threads",
        "Processor threads on which runs are computed. With more than one, sums are taken in another order, and the "
        "last digits of a run differ from what other servers compute.",
    ),
    "PLAYGROUND_PLACES": Variable(
        "runs", 64, 1, 256, "runs",
        "Runs that are trained in turns. Further ones wait; the page shows their place, and offers to train in the "
        "browser.",
    ),
    "PLAYGROUND_MEMORY": Variable(
        "memory", 1000, 16, 1e6, "MB",
        "Estimated memory: of one training step (a larger one is refused), and of all weights and rows that are held "
        "at once (a run that does not fit beside the others waits in the queue).",
    ),
    "PLAYGROUND_STEPS": Variable("steps", 5000, 1, 5000, "steps", "Steps of one run; a longer one is refused."),
    "PLAYGROUND_STEP_SECONDS": Variable(
        "step_seconds", 0.2, 0.001, 12, "s", "Estimated time of one step on one thread; a slower one is refused."
    ),
    "PLAYGROUND_RUN_SECONDS": Variable(
        "run_seconds", 900, 1, 1e6, "s", "Estimated time of a whole run on one thread; a longer one is refused."
    ),
    "PLAYGROUND_SILENCE": Variable(
        "silence", 60, 10, 3600, "s",
        "How long the trainer may say nothing, as when a step hangs, before it is ended and restarted; at least five "
        "times `PLAYGROUND_STEP_SECONDS`.",
    ),
    "PLAYGROUND_ADDRESS_SPACE": Variable(
        "address_space", 8000, 0, 1e6, "MB",
        "Address space of the trainer's process (Linux, no GPU); what needs more ends with an error message, and 0 "
        "sets no limit.",
    ),
    "PLAYGROUND_MAP_PROCESSES": Variable(
        "map_processes", 256, 0, 256, "processes",
        "Processes that compute a map, at most; all cores but one where that is fewer. 0: no maps are computed, and "
        "the recorded ones are shown.",
    ),
    "PLAYGROUND_MAP_SECONDS": Variable(
        "map_seconds", 21600, 1, 1e7, "s", "Estimated time of a whole map on one core; a longer one is refused."
    ),
    "PLAYGROUND_MAPS": Variable(
        "maps", 200, 1, 1e5, "maps",
        "Maps kept on disk of those that visitors have asked for; beyond that, the one that was worked on longest ago "
        "is deleted.",
    ),
    "PLAYGROUND_PROXIES": Variable(
        "proxies", 0, 0, 9, "proxies",
        "Proxies of your own through which every visitor comes, each of which appends to `X-Forwarded-For`: the "
        "visitor's address is that many entries from its right. 0: nobody's header is believed.",
    ),
}  # fmt: skip


FRAMES = "PLAYGROUND_FRAMES"  # variable with the origins whose pages may frame the app
ORIGIN = re.compile(r"https?://[\w*.-]+(:[0-9]{1,5})?", re.ASCII)
CLASS_PASSWORD = "PLAYGROUND_CLASS_PASSWORD"  # variable with the password for opening a class
MIN_SILENCE_STEPS = 5  # estimated step times that the trainer may stay silent


@dataclass(frozen=True)
class Limits:
    """The limits of a server, in the units of VARIABLES."""

    cores: int
    runs: int
    memory: int
    steps: int
    step_seconds: float
    run_seconds: float
    silence: float
    address_space: int
    map_processes: int
    map_seconds: float
    maps: int
    proxies: int


def limits_from(environment: Mapping[str, str]) -> Limits:
    """The limits of an environment. Raises ValueError with the variable, its value and the legal range."""
    values = {variable.field: _number(name, variable, environment) for name, variable in VARIABLES.items()}
    limits = Limits(**values)  # type: ignore[arg-type]
    min_silence = MIN_SILENCE_STEPS * limits.step_seconds
    if limits.silence < min_silence:
        raise ValueError(
            f"PLAYGROUND_SILENCE is {limits.silence:g}; legal is {min_silence:g} or more "
            f"(s) where PLAYGROUND_STEP_SECONDS is {limits.step_seconds:g}: an honest step would be taken for a hung "
            "one"
        )
    return limits


def class_password() -> str:
    """The password for opening a class; empty if anyone may."""
    return os.environ.get(CLASS_PASSWORD, "").strip()


def frame_ancestors(environment: Mapping[str, str]) -> str:
    """Who may frame the app, as a Content-Security-Policy says it: its own pages and the origins of FRAMES.

    ValueError for an origin that is none.
    """
    origins = environment.get(FRAMES, "").split()
    for origin in origins:
        if origin != "*" and not ORIGIN.fullmatch(origin):
            raise ValueError(f"{FRAMES} has {origin}; legal are origins such as https://course.example, or *")
    return " ".join(["'self'", *origins])


def environment_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of VARIABLES that an environment sets, by name."""
    return {name: environment[name].strip() for name in (*VARIABLES, FRAMES) if environment.get(name, "").strip()}


def _number(name: str, variable: Variable, environment: Mapping[str, str]) -> float:
    text = environment.get(name, "").strip()
    number_type = Limits.__annotations__[variable.field]
    try:
        value: float = number_type(text or variable.default)
        is_legal = variable.low <= value <= variable.high
    except ValueError:
        is_legal = False
    if not is_legal:
        noun = "a whole number" if number_type is int else "a number"
        raise ValueError(
            f"{name} is {text}; legal is {noun} from {variable.low:g} to {variable.high:g} ({variable.unit})"
        )
    return value


LIMITS = limits_from(os.environ)
FRAME_ANCESTORS = frame_ancestors(os.environ)
