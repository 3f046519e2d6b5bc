"""An experiment: a question, the nets and numbers that decide it, and what is true. Lessons, claims and papers are
experiments.

Their words, nets and options are files of `content/` (see `models.content`); how numbers decide is a judge in Python.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from models import answers
from models.answers import OF_TORCH, SIGNAL, Question
from models.content import ContentError, Document, bound, fill, placeholders
from models.lessons.glossary import ENTRIES, PAGES, key_of
from models.spec import RunConfig
from models.spec.bounds import MAX_SEEDS_PER_RUN
from models.stated import check as numbers_named

AT_END = " at the end"  # of a measure: of the trained net, not of the net before training
ROOT = Path(__file__).parents[1]
QUESTIONS = {one.name: one for one in vars(answers).values() if isinstance(one, Question)}
LINK = re.compile(r"\]\(([\w-]+)(?:\?word=([^)\s]*))?")
ARXIV = re.compile(r"\d{4}\.\d{5}")


_computing = Lock()


@dataclass(frozen=True)
class Computed:
    """Numbers computed by numpy, by a function without arguments."""

    numbers: Callable[[], dict[str, Any]]

    def value(self) -> dict[str, Any]:
        """The numbers. One function runs at a time: a class that presses together waits for one computation."""
        with _computing:
            return self.numbers()


@dataclass(frozen=True)
class Asked:
    """The trainer's answer to a question about a net, with arguments."""

    question: Question[Any]
    cfg: RunConfig = field(default_factory=RunConfig)
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """The trace of a finished run; with several `seeds`, from its own up, a list of their traces."""

    cfg: RunConfig
    seeds: int = 1


Source = Computed | Asked | Trained
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Lines:
    """Values over depth, (S,) by name, on a log axis unless `axis` is "linear".

    `places` and `x`: what stands along the x axis and its title, where that is not the depth of a net. `guides`: values
    with a dotted line.
    """

    title: str
    unit: str
    values: Mapping[str, np.ndarray]
    places: tuple[str, ...] = ()
    x: str = ""
    axis: str = "log"
    guides: tuple[float, ...] = ()


@dataclass(frozen=True)
class Plane:
    """Values over two numbers, (Y, X), coloured by their logarithm from below 1 to above, and a line (X,) across."""

    title: str
    unit: str
    x: str
    y: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: np.ndarray
    edge: np.ndarray
    edge_name: str


@dataclass(frozen=True)
class Judgement:
    """The option that the numbers decide for, what fills the placeholders of the text, a table by column, charts."""

    answer: str
    numbers: Mapping[str, Any]
    table: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines | None = None
    plane: Plane | None = None


@dataclass(frozen=True)
class Finding:
    """What the numbers say: an option, a sentence, the condition under which the option holds, a table, charts."""

    answer: str
    sentence: str
    condition: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines | None = None
    plane: Plane | None = None


@dataclass(frozen=True)
class Experiment:
    """A question with its options, the sources of the values that `judge` takes by name, and why it comes out so.

    `says` is what the values say, `early` what they say before training where the question is about that, and
    `condition` when the option holds that is true in part: all three with placeholders. `papers`: address by name.
    """

    key: str
    title: str
    question: str
    options: tuple[str, ...]
    sources: Mapping[str, Source]
    judge: Callable[[Values], Judgement]
    says: str
    why: str
    papers: Mapping[str, str]
    early: str = ""
    condition: str = ""
    words: Mapping[str, str] = field(default_factory=dict)  # what another language calls an option or a net

    def word(self, name: str) -> str:
        """What an option or a net is called in the language of the text."""
        return self.words.get(name, name)

    @property
    def nets(self) -> dict[str, RunConfig]:
        """The nets involved, by name; none where numbers or torch's own layers decide."""
        configs: dict[str, RunConfig] = {}
        for name, one in self.sources.items():
            of_net = isinstance(one, Trained) or (isinstance(one, Asked) and one.question not in OF_TORCH)
            if of_net and not isinstance(one, Computed) and one.cfg not in configs.values():
                configs[name] = one.cfg
        return configs

    def finding(self, values: Values, *, trained: bool = True) -> Finding:
        """What the values say; if not `trained`, of the nets before training."""
        finding = self.judge(values)
        sentence = fill(f"{self.early} {self.says}".strip() if trained else self.early, finding.numbers)
        for name in self.words:
            sentence = sentence.replace(name, self.words[name])
        condition = fill(self.condition, finding.numbers)
        return Finding(finding.answer, sentence, condition, finding.table, finding.lines, finding.plane)


@dataclass(frozen=True)
class Judge:
    """A function of values, and the names of the numbers that it gives to a text."""

    function: Callable[..., Judgement]
    numbers: tuple[str, ...]


JUDGES: dict[str, Judge] = {}


def judge(numbers: str) -> Callable[[Callable[..., Judgement]], Callable[..., Judgement]]:
    """Makes a function a judge, which texts call by its name; `numbers` are the names that it gives them."""

    def made(function: Callable[..., Judgement]) -> Callable[..., Judgement]:
        JUDGES[function.__name__] = Judge(function, tuple(numbers.split()))
        return function

    return made


