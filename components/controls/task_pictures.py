"""Small pictures of the tasks, each made of a few of its samples: what a choice of the control Task shows."""

from html import escape
from urllib.parse import quote

import numpy as np

from components.charts.colour import CLASSES, GREY
from models.answers import TASK_EXAMPLES, TaskExamples
from models.service.client import trainer
from models.spec import TASKS, RunConfig

WAIT_SECONDS = 1.5  # once for a server
LETTERS = 5  # of a text, in each of two lines
IMAGES = 3  # in a row

_pictures: dict[str, str] = {}  # with the name after each, as Markdown by task, for everybody


def labels() -> dict[str, str]:
    """The tasks' names after their pictures, as Markdown; the names alone until a trainer is there.

    To be asked once for a drawing: Streamlit takes a choice whose label changes while it is drawn for none.
    """
    if not _pictures and trainer().status().state == "ready":
        answer = trainer().ask(TASK_EXAMPLES, RunConfig(), WAIT_SECONDS)
        if answer is not None and answer.value is not None:
            _pictures.update({task: _label(task, picture(task, answer.value)) for task in TASKS})
    return {task: _pictures.get(task, task) for task in TASKS}


def _label(task: str, svg: str) -> str:
    source = quote(svg, safe="/,='")
    return f"![](data:image/svg+xml,{source}) {task}"


def picture(task: str, examples: TaskExamples) -> str:
    """The picture of a task as SVG: points by class, images, a text, or a question and its answer as bars."""
    inputs, answers = examples.inputs[task], examples.answers[task]
    match TASKS[task].kind:
        case "points":
            return _points(inputs, answers)
        case "image":
            return _images(inputs)
        case "text":
            return _text("".join(examples.alphabet[code] for code in inputs))
    return _bars(inputs, answers)


def _points(places: np.ndarray, classes: np.ndarray) -> str:
    """Points on a square of 40 units."""
    x, y = (20 + places.T / np.abs(places).max() * [[18], [-18]]).round().astype(int)
    lines = (
        _line("".join(f"M{x[at]},{y[at]}h0" for at in np.flatnonzero(classes == name)), CLASSES[name], 4)
        for name in np.unique(classes)
    )
    return _svg(40, "".join(lines))


def _images(images: np.ndarray) -> str:
    """Images a pixel apart; a pixel is drawn if it has at least half of the most ink."""
    side = images.shape[-1] + 1
    runs = []
    for number, image in enumerate(images >= images.max() / 2):
        left, top = number % IMAGES * side, number // IMAGES * side
        for y, row in enumerate(image):
            edges = np.flatnonzero(np.diff(row, prepend=False, append=False))
            runs += [f"M{left + start},{top + y}h{end - start}" for start, end in edges.reshape(-1, 2)]
    return _svg(IMAGES * side, f"<g transform='translate(0,.5)'>{_line(''.join(runs), GREY, 1)}</g>")


def _text(letters: str) -> str:
    style = f"font-family='monospace' font-size='12' fill='{GREY}'"
    lines = (letters[start : start + LETTERS] for start in (0, LETTERS))
    drawn = (f"<text x='1' y='{17 + 14 * row}' {style}>{escape(line)}</text>" for row, line in enumerate(lines))
    return _svg(38, "".join(drawn))


def _bars(question: np.ndarray, answer: np.ndarray) -> str:
    """A bar for each symbol, those of the answer at the right."""
    side = 2 * len(question) + 2
    unit = (side - 2) / max(question.max(), answer.max(), 1)
    drawn = ""
    for start, symbols, colour in ((1, question, GREY), (side - len(answer), answer, CLASSES[0])):
        bars = (f"M{start + at},{side}v-{1 + symbol * unit:.0f}" for at, symbol in enumerate(symbols))
        drawn += _line("".join(bars), colour, 0.8)
    return _svg(side, drawn)


def _line(path: str, colour: str, width: float) -> str:
    cap = " stroke-linecap='round'" if path.endswith("h0") else ""
    return f"<path d='{path}' stroke='{colour}' stroke-width='{width}'{cap}/>"


def _svg(side: int, drawn: str) -> str:
    return f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {side} {side}'>{drawn}</svg>"
