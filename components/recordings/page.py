"""The page Your model: a recording by `addnorm.watch`, alone or beside another or a run of the playground."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from addnorm.player.charts import panels_of
from addnorm.player.declare import Link, Panel, Sentence
from components.controls import form
from components.player.file import player_file
from components.player.page import RecordingRef, panels_below, player
from components.player.recordings import EXAMPLE, examples, folder, recordings
from components.recordings import package
from components.shell import link, session
from models.content import Texts
from models.service.client import key_of
from models.spec import ARRANGEMENTS, RunConfig, arrangement_of
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("recordings")

NAME = "recordings"
FIRST = "recordings_recording"  # key of the first choice
# Choices beside the recordings.
OWN = "your own file"
ALONE = "nothing"
SECOND = "a second file of yours"
# Panels that open on demand, with the first words of their charts' titles.
OPTIONAL_PANELS = {
    "Weights and updates": ("Weight gradient by block", "Update to weight by block"),
    "Layer and step": ("Signal by layer and step", "Gradient by layer and step", "Values by layer"),
}
POLL_SECONDS = 3.0  # between two listings of the folder
TOY = "toy: "  # prefix of an arrangement's name
# For each verdict of `addnorm.law`, a small net with the same verdict.
LIKE = {name: RunConfig.arranged(name) for name in ("pre-norm", "post-norm", "residual only", "ReZero", "plain")} | {
    "plain + norm": RunConfig.arranged("plain + norm", depth=48, activation="tanh", layers_per_branch=1),
    "little": RunConfig.arranged("DeepNorm"),
}
EXAMPLE_NAMES = {"gpt2": "tiny GPT-2"}  # by file: this file's name promises a larger model
CODE = """\
from addnorm import watch

with watch(model, "run.jsonl",
           optimizer=optimizer) as recorder:
    for x, y in batches:
        ...  # your training step
        recorder.loss(loss)"""


@dataclass(frozen=True)
class ShownRecordings(Settings):
    """The recording, the one to compare it with, and the open panel."""

    recording: Annotated[str, Knob("Recording", choices={}, exact=True, width=240)] = OWN
    beside: Annotated[str, Knob("Compare with", choices={}, exact=True, width=240)] = ALONE
    panel: Annotated[str | None, Knob("Show", choices=dict.fromkeys(OPTIONAL_PANELS), control="segments")] = None


def draw() -> None:
    """Draws the page below its title."""
    in_folder = recordings()
    _rerun_at_changes(set(in_folder))
    is_untouched = st.query_params.get("recording") is None
    above = st.container(horizontal=True, vertical_alignment="bottom")
    with above:
        first, second = _draw_choices(above, [*in_folder, *examples()])
    runs: list[RecordingRef | RunConfig] = [RecordingRef(None if first == OWN else first)]
    labels: list[str | None] = [None]
    if second.startswith(TOY):
        runs.append(RunConfig.arranged(second.removeprefix(TOY)))
        labels.append(second)
    elif second != ALONE:
        runs.append(RecordingRef(None if second == SECOND else second))
        labels.append(None)
    panels = _panels(labels)
    if not any(isinstance(run, RecordingRef) and run.name is None for run in runs):
        names = [first, *([second] if len(runs) > 1 else [])]
        above.download_button(
            "Playable HTML file",
            partial(player_file, " beside ".join(map(_label, names)), runs, panels, verb="Play"),
            "recording.html",
            "text/html",
            key="recordings_file",
            icon=":material/download:",
            on_click="ignore",
        )
    picture, instructions = st.columns([5, 3], gap="medium")
    with picture:
        _draw_player(runs, panels, start=first if is_untouched and first != OWN else "")  # an example plays at once
    with instructions:
        _draw_instructions()


def _draw_choices(above: DeltaGenerator, names: list[str]) -> tuple[str, str]:
    """Draws the choice of a recording and of another to compare it with. Returns both."""
    defaults = ShownRecordings(next(iter(examples()), OWN))
    legal = {"recording": {name: _label(name) for name in (OWN, *names)}}
    first = form.draw(ShownRecordings, NAME, defaults, only=["recording"], legal=legal, places=[above]).recording
    others = [ALONE, SECOND, *(name for name in names if name != first), *(TOY + name for name in ARRANGEMENTS)]
    legal = {"beside": {name: _label(name) for name in others}}
    second = form.draw(ShownRecordings, NAME, only=["beside"], legal=legal, places=[above]).beside
    if first != OWN:
        st.button("Drop a file", key="recordings_own", on_click=session.set_widget, args=(FIRST, OWN))
    return first, second


def _draw_player(runs: list[RecordingRef | RunConfig], panels: list[Panel], start: str) -> None:
    """Draws the player with the panels that are always shown, and below it the open one of OPTIONAL_PANELS."""

    def open_playground(like: int) -> None:
        st.switch_page(link.PLAYGROUND, query_params=[*LIKE.values()][like].to_query())

    optional = tuple(title for titles in OPTIONAL_PANELS.values() for title in titles)
    always = [panel for panel in panels if not panel.title.startswith(optional)]
    player(NAME, runs, always, reports="never", verb="Play", start=start, on_open=open_playground)
    chosen = form.draw(ShownRecordings, NAME, only=["panel"], label_visibility="collapsed").panel
    titles = OPTIONAL_PANELS.get(str(chosen), ())
    panels_below(NAME, "panel", [panel for panel in panels if panel.title.startswith(titles)], runs=len(runs))


def _draw_instructions() -> None:
    st.markdown("**Record your own**")
    st.code(CODE, language=None, wrap_lines=True)  # highlighting is too pale for small type
    st.download_button(
        "Download the recorder",
        package.package,
        package.NAME,
        "application/zip",
        key="recordings_package",
        icon=":material/download:",
        on_click="ignore",
    )
    st.markdown(TEXTS("install", command=f"`pip install {package.NAME}`"))
    with st.expander("What it does to training"):
        st.markdown(TEXTS("costs"))
    with st.expander("Where recordings appear"):
        st.markdown(TEXTS("folder", folder=f"`{folder()}`"))


def _label(name: str) -> str:
    if not name.startswith(EXAMPLE):
        return name
    file = name.removeprefix(EXAMPLE).removesuffix(".jsonl")
    return EXAMPLE + EXAMPLE_NAMES.get(file, file)


def _rerun_at_changes(listed: set[str]) -> None:
    """Runs the page again when the folder has other recordings than those listed."""

    @st.fragment(run_every=POLL_SECONDS)
    def check() -> None:
        if set(recordings()) != listed:
            st.rerun()

    check()


def _panels(labels: list[str | None]) -> list[Panel]:
    """The panels of runs with these labels; a recording's label is None, and its law has links to similar nets."""
    panels: list[Panel] = []
    for panel in panels_of(labels):
        panels.append(panel)
        if isinstance(panel, Sentence) and panel.sentence == "law":
            panels += _toy_links(panel.run)
    return panels


def _toy_links(run: int) -> list[Panel]:
    """A link to the small net of every verdict; the browser shows the one that fits the recording."""
    return [
        Link(
            TEXTS("a net like it", arrangement=arrangement_of(cfg)),
            run,
            href=f"playground?{key_of(cfg)}",
            like=like,
            target=index,
        )
        for index, (like, cfg) in enumerate(LIKE.items())
    ]