def parts(
    text: Document,
    options: Any,
    *,
    says: str,
    early: str = "",
    condition: str = "",
    functions: Mapping[str, Callable[[], dict[str, Any]]] = {},
) -> dict[str, Any]:
    """What every experiment takes from its file; a fault where something is missing, unknown or of a wrong type.

    `options` are for the judge. `says`, `early` and `condition` are the headings of these texts; `functions` are those
    that compute numbers.
    """
    settings = text.take("judge", dict)
    name = str(settings.pop("by", ""))
    if name not in JUDGES:
        raise text.fault(f"there is no judge “{name}”; there is {', '.join(sorted(JUDGES))}", name or "[judge]")
    judged = JUDGES[name]
    headings = {"says": says, "early": early, "condition": condition}
    heard = {what: text.section(heading, "") for what, heading in headings.items()}
    text.check(heard.values(), judged.numbers)
    why = text.section("Why")
    links(text, why)
    return {
        "key": text.key,
        "title": text.title,
        "options": tuple(options),
        "sources": sources(text, functions),
        "judge": bound(text, judged.function, settings, options=options),
        "why": why,
        "papers": {name: address(text, name, of) for name, of in text.take("papers", dict).items()},
        "words": text.take("words", dict, {}),
        **heard,
    }


def stated(text: Document, functions: Mapping[str, Callable[[], dict[str, Any]]] = {}) -> None:
    """A fault where a sentence states a number that is neither measured nor named; `functions` as in `parts`."""
    settings = text.front.get("judge")
    judged = JUDGES.get(str(settings.get("by"))) if isinstance(settings, dict) else None
    numbers_named(text, [*functions.values(), *([judged.function] if judged else [])])


def topic_of(text: Document, topics: Sequence[str]) -> str:
    """What a file is about, or a fault."""
    about = text.take("topic", str)
    if about not in topics:
        raise text.fault(f"the topic is one of {', '.join(topics)}", "topic")
    return about


def sources(text: Document, functions: Mapping[str, Callable[[], dict[str, Any]]]) -> dict[str, Source]:
    """The nets of a file, each with how it is measured, and its numbers; `every_net` holds for each of them.

    `seeds`: how many seeds are trained of each net.
    """
    by_name: dict[str, Source] = {}
    for name, what in text.take("numbers", dict, {}).items():
        if what not in {**functions, **QUESTIONS}:
            raise text.fault(f"nothing computes “{what}”", str(what))
        by_name[name] = Computed(functions[what]) if what in functions else Asked(QUESTIONS[what])
    seeds, shared = text.take("seeds", int, 1), text.take("every_net", dict, {})
    if not 1 <= seeds <= MAX_SEEDS_PER_RUN:
        raise text.fault(f"seeds is 1 to {MAX_SEEDS_PER_RUN}", "seeds")
    for name, fields in text.take("nets", dict, {}).items():
        own = {**shared, **fields}
        how, ended, _ = own.pop("measure", "trained").partition(AT_END)
        cfg = net(text, own, name)
        if how == "trained":
            by_name[name] = Trained(cfg, seeds)
        elif how == "before training":
            by_name[name] = Asked(SIGNAL, cfg, {"step": 0})
        elif how in QUESTIONS:
            by_name[name] = Asked(QUESTIONS[how], cfg, {"step": cfg.steps if ended else 0})
        else:
            raise text.fault(f"a net is not measured by “{how}”", str(how))
    return by_name


def net(text: Document, fields: Mapping[str, Any], at: str) -> RunConfig:
    """A net from its fields as in a link, with `arrangement`; a fault where a link would be corrected."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in fields.items()}
    cfg, notes = RunConfig.from_query(texts)
    for note in notes:
        raise text.fault(f"the net “{at}”: {note}", at)
    return cfg


def address(text: Document, name: str, of: str) -> str:
    """A paper's address from its number at arXiv, or as it stands."""
    if not (ARXIV.fullmatch(of) or of.startswith("https://")):
        raise text.fault(f"“{of}” is neither a number at arXiv nor an address", name)
    return of if of.startswith("https://") else f"https://arxiv.org/abs/{of}"


def links(text: Document, *texts: str) -> None:
    """A fault where a text links to a page, or a term, that there is not."""
    for page, word in (match.groups() for one in texts for match in LINK.finditer(one)):
        if page not in PAGES | {"https", "http"} or (word and key_of(word.replace("%20", " ")) not in ENTRIES):
            raise text.fault(f"this leads nowhere: {page}{f'?word={word}' if word else ''}", page)


def all_is_said(experiments: Iterable[Experiment]) -> None:
    """ContentError where a judge measures what no text says."""
    mentioned: dict[str, set[str]] = {}
    for one in experiments:
        used = mentioned.setdefault(getattr(one.judge, "func").__name__, set())  # noqa: B009 (a partial, from `bound`)
        used.update(name for text in (one.says, one.early, one.condition) for name in placeholders(text))
    for name, used in mentioned.items():
        for unsaid in set(JUDGES[name].numbers) - used:
            raise ContentError(f"No text says what the judge “{name}” measures as “{unsaid}”.")
