"""What a player shows: figures, the numbers that they are bound to, panels, scenes, and how a player is played.

As JSON holds it, for the browser to draw. A figure is a plain dict: traces and a layout of plotly's schema. The key
`bind` of a trace says which numbers it shows, its `role` how it looks, the key `bind` of a layout what the browser
computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

from addnorm.player.colour import GREY, HUES, marked
from addnorm.words import STANDS

if TYPE_CHECKING:
    from typing_extensions import Unpack

Figure = dict[str, Any]
Tells = Literal["never", "rest", "follow"]

STEP = "step {step}"  # the browser fills in the step shown
COLUMNS = 12  # of the grid; on a phone every panel spans all of them
AXES = ("", "log", "linear", "loss", "cosine")
LINES = ("", "line", "map")
ROLES = ("now", "previous", "pinned", "other", "formula", "initial")  # what the browser has a look for
FOLDS = ("", "median")

# What a log has, by name: vectors and numbers of its rows and of its frames, kinds of sentences.
VECTORS = ("act_rms", "grad_rms", "branch_rms", "weight_grad_rms")
SCALARS = ("loss", "lr", "grad_norm", "clip_factor")
FRAME_VECTORS = ("sample_cosine", "update_to_weight", "dead_units")
FRAME_SCALARS = ("held_out_loss", "held_out_accuracy", "train_mode_loss")
SENTENCES = ("activation", "gradient", "loss", "weight", "cosine", "answers", "verdict", "kind")
SENTENCES_OF_RECORDINGS = ("findings", "law", "notes", "update")

BY = {  # what hovering over a badge says
    "measured": "Measured on a net of this page, or on random numbers drawn for it.",
    "formula": "Computed from a formula, without a net.",
    "recorded": "Measured earlier with the same code, and stored.",
}

# --- figures ---


def frame_of(title: str, *, x: str, y: str, legend: bool = True, hue: str = GREY) -> dict[str, Any]:
    """A compact layout, for a third of a page or a phone: the title with the mark of its hue, legend, plot."""
    return {
        "title": {
            "text": f"<b>{marked(title, hue)}</b>",
            "font": {"size": 13},
            "x": 0,
            "xref": "container",
            "y": 0.99,
            "yanchor": "top",
        },
        "margin": {"l": 48, "r": 8, "t": 46 if legend else 30, "b": 36},
        "xaxis": {"title": {"text": x, "standoff": 4}, "automargin": False, "zeroline": False},
        "yaxis": {"title": {"text": y, "standoff": 2}, "automargin": False, "zeroline": False},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "font": {"size": 12},
            "itemwidth": 30,
            "traceorder": "normal",
        },
        "showlegend": legend,
        "hovermode": "closest",
        "uirevision": title,
    }


def figure_of(
    traces: Sequence[dict[str, Any]],
    layout: dict[str, Any],
    empty: str = "",
    *,
    axis: str = "",
    line: str = "",
    **how: Any,
) -> Figure:
    """A figure whose y axis is of a kind of AXES, with the step shown marked as in LINES.

    `empty`: why there is nothing to draw. `how`: more about the axes, see bind.js.
    """
    for name, value, known in (("axis", axis, AXES), ("line", line, LINES)):
        if value not in known:
            raise ValueError(f"{name} {value!r}: one of {', '.join(map(repr, known))}")
    declared = {"axis": axis, "line": line, "empty": empty} | how
    return {"data": list(traces), "layout": layout | {"bind": {key: value for key, value in declared.items() if value}}}


def map_of(title: str, hue: str, unit: str, *, y: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The trace of a map of every row so far, and its layout."""
    layout = frame_of(title, x="step", y=y, legend=False, hue=hue)
    layout["xaxis"] |= {"tickformat": "d", "ticks": ""}
    layout["yaxis"] |= {"ticks": ""}
    layout["margin"]["t"] = 44
    trace = {
        "type": "heatmap",
        "name": title,
        "hue": hue,
        "hovertemplate": "%{text}, step %{x}: %{customdata:.4g}<extra></extra>",
        "hoverongaps": False,
        "colorbar": colour_bar(unit),
    }
    return trace, layout


def colour_bar(unit: str) -> dict[str, Any]:
    """A narrow colour bar."""
    return {
        "thickness": 10,
        "title": {"text": unit, "side": "top"},
        "outlinewidth": 0,
        "exponentformat": "power",
        "minexponent": 5,
    }


def crosses_of(run: int, label: str) -> dict[str, Any]:
    """The crosses of one of several runs where its loss is not finite."""
    return {"name": "diverged", "role": run, "meta": f"{label} diverged", "legendgroup": "diverged"}


# --- bindings ---


@dataclass(frozen=True)
class Binding:
    """A track of a run and a seed, both by their number; subclasses say which part of the track."""

    track: str
    run: int = 0
    seed: int = 0

    of: ClassVar[str] = ""
    tracks: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.track not in self.tracks:
            raise ValueError(f"track {self.track!r}: {type(self).__name__} takes {', '.join(self.tracks)}")
        if min(self.run, self.seed) < 0:
            raise ValueError(f"run {self.run}, seed {self.seed}: counted from 0")

    def to_json(self) -> dict[str, Any]:
        """What the browser reads."""
        return {"of": self.of} | asdict(self)


