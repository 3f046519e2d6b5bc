"""Stops: the pages that a class can be shown, as text that fits an address, and the questions asked there.

A stop is `start`, the key of a lesson, `story-3` for a scene of the story, or `playground?` with a configuration.
"""

import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from models.insight.path_outcome import PATH_OUTCOMES
from models.lessons.lessons import LESSONS, Lesson
from models.spec import RunConfig
from models.spec.bounds import MAX_STOP_CHARS, MAX_STOPS
from models.spec.query import MAX_LINK_KEYS

# Addresses of the pages.
START = "start"
STORY = "story"
PLAYGROUND = "playground"
LESSON = "lessons"
STORY_SCENES = 6
SCENE = re.compile(rf"{STORY}-([1-{STORY_SCENES}])")


@dataclass(frozen=True)
class Poll:
    """A question to a class: the net or lesson it is about, and the options."""

    title: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class OutcomePoll(Poll):
    """The question on Start what becomes of ten digits in a net."""

    net: RunConfig


# The nets of Start that have a question.
NETS = {"Residual, no norm": RunConfig(norm="none"), "Norm, no residual": RunConfig(residual=False)}
START_POLLS = {
    f"{START}-{index}": OutcomePoll(title, PATH_OUTCOMES, net) for index, (title, net) in enumerate(NETS.items())
}
# ChainMap is typed for mutable mappings, but QUESTIONS is only read: hence the casts.
QUESTIONS: Mapping[str, Poll | Lesson] = ChainMap(cast(Any, START_POLLS), cast(Any, LESSONS))
DEFAULT_PLAN = (START, "vanishing", "exploding", "skip", "placement", "init")  # Start and five lessons


def stop_from(text: str) -> str:
    """The stop that a text names, in canonical form; "" if it names none."""
    if text == START or text in LESSONS or SCENE.fullmatch(text):
        return text
    page, _, query = text[:MAX_STOP_CHARS].partition("?")
    if page != PLAYGROUND:
        return ""
    cfg, _ = RunConfig.from_query(dict(parse_qsl(query, max_num_fields=MAX_LINK_KEYS)))
    stop = playground_stop(cfg)
    return stop if len(stop) <= MAX_STOP_CHARS else ""


def playground_stop(cfg: RunConfig) -> str:
    """Stop of the playground with a configuration."""
    query = urlencode(cfg.to_query())
    return f"{PLAYGROUND}?{query}" if query else PLAYGROUND


def plan_from(text: str) -> tuple[str, ...]:
    """Distinct valid stops in a comma-separated list; commas within a stop are escaped."""
    named = (stop_from(name) for name in text[: MAX_STOPS * MAX_STOP_CHARS].split(",", MAX_STOPS)[:MAX_STOPS])
    return tuple(dict.fromkeys(stop for stop in named if stop))


def page_of(stop: str) -> tuple[str, dict[str, str]]:
    """Page of a stop, and the query of its address."""
    if stop in LESSONS:
        return LESSON, {"lesson": stop}
    scene = SCENE.fullmatch(stop)
    if scene:
        return STORY, {"scene": scene[1]}
    page, _, query = stop.partition("?")
    return page, dict(parse_qsl(query))


def questions_of(stop: str) -> tuple[str, ...]:
    """Keys of QUESTIONS that belong to a stop; none for a scene or the playground."""
    if stop == START:
        return tuple(START_POLLS)
    return (stop,) if stop in LESSONS else ()


def title_of(stop: str) -> str:
    if stop in LESSONS:
        return f"{list(LESSONS).index(stop) + 1}. {LESSONS[stop].title}"
    scene = SCENE.fullmatch(stop)
    if scene:
        return f"The story, scene {scene[1]}"
    if stop == START:
        return "Start: the four nets"
    changes = ", ".join(f"{name} {value}" for name, value in page_of(stop)[1].items())
    return f"Playground: {changes or 'the default network'}"
