"""Experiments: a question, the nets and numbers that decide it, and the judge that decides.

Lessons, claims and papers are experiments. Their words, nets and options are files of Markdown (see `models.content`);
judges are Python functions.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar, TypeVar

import numpy as np

from models import answers
from models.answers import SIGNAL, Question
from models.content import Document, Texts, bind_settings, fill
from models.exhibits import beside, questions
from models.lessons.glossary import ENTRIES, PAGES, key_of
from models.spec import RunConfig
from models.spec.bounds import MAX_SEEDS_PER_RUN
from models.trace import Trace

TEXTS = Texts("judges")
AT_END = " at the end"  # suffix of a measure: of the trained net, not of the net before training
ROOT = Path(__file__).parents[1]
QUESTIONS = {
    question.name: question for question in (*vars(answers).values(), *questions()) if isinstance(question, Question)
}
LINK = re.compile(r"\]\(([\w-]+)(?:\?word=([^)\s]*))?")
ARXIV = re.compile(r"\d{4}\.\d{5}")
E = TypeVar("E", bound="Experiment")

Numbers = Callable[..., dict[str, Any]]

_computing = Lock()


@dataclass(frozen=True)
class Computed:
    """Numbers computed in this process by a numpy function."""

    numbers: Numbers

    def value(self) -> dict[str, Any]:
        """Computes the numbers. One function runs at a time, so a whole class waits for one computation."""
        with _computing:
            return self.numbers()


@dataclass(frozen=True)
class Answered:
    """The trainer's answer to a question about a net, with arguments."""

    question: Question[Any]
    cfg: RunConfig = field(default_factory=RunConfig)
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """The trace of a finished run; with `seeds` > 1 a list of traces, of the configuration's seed and the next ones."""

    cfg: RunConfig
    seeds: int = 1


Source = Computed | Answered | Trained
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Lines:
    """A line chart of values over depth, (S,) by name, on a log axis unless `axis` is "linear".

    `places` and `x`: labels and title of an x axis other than depth. `guides`: values of dotted lines.
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
    """A heatmap of values over two numbers, (Y, X), coloured by their logarithm around 1, with a line across.

    `edge`: the line's y by x, (X,). `edge_name`: its label.
    """

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
    """A judge's decision: an option, values of the text's placeholders, tables by column, charts.

    `tests`: the statements that were judged, each with its bound, number and verdict. `undecided`: why the numbers
    decide nothing, in place of the text.
    """

    answer: str
    numbers: Mapping[str, Any]
    table: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines | None = None
    plane: Plane | None = None
    tests: Mapping[str, Any] = field(default_factory=dict)
    undecided: str = ""


@dataclass(frozen=True)
class Finding:
    """A judgement in words: an option, a sentence, the condition under which the option holds, tables, charts."""

    answer: str
    sentence: str
    condition: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines | None = None
    plane: Plane | None = None
    tests: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judge:
    """A function of values, and the names of the numbers that it provides to a text."""

    function: Callable[..., Judgement]
    numbers: tuple[str, ...]


def judge(numbers: str) -> Callable[[Callable[..., Judgement]], Judge]:
    """Makes a function a judge; `numbers`: names of the numbers it provides, space-separated."""
    return lambda function: Judge(function, tuple(numbers.split()))


def judges_of(module: ModuleType) -> dict[str, Judge]:
    """The judges of a module by name."""
    return {name: value for name, value in vars(module).items() if isinstance(value, Judge)}


@dataclass(frozen=True)
class Experiment:
    """A question with its options, the sources of the values that `judge` takes by name, and an explanation.

    Texts with placeholders: `result_text` states the result, `early_text` the result before training if the question is
    about that, `condition_text` the condition of an option that holds in part. `papers`: URL by name.
    `order`: place among its kind. `topic`: empty for a kind without topics.
    """

    key: str
    order: int
    title: str
    question: str
    options: tuple[str, ...]
    sources: Mapping[str, Source]
    judge: Judge
    result_text: str
    why: str
    papers: Mapping[str, str]
    early_text: str = ""
    condition_text: str = ""
    topic: str = ""
    undecided: ClassVar[str] = ""  # answer if a number that decides is missing; empty where a judge needs none

    @property
    def nets(self) -> dict[str, RunConfig]:
        """The nets by name; empty if numbers or torch's own layers decide."""
        configs: dict[str, RunConfig] = {}
        for name, source in self.sources.items():
            if isinstance(source, Computed) or (isinstance(source, Answered) and source.question.of_torch):
                continue
            if source.cfg not in configs.values():
                configs[name] = source.cfg
        return configs

    @property
    def opened(self) -> dict[str, RunConfig]:
        """The nets by name that the link opens."""
        return self.nets

    @property
    def opened_seeds(self) -> int:
        """Seeds with which the link opens them, so that it opens the runs that the card trains."""
        sources = [self.sources[name] for name in self.opened]
        return max((source.seeds for source in sources if isinstance(source, Trained)), default=1)

    def judged(self, values: Values) -> Judgement:
        """What the judge decides; `undecided`, with the reason, if one of its numbers is NaN, which refutes nothing."""
        judgement = self.judge.function(values)
        if not self.undecided or not any(map(_has_nan, (judgement.numbers, judgement.table, judgement.tests))):
            return judgement
        ends = {name: value.divergence for name, value in values.items() if isinstance(value, Trace)}
        diverged = [TEXTS("diverged", net=name, step=end.step) for name, end in ends.items() if end]
        why = TEXTS("undecided", why=" ".join(diverged) or f"{TEXTS('no number')}.")
        return replace(judgement, answer=self.undecided, undecided=why)

    def finding(self, values: Values, *, trained: bool = True) -> Finding:
        """Judges the values; unless `trained`, the sentence covers only the nets before training."""
        judgement = self.judged(values)
        text = f"{self.early_text} {self.result_text}".strip() if trained else self.early_text
        sentence = judgement.undecided or fill(text, judgement.numbers)
        condition = "" if judgement.undecided else fill(self.condition_text, judgement.numbers)
        return Finding(
            judgement.answer, sentence, condition, judgement.table, judgement.lines, judgement.plane, judgement.tests
        )