@dataclass(frozen=True)
class Folded(Binding):
    """A binding that may fold all seeds into their median, with their range as a band; `log`: of logarithms.

    `against`: the number of a run by whose values these are divided, or whose losses are subtracted.
    """

    fold: str = ""
    log: bool = True
    against: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fold not in FOLDS:
            raise ValueError(f"fold {self.fold!r}: one of {', '.join(map(repr, FOLDS))}")


@dataclass(frozen=True)
class Row(Folded):
    """A vector of the row at the playhead: one value per site, branch or block. A log axis marks what it cannot show.

    `first`: of the net before training, wherever the playhead is. `over`: divided by this vector, entry by entry up to
    the end of the shorter; entry i of `act_rms` is the stream that branch i reads. `start`, `every`: of these entries
    alone, the attention of every block for example.
    """

    first: bool = False
    over: str = ""
    start: int = 0
    every: int = 1

    of: ClassVar[str] = "row"
    tracks: ClassVar[tuple[str, ...]] = VECTORS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in ("", *self.tracks):
            raise ValueError(f"over {self.over!r}: {type(self).__name__} takes {', '.join(self.tracks)}")


@dataclass(frozen=True)
class Past(Folded):
    """A number over the steps, up to the furthest that this viewer has seen; thinned, but exact at a marked step.

    `alike`: left out where the run is not of the same model as the first.
    """

    log: bool = False
    alike: bool = False

    of: ClassVar[str] = "past"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Crosses(Binding):
    """A cross at every step whose number is not finite, and at the step at which the run diverged."""

    of: ClassVar[str] = "crosses"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Frames(Folded):
    """A number of every frame, up to the furthest step that this viewer has seen; `against`: minus another run's."""

    log: bool = False

    of: ClassVar[str] = "frames"
    tracks: ClassVar[tuple[str, ...]] = FRAME_SCALARS


@dataclass(frozen=True)
class AtFrame(Binding):
    """A vector of the frame at or before the playhead; `first`: of the net before training."""

    first: bool = False

    of: ClassVar[str] = "frame"
    tracks: ClassVar[tuple[str, ...]] = FRAME_VECTORS


@dataclass(frozen=True)
class Map(Binding):
    """A vector of every row so far, as colours over step and depth."""

    of: ClassVar[str] = "map"
    tracks: ClassVar[tuple[str, ...]] = VECTORS


@dataclass(frozen=True)
class Bins(Binding):
    """Histograms of the last row of a recording that has them up to the playhead, as colours over bin and depth.

    The outer bins end at plus and minus `ends`. `bare`: empty bins are left without a mark.
    """

    ends: float = 1.0
    bare: bool = True

    of: ClassVar[str] = "bins"
    tracks: ClassVar[tuple[str, ...]] = ("histogram",)


def bound(trace: dict[str, Any], binding: Binding) -> dict[str, Any]:
    """The trace with its binding."""
    return trace | {"bind": binding.to_json()}


def fixed_trace(trace: dict[str, Any], values: list[Any], *, previous: bool = False) -> dict[str, Any]:
    """The trace with numbers of its own: "NaN" and the like for those not finite, None for those not measured.

    `previous`: of the net before, which is left out where it is far off the axes of the net shown.
    """
    return trace | {"bind": {"of": "still", "values": values, "previous": previous}}


def fixed_cells(trace: dict[str, Any], values: list[list[Any]], **how: bool) -> dict[str, Any]:
    """A heatmap of cells by row; it marks what has no colour.

    `how`: `log` unless false, `signed` (from -most to most), `bare` (without marks).
    """
    shape = {"x": list(range(len(values[0]) if values else 0)), "y": list(range(len(values))), "hoverongaps": False}
    return {"type": "heatmap", **shape, **trace, "bind": {"of": "cells", "values": values, **how}}


def checked(figure: Figure, runs: int, seeds: int) -> Figure:
    """The figure, if all that it is bound to is on the page; ValueError otherwise."""
    for trace in figure["data"]:
        binding = trace.get("bind")
        if binding is None or "run" not in binding:
            continue
        name, run, seed = trace.get("name"), max(binding["run"], binding.get("against") or 0), binding["seed"]
        if run >= runs:
            raise ValueError(f"{name!r} is bound to run {run}: there are {runs}, counted from 0")
        if seed >= seeds:
            raise ValueError(f"{name!r} is bound to seed {seed}: there are {seeds}, counted from 0")
    return figure


# --- panels ---


