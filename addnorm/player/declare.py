"""Declares a player as JSON: its figures, the numbers they are bound to, its panels, its scenes, its controls.

A figure is a plain dict with traces and a layout of plotly's schema. The key `bind` of a trace says which numbers the
browser fills in, its `role` sets its style, and the key `bind` of a layout says what the browser computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

from addnorm.player.colour import GREY, HUES, marked_title
from addnorm.words import STATUS

if TYPE_CHECKING:
    from typing_extensions import Unpack

Figure = dict[str, Any]
Reports = Literal["never", "rest", "follow"]

STEP = "step {step}"  # the browser fills in the step shown
COLUMNS = 12  # of the grid; on a phone every panel spans all of them
AXES = ("", "log", "linear", "loss", "cosine")
LINES = ("", "line", "map")
ROLES = ("now", "previous", "pinned", "other", "formula", "initial")  # each has a style in style.js
FOLDS = ("", "median")

# The names of the vectors and scalars in the rows and frames of a log, and the kinds of its sentences.
VECTORS = ("act_rms", "grad_rms", "branch_rms", "weight_grad_rms")
SCALARS = ("loss", "lr", "grad_norm", "clip_factor")
FRAME_VECTORS = ("sample_cosine", "update_to_weight", "dead_units")
FRAME_SCALARS = ("held_out_loss", "held_out_accuracy", "train_mode_loss")
SENTENCES = ("activation", "gradient", "loss", "weight", "cosine", "answers", "verdict", "brief", "kind")
SENTENCES_OF_RECORDINGS = ("findings", "law", "notes", "update")

BADGE_HELP = {  # shown on hover
    "measured": "Measured on a net of this page, or on random numbers drawn for it.",
    "formula": "Computed from a formula, without a net.",
    "recorded": "Measured earlier with the same code, and stored.",
    "here": "Computed by this browser, not by torch on the server; the link says what that means.",
}

# --- figures ---


def layout_of(title: str, *, x: str, y: str, legend: bool = True, hue: str = GREY) -> dict[str, Any]:
    """A compact plotly layout for a third of a page or a phone; `x` and `y` are the titles of the axes."""
    return {
        "title": {
            "text": f"<b>{marked_title(title, hue)}</b>",
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
    **options: Any,
) -> Figure:
    """A figure with a y axis of one kind of AXES; `line`, one of LINES, marks the step shown.

    `empty`: the text in the plot while there is nothing to draw. `options`: more about the axes, see y_axis.js.
    """
    for name, value, choices in (("axis", axis, AXES), ("line", line, LINES)):
        if value not in choices:
            raise ValueError(f"{name} {value!r}: one of {', '.join(map(repr, choices))}")
    binding = {"axis": axis, "line": line, "empty": empty} | options
    return {"data": list(traces), "layout": layout | {"bind": {key: value for key, value in binding.items() if value}}}


def map_of(title: str, hue: str, unit: str, *, y: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The heatmap trace and the layout of a map over step and depth."""
    layout = layout_of(title, x="step", y=y, legend=False, hue=hue)
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
    return {
        "thickness": 10,
        "title": {"text": unit, "side": "top"},
        "outlinewidth": 0,
        "exponentformat": "power",
        "minexponent": 5,
    }


def crosses_of(run: int, label: str) -> dict[str, Any]:
    """The trace of crosses where the loss of a run is not finite."""
    return {"name": "diverged", "role": run, "meta": f"{label} diverged", "legendgroup": "diverged"}


# --- bindings ---


@dataclass(frozen=True)
class Binding:
    """Binds a trace to a track of a run and a seed, both by index; a subclass says to which part of the track."""

    track: str
    run: int = 0
    seed: int = 0

    kind: ClassVar[str] = ""
    tracks: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.track not in self.tracks:
            raise ValueError(f"track {self.track!r}: {type(self).__name__} takes {', '.join(self.tracks)}")
        if min(self.run, self.seed) < 0:
            raise ValueError(f"run {self.run}, seed {self.seed}: counted from 0")

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind} | asdict(self)