def _has_nan(value: Any) -> bool:
    """Whether a number, or one within a mapping, sequence or array, is NaN."""
    if isinstance(value, Mapping):
        return any(map(_has_nan, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_nan, value))
    return isinstance(value, float | np.ndarray | np.floating) and bool(np.isnan(value).any())


def functions_of(module: ModuleType) -> dict[str, Numbers]:
    """The functions that a module defines and that need no argument, by name."""
    functions = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    return {
        name: function
        for name, function in functions.items()
        if function.__module__ == module.__name__
        and all(p.default is not p.empty for p in inspect.signature(function).parameters.values())
    }


def experiment_fields(
    text: Document,
    options: Any,
    judges: ModuleType,
    *,
    question_heading: str,
    topics: Sequence[str] = (),
    result_heading: str = "What is measured",
    early_heading: str = "",
    condition_heading: str = "",
) -> dict[str, Any]:
    """Takes the fields of an Experiment from a file; its judge and numbers may lie beside it.

    `options`: passed on to the judge, which is one of `judges` where none lies there. `topics`: of which the file names
    one. ContentError if something is missing, unknown or of a wrong type.
    """
    topic = text.take("topic", str) if topics else ""
    if topics and topic not in topics:
        raise text.fault(f"the topic is one of {', '.join(topics)}", "topic")
    numbers = beside(text.path, "numbers")
    settings = text.take("judge", dict, {})
    judge = _judge(text, settings, judges)
    texts = {
        "result_text": text.section(result_heading, ""),
        "early_text": text.section(early_heading, ""),
        "condition_text": text.section(condition_heading, ""),
    }
    text.check(texts.values(), judge.numbers)
    question, why = text.section(question_heading), text.section("Why")
    check_links(text, question, why)
    text.take("stated", dict, {})  # for those who check the sentences
    return {
        "key": text.key,
        "title": text.title,
        "question": question,
        "topic": topic,
        "options": tuple(options),
        "sources": take_sources(text, functions_of(numbers) if numbers else {}),
        "judge": Judge(bind_settings(text, judge.function, settings, options=options), judge.numbers),
        "why": why,
        "papers": {name: paper_url(text, name, number) for name, number in text.take("papers", dict).items()},
        "order": text.take("order", int),
        **texts,
    }