@dataclass(frozen=True)
class Panel:
    """A part of the player: its accessible name, and the number of the run that it shows.

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
    """A figure, with a sentence above it (`says`: one of SENTENCES, or none) and its table.

    `before`: the sentence until there is a row. `ends`: if the run ended before its last step, the sentence says why.
    `figure` None: the picture of the net's answers in the last frame. Another net, or a new `fit`, lets the held axes
    shrink; a new `fit` also undoes a zoom. `scrubs`: it is part of the player, and the slider covers its plot.
    `points`: the panels of a run are marked while the pointer is on its line. `needs`: shown only if the header of the
    recording has this key, and no 0 there.
    """

    figure: Figure | None = None
    says: str = ""
    before: str = ""
    ends: bool = False
    span: int = 4
    height: int = 262
    fit: int = 0
    scrubs: bool = False
    points: bool = False
    needs: str = ""

    kind: ClassVar[str] = "chart"

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads; ValueError if it is bound to what is not on the page."""
        if self.says not in ("", *SENTENCES, *SENTENCES_OF_RECORDINGS):
            raise ValueError(f"says {self.says!r}: one of {', '.join(SENTENCES + SENTENCES_OF_RECORDINGS)}")
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
class SamplePaths(Panel):
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

    kind: ClassVar[str] = "paths"

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads; ValueError if one of its runs is not on the page."""
        if not self.runs or not all(0 <= run < runs for run in self.runs):
            raise ValueError(f"{self.title!r} is of runs {list(self.runs)}: there are {runs}, counted from 0")
        return super().to_json(runs, seeds)


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
class Sentence(Panel):
    """A sentence of a recording, of a kind that it `says`; nothing where it has none."""

    says: str = ""

    kind: ClassVar[str] = "said"


@dataclass(frozen=True)
class Text(Panel):
    """The text that a language model writes after a fixed prompt, in the last frame at or before the playhead.

    `label`: who writes, if not "the net". `later`: the `step` and the `picture` (`feed.written`) of a recorded frame,
    shown until the net is trained here. `signs`: for characters that cannot be seen. `note`: what
    stands under it.
    """

    title: str = "What the net writes"
    label: str = ""
    note: str = ""
    later: dict[str, Any] | None = None
    signs: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class StackPanel(Panel):
    """The stack of a run. `blocks`: block, site, name, skip, norms and diagram, as the app's `blocks_of` gives them.

    `toggles`: the page hears of a click on a block. A new `fit` chooses the scale anew.

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


# --- scenes: a player that is scrolled, whose texts stand beside a picture that stays ---


@dataclass(frozen=True)
class Choice:
    """The net of a scene that lets the reader choose: its depth, up to `most` blocks, its residual and its norm."""

    depth: int
    most: int
    residual: bool
    norm: bool


@dataclass(frozen=True)
class Scene:
    """A heading, a text, and the panels of the picture, one of each kind and all of one run.

    The net is shown before training; if it `plays`, it is trained to the end once the scene is reached. `whole`: its
    rows are asked for beforehand, because it plays or because the text is about them. `after`: what the text adds once
    the reader has watched the run to its end.
    """

    title: str
    text: str
    run: int
    panels: Sequence[Panel]
    plays: bool = False
    whole: bool = False
    choice: Choice | None = None
    after: str = ""

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """What the browser reads. A panel of a kind is the same one in every scene: only its run changes."""
        panels = [panel.to_json(runs, seeds) | {"key": panel.kind} for panel in self.panels]
        choice = vars(self.choice) if self.choice else None
        return {**vars(self), "panels": panels, "choice": choice}


# --- the player ---


class Playing(TypedDict, total=False):
    """How a player is played, and the words on its bar; what is left out is as `declaration` has it."""

    # The page runs again when the playhead comes to rest, with "follow" also once a second while it plays.
    tells: Tells
    shared: str  # a word after "Train", where one bar moves several runs
    verb: str  # a word in place of "Train"
    names: list[str]  # of the runs, in messages
    keys: str  # a hint on space, right arrow and R, which then control the playhead
    start: str  # a text that this tab has not seen yet starts the playhead
    reset: str  # and this one resets it
    stop_loss: float  # a training loss at which it stops; 0 for none
    kept: bool  # a reload finds the playhead where it stood, if the rows are still there
    facts: list[str]  # more words for the line of status
    scene: int  # the first to show, from 1


def declaration(
    runs: Sequence[Mapping[str, Any]],
    panels: Sequence[Panel],
    *,
    seeds: int = 1,
    at: tuple[int, bool] = (0, False),
    scenes: Sequence[Scene] = (),
    messages: Sequence[Any] = (),
    **how: Unpack[Playing],
) -> dict[str, Any]:
    """What a player reads: its runs, of so many `seeds`, and its panels, or panels by scene.

    `at`: where the playhead is, and whether it moves. `messages`: those that come before any of its connection.
    """
    usual = {"tells": "never", "names": [], "stop_loss": 0.0, "kept": False, "facts": [], "scene": 1}
    usual |= dict.fromkeys(("shared", "verb", "keys", "start", "reset"), "")
    shown = {
        "panels": [panel.to_json(len(runs), seeds) for panel in panels],
        "scenes": [scene.to_json(len(runs), seeds) for scene in scenes],
    }
    where = {"at": list(at), "messages": list(messages), "hues": HUES, "by": BY, "stands": STANDS}
    return {"runs": list(runs), **shown, **where, **usual, **how}
