"""What parts of the Autoregression lab share: prompts, positions in a text, and changes of logits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from addnorm.player.declare import Figure
from components.charts.colour import SIGNAL
from components.charts.lens import PROMPTS
from components.controls import form
from components.instruments.panel import Measured
from components.labs.parts import line_chart
from models.content import Texts
from models.insight.lens import visible_token
from models.spec import TASKS, RunConfig
from models.spec.knob import Knob
from models.spec.query import escape_markdown
from models.spec.settings import Settings

TEXTS = Texts("prompts")
KEY = "autoregression"
MAX_PROMPT_CHARACTERS = 500
END_CHARACTERS = (".", "\n", " ", ",", "!", "?")  # choices for a text; a sequence may end after any symbol
# Bounds of the list of symbols that the net cannot read.
MAX_LISTED_SYMBOLS = 20
MAX_SYMBOL_CHARACTERS = 20
NO_END = "none"
LOGIT_ROUNDING = 1e-9  # largest change of a float64 logit that counts as rounding error
MAX_TICKS = 32


@dataclass(frozen=True)
class PromptExample:
    task: str
    prompt: str
    temperature: float = 0.0
    length: int = 20
    end: str = NO_END


EXAMPLES = {
    "A prompt, the next token, append, repeat": PromptExample("book", "Call me Ish"),
    "Refinement, which value belongs to this key?": PromptExample("recall", PROMPTS["recall"], length=1),
    "Stop at a full stop or at the length": PromptExample("book", "The whale ", temperature=0.8, length=120, end="."),
    "A repeated sequence": PromptExample("copy", PROMPTS["copy"], length=16),
    "A sequence in order": PromptExample("sort", PROMPTS["sort"], length=16),
}


@dataclass(frozen=True)
class Prompt(Settings):
    prompt: Annotated[str, Knob("Prompt", high=MAX_PROMPT_CHARACTERS)] = ""
    end: Annotated[str, Knob("End symbol", choices={})] = NO_END


@dataclass(frozen=True)
class Generation(Settings):
    temperature: Annotated[float, Knob("Temperature", 0.0, 5.0, 0.1)] = 0.0
    seed: Annotated[int, Knob("Seed of the draws", high=10**6)] = 0
    length: Annotated[int, Knob("Length", 1, 200)] = 20


@dataclass(frozen=True)
class Places(Settings):
    position: Annotated[int, Knob("Position in the text", choices={}, link="place")] = 0
    row: Annotated[int, Knob("Token", choices={})] = 0


class ReadText(NamedTuple):
    """A text that the net has read, and its number of tokens."""

    text: str
    tokens: int


class EditableText(NamedTuple):
    """A text that the net has read, and all tokens that it can read."""

    text: str
    symbols: Sequence[str]


def choose_position(measured: Measured[Any], text: str, name: str) -> int:
    """Draws a choice among the positions of a text, a field of Places. The default is the last position."""
    tokens = measured.value.tokens
    names = {i: f"{i + 1}: {visible_token(token)}" for i, token in enumerate(tokens)}
    last = len(tokens) - 1
    is_outdated = measured.args != {"text": text}  # another text has other positions
    drawn = form.draw(Places, KEY, Places(last, last), only=[name], legal={name: names}, is_kept=is_outdated)
    return int(getattr(drawn, name))


def keep_prompt(task: str, example: PromptExample) -> None:
    """Takes prompt and settings from the address, before their controls are drawn."""
    prompt = Prompt(example.prompt, example.end) if example.task == task else Prompt(PROMPTS[task])
    form.keep(Prompt, KEY, prompt, variant=task, legal={"end": end_symbols(task)})
    form.keep(Generation, KEY, Generation(example.temperature, length=example.length))


def reading_notes(unknown: Sequence[str], cut: int, limit: int, slides: bool) -> list[str]:
    """Which parts of a prompt the net cannot read."""
    notes = []
    if unknown:
        listed = list(dict.fromkeys(unknown))[:MAX_LISTED_SYMBOLS]
        names = ", ".join(f'"{escape_markdown(name[:MAX_SYMBOL_CHARACTERS])}"' for name in listed)
        unit = "character" if slides else "symbol"
        notes.append(TEXTS("unknown symbols", what=unit, names=names, count=len(unknown)))
    if cut:
        notes.append(TEXTS("window" if slides else "too long", limit=limit, cut=cut))
    return notes


def join_text(cfg: RunConfig, prompt: str, tokens: Sequence[str]) -> str:
    """A prompt and the tokens after it as one text."""
    if is_endless(cfg):
        return prompt + "".join(tokens)
    return " ".join([*prompt.split(), *tokens])


def is_endless(cfg: RunConfig) -> bool:
    """Whether texts of this task are endless, so that the net reads a window."""
    return TASKS[cfg.task].kind == "text"


def end_symbols(task: str) -> tuple[str, ...]:
    """The tokens that generation may stop after."""
    if TASKS[task].kind == "text":
        return NO_END, *END_CHARACTERS
    return NO_END, *map(str, range(TASKS[task].vocabulary))


def change_chart(title: str, tokens: Sequence[str], causal: np.ndarray, unmasked: np.ndarray) -> Figure:
    """The largest change of a logit by position, with the causal mask and without, on a log axis."""
    names = [f"{i} {visible_token(token)}" for i, token in enumerate(tokens, start=1)]
    lines, unit = {"no mask": unmasked, "causal mask": causal}, "largest change of a logit"
    figure = line_chart(title, names, lines, ("other", "now"), unit=unit, hue=SIGNAL)
    positions = list(range(0, len(tokens), max(1, math.ceil(len(tokens) / MAX_TICKS))))
    ticks = {"tickvals": positions, "ticktext": [visible_token(tokens[i]) for i in positions], "tickangle": 0}
    figure["layout"]["xaxis"] |= {"title": {"text": "token read", "standoff": 4}, **ticks}
    return figure


def visible_piece(piece: str) -> str:
    """A piece with its spaces visible."""
    return "".join(map(visible_token, piece))
