"""The panels of a stage: charts, the living stack, a headline, a text. A page declares them, the browser moves them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from components.charts.bindings import checked
from components.charts.diagram import NUMBERED, small_diagram
from components.charts.parts import Figure
from models.insight.lens import SHOWN
from models.insight.said import KINDS
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import SublayerPlan

COLUMNS = 12  # of the grid; on a phone every panel spans all of them
TEXT_NOTE = (
    "Shade: how probable the net found each character. They are drawn at temperature 0.5, with the same random numbers "
    "at every step. Bars: the likeliest characters after the prompt."
)


@dataclass(frozen=True)
class Panel:
    """A part of the stage: its accessible name, and the number of the run that it shows.

    On a wide screen panels are in the order of their `row`; on a phone, in the order of the page.
    """

    title: str
    run: int = 0
    span: int = COLUMNS
    row: int = 0

    kind: ClassVar[str] = ""

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads; ValueError if its run is not on the page."""
        if not 0 <= self.run < runs:
            raise ValueError(f"{self.title!r} is of run {self.run}: there are {runs}, counted from 0")
        if not 1 <= self.span <= COLUMNS:
            raise ValueError(f"{self.title!r} spans {self.span} of {COLUMNS} columns")
        return {"kind": self.kind, "key": f"{self.kind} {self.title} {self.run}", **vars(self)}


@dataclass(frozen=True)
class Chart(Panel):
    """A figure, with a sentence above it (`says`: one of `said.KINDS`, or none) and its table.

    `before`: the sentence until there is a row. `ends`: if the run ended before its last step, the sentence says why.
    `figure` None: the picture of the net's answers in the last frame. Another net, or a new `fit`, lets the held axes
    shrink; a new `fit` also undoes a zoom. `scrubs`: it is part of the player, and the slider covers its plot.
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
        """What the browser reads; ValueError if it is bound to what is not on the page."""
        if self.says and self.says not in KINDS:
            raise ValueError(f"says {self.says!r}: one of {', '.join(KINDS)}")
        if self.figure is not None:
            checked(self.figure, runs, seeds)
        return super().to_json(runs, seeds)


@dataclass(frozen=True)
class Headline(Panel):
    """The verdict above the charts of a run; `label`: the run's name among several; `help`: how the verdict is made.

    `look`: where to look before training, said at step 0 only.
    """

    title: str = "Verdict"
    label: str = ""
    help: str = ""
    look: str = ""

    kind: ClassVar[str] = "headline"


@dataclass(frozen=True)
class Heading(Panel):
    """A heading above panels."""

    kind: ClassVar[str] = "heading"


@dataclass(frozen=True)
class RunHeading(Panel):
    """A run's name, and what became of it.

    `found` says so, once the page knows. Until then `diverged` is shown from the step on at which the run diverges.
    """

    found: str = ""
    diverged: str = ""

    kind: ClassVar[str] = "outcome"


@dataclass(frozen=True)
class BlockPicture(Panel):
    """A `block` of an MLP, drawn large: its `diagram` (SVG, numbered), the size of the stream on its wires, and a digit
    on its way.
    """

    diagram: str = ""
    block: int = 1
    depth: int = 1

    kind: ClassVar[str] = "block"


@dataclass(frozen=True)
class Travel(Panel):
    """Ten held-out samples on their way through the blocks of some `runs` side by side, each named by a label.

    `asks` names some of `runs` by their index: there the samples stay at the input until the viewer has guessed, among
    `options`, what becomes of them, and then move on only if it `reveals`. The browser keeps a
    guess. `tells`: what becomes of them is said under each picture. `of`: what travels, as
    its captions say it. `height`: the most that a net's picture takes, in pixels.
    """

    runs: Sequence[int] = (0,)
    labels: Sequence[str] = ()
    asks: Sequence[int] = ()
    question: str = ""
    options: Sequence[str] = ()
    tells: bool = False
    of: str = "ten samples"
    reveals: bool = True
    height: int = 250

    kind: ClassVar[str] = "travel"

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads; ValueError if one of its runs is not on the page."""
        if not self.runs or not all(0 <= run < runs for run in self.runs):
            raise ValueError(f"{self.title!r} is of runs {list(self.runs)}: there are {runs}, counted from 0")
        return super().to_json(runs, seeds)


