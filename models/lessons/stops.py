"""Stops: the pages and questions that a class can be shown, as text, and what is asked there.

A stop is a page with its settings, as in its link without what only the visit has (`compare?a=...`). Some have short
names: `start`, the key of a lesson, `story-3` for a scene. A question of a teacher's is a stop too, as its lines.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from models.claims.claims import CLAIMS
from models.claims.judging import GUESSES
from models.insight.path_outcome import PATH_OUTCOMES
from models.labs.labs import LABS
from models.lessons.glossary import PAGES
from models.lessons.lessons import LESSONS, Lesson
from models.lessons.questions import ASK, Poll, plain, question_from
from models.papers.papers import PAPERS
from models.spec import RunConfig
from models.spec.bounds import MAX_STOP_CHARS
from models.spec.query import MAX_LINK_KEYS, PAGE_KEYS

# Addresses of the pages.
START = "start"
STORY = "story"
PLAYGROUND = "playground"
LESSON = "lessons"
CLAIM = "claims"
QUESTION = "question"
NO_STOPS = {"navigation", "teacher", QUESTION}  # scripts whose address shows a class nothing
TITLES = {STORY: "The story", "recordings": "Your model", CLAIM: "Common claims"}
STORY_SCENES = 5
SCENE = re.compile(rf"{STORY}-([1-{STORY_SCENES}])")
VISIT_KEYS = {"class", "hide", "key", "lang", "plan", "q", "view", "homework"}  # of an address, which no stop has
# By page, the key of its address that names one of its parts, and these.
PARTS: dict[str, tuple[str, Mapping[str, object]]] = {
    LESSON: ("lesson", LESSONS),
    CLAIM: ("claim", CLAIMS),
    "papers": ("paper", PAPERS),
    STORY: ("scene", dict.fromkeys(map(str, range(1, STORY_SCENES + 1)))),
}


@dataclass(frozen=True)
class OutcomePoll(Poll):
    """The question on Start what becomes of ten digits in a net."""

    net: RunConfig


# The nets of Start that have a question.
NETS = {"Residual, no norm": RunConfig(norm="none"), "Norm, no residual": RunConfig(residual=False)}
START_POLLS = {
    f"{START}-{index}": OutcomePoll(title, PATH_OUTCOMES, net) for index, (title, net) in enumerate(NETS.items())
}


def read_stop(text: str) -> tuple[str, str]:
    """The stop that a link, a name or the lines of a question name, and a remark on settings that were changed.

    ValueError with the reason if they name none.
    """
    text = text.strip()
    if len(text) > MAX_STOP_CHARS:
        raise ValueError(f"it is longer than {MAX_STOP_CHARS:,} characters")
    if text.startswith(ASK):
        return question_from(text).text, ""
    scene = SCENE.fullmatch(text)
    if text in LESSONS or scene:
        return text, ""
    try:
        link = urlsplit(text)
        pairs = parse_qsl(link.query, keep_blank_values=True, max_num_fields=MAX_LINK_KEYS)
    except ValueError:
        raise ValueError(f"“{_short(text)}” is not a link") from None
    page = link.path.rpartition("/")[2] or (START if link.scheme or link.path else "")
    query = {key: value for key, value in pairs if key not in VISIT_KEYS}
    if page not in PAGES or page in NO_STOPS:
        raise ValueError(f"“{_short(text)}” is no page, lesson or question")
    return _page_stop(page, query)


def _page_stop(page: str, query: dict[str, str]) -> tuple[str, str]:
    """The stop of a page with its settings, and a remark on those that were changed; ValueError for an unknown part."""
    remark = ""
    key, parts = PARTS.get(page, ("", {}))
    if key in query and query[key] not in parts:
        raise ValueError(f"there is no {key} “{_short(query[key])}”")
    if page == LESSON:
        return query.get("lesson", next(iter(LESSONS))), remark
    if page == STORY:  # without the net of an older link, which would lead to Start
        return f"{STORY}-{query.get('scene', 1)}", remark
    if page == PLAYGROUND:
        cfg, notes = RunConfig.from_query(query)
        query = cfg.to_query() | {key: value for key, value in query.items() if key in PAGE_KEYS}
        remark = "; ".join(notes)
    stop = page if page == START or not query else f"{page}?{urlencode(query)}"
    if len(stop) > MAX_STOP_CHARS:
        raise ValueError(f"it is longer than {MAX_STOP_CHARS:,} characters")
    return stop, remark


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def stop_from(text: str) -> str:
    """The stop that a text names, in canonical form; "" if it names none."""
    try:
        return read_stop(text)[0]
    except ValueError:
        return ""


def playground_stop(cfg: RunConfig) -> str:
    """Stop of the playground with a configuration."""
    return _page_stop(PLAYGROUND, cfg.to_query())[0]


def page_of(stop: str) -> tuple[str, dict[str, str]]:
    """Page of a stop, and the query of its address."""
    if stop in LESSONS:
        return LESSON, {"lesson": stop}
    if stop.startswith(ASK):
        return QUESTION, {}
    scene = SCENE.fullmatch(stop)
    if scene:
        return STORY, {"scene": scene[1]}
    page, _, query = stop.partition("?")
    return page, dict(parse_qsl(query, keep_blank_values=True))


def claim_of(stop: str) -> str:
    """Key of the claim that a stop shows; "" if it shows none."""
    page, query = page_of(stop)
    return query.get("claim", "") if page == CLAIM else ""


def questions_of(stop: str) -> tuple[str, ...]:
    """The questions of a stop, by which `poll_of` finds them; none for a page that asks nothing."""
    if stop == START:
        return tuple(START_POLLS)
    return (stop,) if stop in LESSONS or stop.startswith(ASK) or claim_of(stop) else ()


def poll_of(question: str) -> Poll | Lesson:
    """Title and options of a question. KeyError or ValueError if there is none."""
    if question.startswith(ASK):
        return question_from(question)
    if claim := claim_of(question):
        return Poll(f"“{CLAIMS[claim].title}”", tuple(GUESSES))
    return START_POLLS[question] if question in START_POLLS else LESSONS[question]


def title_of(stop: str) -> str:
    if stop in LESSONS:
        return f"{list(LESSONS).index(stop) + 1}. {LESSONS[stop].title}"
    if stop == START:
        return "Start: the four nets"
    if stop.startswith(ASK):
        return f"Question: {poll_of(stop).title}"
    page, query = page_of(stop)
    name = LABS[page].title if page in LABS else TITLES.get(page, page.capitalize())
    if claim := claim_of(stop):
        return f"Claim: “{CLAIMS[claim].title}”"
    if scene := SCENE.fullmatch(stop):
        return f"{name}, scene {scene[1]}"
    changes = ", ".join(f"{key} {plain(unquote(value))}" for key, value in query.items())
    if page == PLAYGROUND:
        changes = changes or "the default network"
    return f"{name}: {changes}"[:120] if changes else name
