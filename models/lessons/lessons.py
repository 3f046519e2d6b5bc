"""The lessons in order, loaded from `exhibits/lessons/`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from models.content import Content, Document
from models.experiment import (
    ROOT,
    Experiment,
    check_links,
    experiment_fields,
    experiments_from,
    net_config,
)
from models.lessons import judges
from models.lessons.challenges import GOALS, Challenge, rule_violations
from models.lessons.glossary import ENTRIES, key_of

CHARTS = ("loss", "act_rms", "grad_rms", "sample_cosine")


@dataclass(frozen=True)
class Code:
    """The code that a lesson is about: a file of the repository and a class, function or "Class.method" in it."""

    path: str
    name: str


@dataclass(frozen=True)
class Teaching:
    """What a teacher asks of a lesson: what one can do after it, the terms that it builds on, minutes with a class.

    `key`: fields that pass its challenge.
    """

    objective: str = ""
    presupposes: tuple[str, ...] = ()
    minutes: int = 0
    key: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Lesson(Experiment):
    """An experiment on one to four nets.

    `charts`: keys of the page's charts, first the one that answers. `see`: addresses of labs.
    `field`: a control's, whose help leads here.
    """

    charts: tuple[str, ...]
    code: Code
    challenge: Challenge
    see: tuple[str, ...]
    field: str
    teaching: Teaching


def lesson(text: Document) -> Lesson:
    """Loads a lesson from its file; raises ContentError."""
    options = text.front.pop("options", ())
    path, _, name = text.take("code", str).partition(" ")
    challenge = _challenge(text)
    loaded = Lesson(
        charts=tuple(text.take("charts", list)),
        code=Code(path, name),
        challenge=challenge,
        teaching=_teaching(text, challenge),
        see=tuple(text.take("see", list, [])),
        field=text.take("field", str, ""),
        **experiment_fields(
            text,
            options,
            judges,
            question_heading="Question",
            result_heading="What happened",
            early_heading="Before training",
        ),
    )
    text.require_all_taken()
    for chart in set(loaded.charts) - set(CHARTS):
        raise text.fault(f"there is no chart “{chart}”; there is {', '.join(CHARTS)}", "charts")
    source = ROOT / path
    definition = rf"(def|class) {name.rpartition('.')[2]}\b"
    if not source.is_file() or not re.search(definition, source.read_text("utf-8")):
        raise text.fault(f"{path} has no {name}", "code")
    nets_by_option = options.values() if isinstance(options, dict) else ()
    for nets in nets_by_option:
        for net in nets:
            if net not in loaded.nets:
                raise text.fault(f"there is no net “{net}”", net)
    check_links(text, loaded.challenge.text)
    return loaded


def _challenge(text: Document) -> Challenge:
    """Loads the challenge of a lesson; raises ContentError."""
    challenge = text.take("challenge", dict)
    goals = []
    for name, settings in challenge.pop("goals", {}).items():
        if name not in GOALS:
            raise text.fault(f"there is no goal “{name}”; there is {', '.join(GOALS)}", name)
        try:
            goals.append(GOALS[name](**settings))
        except TypeError as error:
            raise text.fault(str(error), name) from None
    base = net_config(text, challenge.pop("net", {}), "[challenge]")
    fields, limits = tuple(challenge.pop("change", ())), challenge.pop("limits", {})
    for name in challenge:
        raise text.fault(f"a challenge has no “{name}”", name)
    bounds = tuple((field, *ends) for field, ends in limits.items())
    return Challenge(text.section("Challenge"), base, fields, tuple(goals), bounds)


def _teaching(text: Document, challenge: Challenge) -> Teaching:
    """Loads what a teacher asks; ContentError for an unknown term, or a key that breaks the challenge's rules."""
    if "teaching" not in text.front:
        return Teaching()
    table = Document(text.path, text.take("teaching", dict))
    terms, key = table.take("presupposes", list), table.take("key", dict)
    teaching = Teaching(table.take("objective", str), tuple(terms), table.take("minutes", int), key)
    table.require_all_taken()
    for term in terms:
        if key_of(term) not in ENTRIES:
            raise text.fault(f"there is no term “{term}”", term)
    try:
        broken = rule_violations(challenge, replace(challenge.base, **key))
    except (TypeError, ValueError) as error:
        broken = (str(error),)
    for sentence in broken:
        raise text.fault(sentence.removesuffix("."), "key = ")
    return teaching


LESSONS: Content[Lesson] = Content("lessons/*.md", partial(experiments_from, lesson))