def ten_samples(height: int, span: int = COLUMNS) -> Travel:
    """The way of ten held-out samples through the net of a page with one run."""
    title = "Ten unseen samples on their way through the blocks"
    return Travel(title, span=span, labels=["Ten unseen samples"], height=height)


@dataclass(frozen=True)
class Digit(Panel):
    """One of the ten digits, large, and the net's answer."""

    which: int = 0

    kind: ClassVar[str] = "digit"


@dataclass(frozen=True)
class Curve(Panel):
    """A small chart of the loss on a fixed axis from 0 to `top`, with marks at its edge for larger values.

    `level`: the loss of guessing.
    """

    top: float = 3.5
    level: float = 0.0
    height: int = 90

    kind: ClassVar[str] = "curve"


@dataclass(frozen=True)
class Link(Panel):
    """A link to another page at `href`; the page hears of a plain click, with `opens` or else the run's number.

    `like`: shown only if a recording grows as this arrangement does.
    """

    href: str = ""
    like: str = ""
    opens: int | None = None

    kind: ClassVar[str] = "link"


@dataclass(frozen=True)
class Declared(Panel):
    """A panel of recordings as `addnorm.player.charts` declares it."""

    declared: dict[str, Any] = field(default_factory=dict)

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads; ValueError if its run is not on the page."""
        super().to_json(runs, seeds)
        return self.declared


@dataclass(frozen=True)
class Text(Panel):
    """The text that a language model writes after a fixed prompt, in the last frame at or before the playhead.

    `label`: who writes, if not "the net". `later`: the `step` and the `picture` (`feed.written`) of a recorded frame,
    shown until the net is trained here. `signs`: for characters that cannot be seen.
    """

    title: str = "What the net writes"
    label: str = ""
    note: str = TEXT_NOTE
    later: dict[str, Any] | None = None
    signs: dict[str, str] = field(default_factory=lambda: SHOWN)

    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class LivingStack(Panel):
    """The living stack of a run: `blocks` as `blocks_of` gives them; `toggles`: the page hears of a click on a block.

    A `shared` scale covers all runs of the page, so that stacks can be compared by eye. `label` is above the scale.
    `diagrams`: SVGs of blocks, which have their numbers as `diagram`; that of the block last pointed at stands beside
    the stack, on a phone above it.
    """

    title: str = "Signal and gradient, block by block"
    blocks: Sequence[dict[str, Any]] = ()
    height: int = 150
    toggles: bool = False
    label: str = ""
    scale: Literal["own", "shared"] = "own"
    fit: int = 0
    diagrams: Sequence[str] = ()

    kind: ClassVar[str] = "stack"


def writes(cfg: RunConfig) -> bool:
    """Whether a net is a language model, whose frames hold a text."""
    return TASKS[cfg.task].kind == "text"


def blocks_of(cfg: RunConfig) -> list[dict[str, Any]]:
    """The blocks of a net for the stack: name, the site after each, the weight of its skip, the slots with a norm."""
    sublayers = plan(cfg).sublayers
    blocks: list[dict[str, Any]] = []
    for block in range(1, cfg.depth + 1):
        own = [(at + 1, one) for at, one in enumerate(sublayers) if one.block == block]
        last = own[-1][0]
        norms = sorted({slot for _, one in own for slot in _norms(one)})
        skip = min(1.0 if one.identity else one.skip for _, one in own)
        blocks.append({"block": block, "name": f"block {block}", "site": last, "skip": skip, "norms": norms})
    return blocks


def opened(cfg: RunConfig) -> dict[str, Any]:
    """The blocks of a net and their diagrams, each once, for a stack in which blocks are opened."""
    drawn = [small_diagram(cfg, block) for block in range(1, cfg.depth + 1)]
    diagrams = list(dict.fromkeys(drawn))
    blocks = [one | {"diagram": diagrams.index(svg)} for one, svg in zip(blocks_of(cfg), drawn, strict=True)]
    return {"blocks": blocks, "diagrams": diagrams}


def block_of(cfg: RunConfig, title: str, run: int, span: int, block: int = 1) -> BlockPicture:
    """The picture of a block of an MLP."""
    return BlockPicture(title, run, span, 0, small_diagram(cfg, block, NUMBERED), block, cfg.depth)


def _norms(one: SublayerPlan) -> list[str]:
    slots = {"in": one.norm_in, "mid": one.norm_mid, "out": one.norm_out, "add": one.norm_add}
    return [] if one.identity else [slot for slot, norm in slots.items() if norm != "none"]