def _judge(text: Document, settings: dict[str, Any], shared: ModuleType) -> Judge:
    """The judge in a text's folder, else the shared one that the settings name, which is taken from them."""
    module = beside(text.path, "judge")
    judges = judges_of(module or shared)
    name = next(iter(judges), "") if module else str(settings.pop("by", ""))
    if name not in judges:
        raise text.fault(f"there is no judge “{name}”; there is {', '.join(judges)}", name or "[judge]")
    return judges[name]


def take_sources(text: Document, functions: Mapping[str, Numbers]) -> dict[str, Source]:
    """Sources of a file by name, from its `numbers` and `nets`.

    Numbers are computed. A net has the fields of `every_net` and its own, and is measured by its `measure`. An
    instrument measures each of several seeds under a name of its own, which ends in ", seed 0" for the first.
    """
    by_name: dict[str, Source] = {}
    for name, computation in text.take("numbers", dict, {}).items():
        if computation not in {**functions, **QUESTIONS}:
            raise text.fault(f"nothing computes “{computation}”", str(computation))
        by_name[name] = (
            Computed(functions[computation]) if computation in functions else Answered(QUESTIONS[computation])
        )
    seeds, shared = text.take("seeds", int, 1), text.take("every_net", dict, {})
    if not 1 <= seeds <= MAX_SEEDS_PER_RUN:
        raise text.fault(f"seeds is 1 to {MAX_SEEDS_PER_RUN}", "seeds")
    for name, fields in text.take("nets", dict, {}).items():
        settings = {**shared, **fields}
        measure, trained, _ = settings.pop("measure", "trained").partition(AT_END)
        cfg = net_config(text, settings, name)
        if measure == "trained":
            by_name[name] = Trained(cfg, seeds)
        elif measure == "before training":
            by_name[name] = Answered(SIGNAL, cfg, {"step": 0} | ({"count": seeds} if seeds > 1 else {}))
        elif measure in QUESTIONS:
            for seed in range(seeds):
                seeded = f"{name}, seed {seed}" if seeds > 1 else name
                step = cfg.steps if trained else 0
                by_name[seeded] = Answered(QUESTIONS[measure], replace(cfg, seed=cfg.seed + seed), {"step": step})
        else:
            raise text.fault(f"a net is not measured by “{measure}”", str(measure))
    return by_name


def net_config(text: Document, fields: Mapping[str, Any], net: str) -> RunConfig:
    """Configuration from a net's fields, named as in a link; ContentError where a link would be corrected."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in fields.items()}
    cfg, notes = RunConfig.from_query(texts)
    if notes:
        raise text.fault(f"the net “{net}”: {notes[0]}", net)
    return cfg


def paper_url(text: Document, name: str, number_or_url: str) -> str:
    """URL of a paper from its arXiv number, or the URL itself."""
    if not (ARXIV.fullmatch(number_or_url) or number_or_url.startswith("https://")):
        raise text.fault(f"“{number_or_url}” is neither a number at arXiv nor an address", name)
    return number_or_url if number_or_url.startswith("https://") else f"https://arxiv.org/abs/{number_or_url}"


def check_links(text: Document, *parts: str) -> None:
    """ContentError if a part of the text links to a page or term that does not exist."""
    for page, word in (match.groups() for part in parts for match in LINK.finditer(part)):
        if page not in PAGES | {"https", "http"} or (word and key_of(word.replace("%20", " ")) not in ENTRIES):
            raise text.fault(f"this leads nowhere: {page}{f'?word={word}' if word else ''}", page)


def experiments_from(load: Callable[[Document], E], texts: Iterable[Document]) -> dict[str, E]:
    """The experiments of some files by key, in order."""
    return {experiment.key: experiment for experiment in sorted(map(load, texts), key=attrgetter("order"))}