@dataclass(frozen=True)
class Folded(Binding):
    """A binding that can fold all seeds into their median, with a band from minimum to maximum.

    `log`: take the median of logarithms. `against`: index of a run to compare with; vectors are divided by its values,
    losses are subtracted.
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
    """A vector of the row at the playhead: one value per site, branch or block. A log axis marks zeros and overflows.

    `first`: use the row before training, wherever the playhead is. `over`: divide by this vector, entry by entry up to
    the end of the shorter one; entry i of `act_rms` is the stream that branch i reads. `start`, `every`: a stride over
    the entries, for example the attention of every block.
    """

    first: bool = False
    over: str = ""
    start: int = 0
    every: int = 1

    kind: ClassVar[str] = "row"
    tracks: ClassVar[tuple[str, ...]] = VECTORS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in ("", *self.tracks):
            raise ValueError(f"over {self.over!r}: {type(self).__name__} takes {', '.join(self.tracks)}")


@dataclass(frozen=True)
class Past(Folded):
    """A scalar over the steps, up to the furthest step this viewer has seen; decimated, but exact at a marked step.

    `same_model`: leave the trace out if the run is not of the same model as the first.
    """

    log: bool = False
    same_model: bool = False

    kind: ClassVar[str] = "past"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Crosses(Binding):
    """A cross at every step with a non-finite value, and at the step at which the run diverged."""

    kind: ClassVar[str] = "crosses"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Frames(Folded):
    """A scalar of every frame, up to the furthest step this viewer has seen; `against` subtracts another run's."""

    log: bool = False

    kind: ClassVar[str] = "frames"
    tracks: ClassVar[tuple[str, ...]] = FRAME_SCALARS


@dataclass(frozen=True)
class AtFrame(Binding):
    """A vector of the last frame at or before the playhead; `first`: of the frame before training."""

    first: bool = False

    kind: ClassVar[str] = "frame"
    tracks: ClassVar[tuple[str, ...]] = FRAME_VECTORS


@dataclass(frozen=True)
class Map(Binding):
    """A vector of every row so far, as a heatmap over step and depth."""

    kind: ClassVar[str] = "map"
    tracks: ClassVar[tuple[str, ...]] = VECTORS


@dataclass(frozen=True)
class Bins(Binding):
    """The last histograms of a recording at or before the playhead, as a heatmap over bin and depth.

    The outer bins end at plus and minus `ends`. `bare`: do not mark empty bins.
    """

    ends: float = 1.0
    bare: bool = True

    kind: ClassVar[str] = "bins"
    tracks: ClassVar[tuple[str, ...]] = ("histogram",)


def with_binding(trace: dict[str, Any], binding: Binding) -> dict[str, Any]:
    return trace | {"bind": binding.to_json()}


