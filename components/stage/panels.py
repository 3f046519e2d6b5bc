"""What a stage shows, declared once: charts, the living stack, a headline, a text. The browser moves them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from components.charts.parts import Figure
from components.stage.bindings import checked
from components.stage.sentences import KINDS, OF_RECORDINGS
from models.spec import RunConfig, plan
from models.spec.plan import SublayerPlan

COLUMNS = 12  # of the grid, of which a panel spans some; on a phone each spans all


@dataclass(frozen=True)
class Panel:
    """One part of the stage: its accessible name, and the run that it is of, by its number.

    On a wide screen the panels of a lower `row` stand above the others; on a phone all stand in the order of the page.
    """

    title: str
    run: int = 0
    span: int = COLUMNS
    row: int = 0

    kind: ClassVar[str] = ""

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads; ValueError where it is of a run that is not on the page."""
        if not 0 <= self.run < runs:
            raise ValueError(f"{self.title!r} is of run {self.run}: there are {runs}, counted from 0")
        if not 1 <= self.span <= COLUMNS:
            raise ValueError(f"{self.title!r} spans {self.span} of {COLUMNS} columns")
        return {"kind": self.kind, "key": f"{self.kind} {self.title} {self.run}", **vars(self)}


@dataclass(frozen=True)
class Chart(Panel):
    """A figure with its sentence above it (a kind of `sentences.KINDS`, or none) and its table.

    `before`: what it says while there is no row. `ends`: where the run has ended before its
    last step, it says why instead. `figure` None: the picture of what the net says at the
    frame before the playhead. Another `fit` lets the axes shrink. `scrubs`: it stands in the
    player, under the slider over the steps, which then covers its plot (`figures.in_player`).
    """

    figure: Figure | None = None
    says: str = ""
    before: str = ""
    ends: bool = False
    span: int = 4
    height: int = 262
    fit: int = 0
    scrubs: bool = False

    kind: ClassVar[str] = "chart"

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads; ValueError where it is bound to what is not on the page."""
        if self.says and self.says not in (*KINDS, *OF_RECORDINGS):
            raise ValueError(f"says {self.says!r}: one of {', '.join(KINDS)}")
        if self.figure is not None:
            checked(self.figure, runs, seeds)
        return super().to_json(runs, seeds)


@dataclass(frozen=True)
class Headline(Panel):
    """The verdict over all charts of a run; `label`: its name,
    where there are several runs; `help`: how it is judged.
    """

    title: str = "Verdict"
    label: str = ""
    help: str = ""

    kind: ClassVar[str] = "headline"


@dataclass(frozen=True)
class Heading(Panel):
    """What the panels below it are of."""

    kind: ClassVar[str] = "heading"


@dataclass(frozen=True)
class Guess(Panel):
    """What a run is called, and what this viewer expects of it:
    one of `options`; once `found` is one of them, how that went.

    The browser keeps the guess for as long as its tab shows the app.
    """

    options: Sequence[str] = ()
    found: str = ""

    kind: ClassVar[str] = "guess"


@dataclass(frozen=True)
class Digits(Panel):
    """Ten digits that no net was trained on, and what this one answers at the frame before the playhead."""

    kind: ClassVar[str] = "digits"


@dataclass(frozen=True)
class Digit(Panel):
    """One of those ten, large, and what the net reads it as."""

    which: int = 0

    kind: ClassVar[str] = "digit"


@dataclass(frozen=True)
class Curve(Panel):
    """The loss as far as it was seen, small, on an axis from 0 to
    `top` that never moves: what leaves it is marked at its edge.

    `level`: the loss of guessing at random.
    """

    top: float = 3.5
    level: float = 0.0
    height: int = 90

    kind: ClassVar[str] = "curve"


@dataclass(frozen=True)
class Link(Panel):
    """The way from a run to another page, whose address `href`
    is; a plain click is heard by the page, which walks there.

    It is heard as `opens`, or else as the run. `like`: shown only where a recording's
    growth is that of this arrangement. Before it stands a sentence: `text`, or else a
    kind of `sentences.KINDS` along the tape, `before` while there is none.
    """

    href: str = ""
    says: str = ""
    before: str = ""
    text: str = ""
    like: str = ""
    opens: int | None = None

    kind: ClassVar[str] = "link"


@dataclass(frozen=True)
class Said(Panel):
    """A sentence of a recording: what `RecordedTape.sentence` says of this kind, or else a `text` that stays."""

    says: str = ""
    text: str = ""

    kind: ClassVar[str] = "said"


@dataclass(frozen=True)
class Text(Panel):
    """What a net that writes goes on with, and a sentence above it."""

    says: str = ""

    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Stack(Panel):
    """The living stack of a run: `blocks` of `blocks_of`; `toggles` where a click is heard.

    The stacks of one page that have a `shared` scale can be compared
    by eye: it covers all runs. `label` stands over the scale.
    """

    title: str = "Signal and gradient, block by block"
    blocks: Sequence[dict[str, Any]] = ()
    height: int = 150
    toggles: bool = False
    label: str = ""
    scale: Literal["own", "shared"] = "own"
    fit: int = 0

    kind: ClassVar[str] = "stack"


def blocks_of(cfg: RunConfig) -> list[dict[str, Any]]:
    """The blocks of a net for the stack: name, the site after each, the weight of its skip, where its norms stand."""
    sublayers = plan(cfg).sublayers
    found: list[dict[str, Any]] = []
    for block in range(1, cfg.depth + 1):
        own = [(at + 1, one) for at, one in enumerate(sublayers) if one.block == block]
        last = own[-1][0]
        norms = sorted({slot for _, one in own for slot in _norms(one)})
        skip = min(1.0 if one.identity else one.skip for _, one in own)
        found.append({"block": block, "name": f"block {block}", "site": last, "skip": skip, "norms": norms})
    return found


def _norms(one: SublayerPlan) -> list[str]:
    slots = {"in": one.norm_in, "mid": one.norm_mid, "out": one.norm_out, "add": one.norm_add}
    return [] if one.identity else [slot for slot, norm in slots.items() if norm != "none"]