def fixed_trace(trace: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    """The trace with fixed values: "NaN" and the like for non-finite ones, None for those not measured."""
    return trace | {"bind": {"kind": "fixed", "values": values}}


def fixed_cells(trace: dict[str, Any], values: list[list[Any]], **options: bool) -> dict[str, Any]:
    """A heatmap of fixed values, row by row; cells without a colour get a mark.

    `options`: `log` (true by default), `signed` (a scale symmetric about 0), `bare` (no marks).
    """
    shape = {"x": list(range(len(values[0]) if values else 0)), "y": list(range(len(values))), "hoverongaps": False}
    return {"type": "heatmap", **shape, **trace, "bind": {"kind": "cells", "values": values, **options}}


def check_bindings(figure: Figure, runs: int, seeds: int) -> None:
    """ValueError if a trace is bound to a run or a seed that the page does not have."""
    for trace in figure["data"]:
        binding = trace.get("bind")
        if binding is None or "run" not in binding:
            continue
        name, seed = trace.get("name"), binding["seed"]
        run = max(binding["run"], binding.get("against") or 0)
        if run >= runs:
            raise ValueError(f"{name!r} is bound to run {run}: there are {runs}, counted from 0")
        if seed >= seeds:
            raise ValueError(f"{name!r} is bound to seed {seed}: there are {seeds}, counted from 0")


# --- panels ---


@dataclass(frozen=True)
class Panel:
    """A part of the player: its accessible name, the index of its run, and its width in columns.

    A wide screen orders panels by `row`, a phone by their order on the page.
    """

    title: str
    run: int = 0
    span: int = COLUMNS
    row: int = 0

    kind: ClassVar[str] = ""

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """The panel for the browser; ValueError if its run is not on the page."""
        if not 0 <= self.run < runs:
            raise ValueError(f"{self.title!r} is of run {self.run}: there are {runs}, counted from 0")
        if not 1 <= self.span <= COLUMNS:
            raise ValueError(f"{self.title!r} spans {self.span} of {COLUMNS} columns")
        return {"kind": self.kind, "key": f"{self.kind} {self.title} {self.run}", **vars(self)}


@dataclass(frozen=True)
class Chart(Panel):
    """A figure with its table, and above it a sentence of the kind `sentence` (one of SENTENCES, or none).

    `placeholder`: the sentence before the first row. `explains_end`: if the run stops early, the sentence says why.
    `figure` None: draw the net's answers in the last frame. The axes only grow; another net or a new `fit` resets them,
    and a new `fit` also undoes a zoom. `scrubs`: the slider of the player covers this plot. `needs`: show the chart
    only if the recording's header has a value other than 0 under this key.
    """

    figure: Figure | None = None
    sentence: str = ""
    placeholder: str = ""
    explains_end: bool = False
    span: int = 4
    height: int = 262
    fit: int = 0
    scrubs: bool = False
    needs: str = ""

    kind: ClassVar[str] = "chart"

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """The panel for the browser; ValueError for an unknown kind of sentence, or an absent run or seed."""
        if self.sentence not in ("", *SENTENCES, *SENTENCES_OF_RECORDINGS):
            raise ValueError(f"sentence {self.sentence!r}: one of {', '.join(SENTENCES + SENTENCES_OF_RECORDINGS)}")
        if self.figure is not None:
            check_bindings(self.figure, runs, seeds)
        return super().to_json(runs, seeds)


@dataclass(frozen=True)
class Headline(Panel):
    """The verdict on a run in a line, with what it rests on behind "why"; `label`: the run's name among several.

    Behind "why" also stand `hint`, where to look before training, at step 0 alone, `note`, and `help`: how the verdict
    is reached. `next` is a button beside it while the playhead rests at `next_step`, which fires the trigger
    `advanced`; a negative `next_step` shows it without letting it be pressed.
    """

    title: str = "Verdict"
    label: str = ""
    help: str = ""
    hint: str = ""
    note: str = ""
    next: str = ""
    next_step: int = 0

    kind: ClassVar[str] = "headline"


@dataclass(frozen=True)
class Heading(Panel):
    """A heading above panels."""

    kind: ClassVar[str] = "heading"


@dataclass(frozen=True)
class RunHeading(Panel):
    """A run's name and its outcome.

    `outcome`: the outcome, once the page knows it. Until then `divergence` is shown from the step at which the run
    diverges.
    """

    outcome: str = ""
    divergence: str = ""

    kind: ClassVar[str] = "outcome"


@dataclass(frozen=True)
class BlockPicture(Panel):
    """One block of an MLP, drawn large: its `diagram` (SVG) with the RMS on each wire, and a digit passing through."""

    diagram: str = ""
    block: int = 1
    depth: int = 1

    kind: ClassVar[str] = "block"


@dataclass(frozen=True)
class SamplePaths(Panel):
    """Ten held-out samples on their way through the blocks of some `runs`, side by side and labelled.

    `quiz_runs` indexes `runs`: there the samples stay at the input until the viewer has guessed their outcome among
    `options`; they then move on only if `reveals`. The browser stores the guess. `shows_outcome`: write the outcome
    under each picture. `subject`: the samples' name in captions. `measures`: write their own size and cosine there,
    too, on a page that gives no batch's; the table always does. `height`: maximum of a picture, in pixels.
    """

    runs: Sequence[int] = (0,)
    labels: Sequence[str] = ()
    quiz_runs: Sequence[int] = ()
    question: str = ""
    options: Sequence[str] = ()
    shows_outcome: bool = False
    subject: str = "ten samples"
    measures: bool = False
    reveals: bool = True
    height: int = 250

    kind: ClassVar[str] = "paths"

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """The panel for the browser; ValueError if one of its runs is not on the page."""
        if not self.runs or not all(0 <= run < runs for run in self.runs):
            raise ValueError(f"{self.title!r} is of runs {list(self.runs)}: there are {runs}, counted from 0")
        return super().to_json(runs, seeds)


@dataclass(frozen=True)
class Digit(Panel):
    """Some of ten digits, one of them large, and the net's answers."""

    which: Sequence[int] = (0,)

    kind: ClassVar[str] = "digit"


@dataclass(frozen=True)
class Curve(Panel):
    """A small chart of the loss on a fixed axis from 0 to `top`; larger losses are marked at its edge.

    `level`: the loss of guessing at random.
    """

    top: float = 3.5
    level: float = 0.0
    height: int = 90

    kind: ClassVar[str] = "curve"


@dataclass(frozen=True)
class Link(Panel):
    """A link to another page; a plain click fires the trigger `opened` with `target`, or with the run's index.

    `like`: show the link only if the recording grows as this arrangement does.
    """

    href: str = ""
    like: str = ""
    target: int | None = None

    kind: ClassVar[str] = "link"


@dataclass(frozen=True)
class Sentence(Panel):
    """The sentence of a recording of the kind `sentence`; hidden if there is none."""

    sentence: str = ""

    kind: ClassVar[str] = "sentence"


@dataclass(frozen=True)
class Text(Panel):
    """The text a language model writes after a fixed prompt, in the last frame at or before the playhead.

    `label`: the writer's name, "the net" by default. `recorded`: `step` and `picture` of a recorded frame, shown until
    the net is trained here. `signs`: visible signs for invisible characters. `note`: a caption under the text.
    """

    title: str = "What the net writes"
    label: str = ""
    note: str = ""
    recorded: dict[str, Any] | None = None
    signs: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class StackPanel(Panel):
    """The stack of a run: a column per block with its signal and its gradient.

    `blocks`: dicts with block, site, name, skip, norms and diagram, as `blocks_of` in the app makes them. A new `fit`
    resets the scale; a `shared` scale covers all runs of the page, which makes stacks comparable. `label` stands above
    the scale. `diagrams`: SVGs, indexed by the `diagram` of a block; that of the block last hovered over stands beside
    the stack, on a phone above it.

    `net`: makes the drawing the control of a net; it has depth, residual, norm, the blocks taken `out`, pairs of a
    block and its `own` residual, and the `most` blocks. Where one of these is None, that part stays a picture. A change
    fires the trigger `choice` with the net as it is to be and the number of times `asked`; `heard` is the last of them
    that the page has answered. Above the drawing stands `before`, at step 0, or `after`, once the run was watched to
    its end; without `before` no line. Below it stands `hint`, or why the last change was `refused`, and what opens a
    block's diagram and its own residual.
    """

    title: str = "Signal and gradient, block by block"
    blocks: Sequence[dict[str, Any]] = ()
    height: int = 150
    label: str = ""
    scale: Literal["own", "shared"] = "own"
    fit: int = 0
    diagrams: Sequence[str] = ()
    net: dict[str, Any] | None = None
    before: str | None = None
    after: str = ""
    hint: str = ""
    refused: str = ""

    kind: ClassVar[str] = "stack"


# --- scenes: texts that scroll beside a picture that stays ---


@dataclass(frozen=True)
class Scene:
    """A heading, a text, and the panels of the picture: at most one of each kind, all of one run.

    The scene shows the net before training; if `plays`, the run then plays to its end. `prefetch`: ask for its rows
    before the scene is reached, because it plays or because the text quotes them.
    """

    title: str
    text: str
    run: int
    panels: Sequence[Panel]
    plays: bool = False
    prefetch: bool = False

    def to_json(self, runs: int, seeds: int) -> dict[str, Any]:
        """The scene for the browser. Scenes share panels: the key of a panel is its kind, only its run changes."""
        panels = [panel.to_json(runs, seeds) | {"key": panel.kind} for panel in self.panels]
        return {**vars(self), "panels": panels}


# --- the player ---


class Playing(TypedDict, total=False):
    """The controls of a player; `declaration` has the defaults."""

    # When the page reruns: whenever the playhead comes to rest, with "follow" also once a second while it plays.
    reports: Reports
    scope: str  # after "Train" on the button, if one bar moves several runs
    verb: str  # in place of "Train"
    names: list[str]  # of the runs, in messages
    keys: str  # a hint on space, right arrow and R; if not empty, these keys control the playhead
    start: str  # a token; each new one starts the playhead
    reset: str  # a token; each new one resets the playhead
    stop_loss: float  # the training loss at which the playhead stops; 0: never
    restore: bool  # after a reload the playhead returns to its step, if the rows are still there
    # Where the runs can be trained in the browser: `engine`, the address of what trains them; `meaning`, of what that
    # means; why they cannot, `refusal`; and whether they `always` are, or only where the viewer chooses it.
    here: dict[str, Any]
    facts: list[str]  # more entries for the status line
    scene: int  # the first to show, counted from 1


def declaration(
    runs: Sequence[Mapping[str, Any]],
    panels: Sequence[Panel],
    *,
    seeds: int = 1,
    at: tuple[int, bool] | tuple[int, bool, bool] = (0, False),
    scenes: Sequence[Scene] = (),
    messages: Sequence[Any] = (),
    beside: Sequence[Mapping[str, Any]] = (),
    **options: Unpack[Playing],
) -> dict[str, Any]:
    """The data of a player: its runs with `seeds` seeds each, and its panels, or its scenes.

    `at`: step of the playhead, whether it plays, and True if the browser trains the runs. `messages`: feed messages to
    handle before any of the connection.
    `beside`: runs that traces are bound to, counted on from `runs`: drawn as far as their logs go, and never trained.
    """
    defaults: dict[str, Any] = {
        "here": None,
        "reports": "never",
        "names": [],
        "stop_loss": 0.0,
        "restore": False,
        "facts": [],
        "scene": 1,
    }
    defaults |= dict.fromkeys(("scope", "verb", "keys", "start", "reset"), "")
    return {
        "runs": list(runs),
        "beside": list(beside),
        "panels": [panel.to_json(len(runs) + len(beside), seeds) for panel in panels],
        "scenes": [scene.to_json(len(runs), seeds) for scene in scenes],
        "at": list(at),
        "messages": list(messages),
        "hues": HUES,
        "badge_help": BADGE_HELP,
        "status_words": STATUS,
        **defaults,
        **options,
    }
