"""The page Your model: a recording by `addnorm.watch`, alone or beside another or a run of the playground."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import streamlit as st

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
OWN, ALONE, SECOND = "your own file", "nothing", "a second file of yours"
# What is drawn only when it is asked for, and the titles of these charts or how they begin.
ASKED_FOR = {
    "Weights and updates": ("Weight gradient by block", "Update to weight by block"),
    "Layer and step": ("Signal by layer and step", "Gradient by layer and step", "Values by layer"),
}
LOOK_SECONDS = 3.0  # between two looks into the folder
TOY = "toy: "  # prefix of an arrangement's name
# For each likeness that `addnorm.law` tells, a small net that it would say the same of.
LIKE = {name: RunConfig.arranged(name) for name in ("pre-norm", "post-norm", "residual only", "ReZero", "plain")} | {
    "plain + norm": RunConfig.arranged("plain + norm", depth=48, activation="tanh", layers_per_branch=1),
    "little": RunConfig.arranged("DeepNorm"),
}
EXAMPLE_NAMES = {"gpt2": "tiny GPT-2"}  # of files whose own name says more than is in them
CODE = """\
from addnorm import watch

with watch(model, "run.jsonl",
           optimizer=optimizer) as recorder:
    for x, y in batches:
        ...  # your training step
        recorder.loss(loss)"""


@dataclass(frozen=True)
class ShownRecordings(Settings):
    """Which recording is shown, beside which, and what is asked for."""

    recording: Annotated[str, Knob("Recording", choices={}, exact=True, width=240)] = OWN
    beside: Annotated[str, Knob("Compare with", choices={}, exact=True, width=240)] = ALONE
    panel: Annotated[str | None, Knob("Show", choices=dict.fromkeys(ASKED_FOR), control="segments")] = None


def draw() -> None:
    """The page below its title."""
    listed = recordings()
    known = [*listed, *examples()]
    _look_again(set(listed))
    untouched = st.query_params.get("recording") is None
    above = st.container(horizontal=True, vertical_alignment="bottom")
    with above:
        usual = ShownRecordings(next(iter(examples()), OWN))
        legal = {"recording": {name: _shown(name) for name in (OWN, *known)}}
        first = form.draw(ShownRecordings, NAME, usual, only=["recording"], legal=legal, places=[above]).recording
        others = [ALONE, SECOND, *(name for name in known if name != first), *(TOY + name for name in ARRANGEMENTS)]
        legal = {"beside": {name: _shown(name) for name in others}}
        second = form.draw(ShownRecordings, NAME, only=["beside"], legal=legal, places=[above]).beside
        if first != OWN:
            st.button("Drop a file", key="recordings_own", on_click=session.set_widget, args=(FIRST, OWN))
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
            "File that plays (HTML)",
            partial(player_file, " beside ".join(map(_shown, names)), runs, panels, verb="Play"),
            "recording.html",
            "text/html",
            key="recordings_file",
            icon=":material/download:",
            on_click="ignore",
        )

    def opened(at: int) -> None:
        st.switch_page(link.PLAYGROUND, query_params=[*LIKE.values()][at].to_query())

    picture, beside = st.columns([5, 3], gap="medium")
    with picture:
        start = first if untouched and first != OWN else ""  # who comes without a recording sees one at work
        groups = {name: [one for one in panels if one.title.startswith(titles)] for name, titles in ASKED_FOR.items()}
        later = [one for group in groups.values() for one in group]
        always = [one for one in panels if one not in later]
        player(NAME, runs, always, reports="never", verb="Play", start=start, on_open=opened)
        chosen = form.draw(ShownRecordings, NAME, only=["panel"], label_visibility="collapsed").panel
        panels_below(NAME, "panel", groups.get(str(chosen), []), runs=len(runs))
    with beside:
        _how()


def _how() -> None:
    """How to get the recorder and use it."""
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


def _shown(name: str) -> str:
    """A choice in words."""
    if not name.startswith(EXAMPLE):
        return name
    own = name.removeprefix(EXAMPLE).removesuffix(".jsonl")
    return EXAMPLE + EXAMPLE_NAMES.get(own, own)


def _look_again(listed: set[str]) -> None:
    """Runs the page again when the folder lists other recordings than it shows."""

    @st.fragment(run_every=LOOK_SECONDS)
    def look() -> None:
        if set(recordings()) != listed:
            st.rerun()

    look()


def _panels(labels: list[str | None]) -> list[Panel]:
    """The panels of some runs, given their labels: None for a recording, under whose growth stand links to its like."""
    panels: list[Panel] = []
    for one in panels_of(labels):
        panels.append(one)
        if isinstance(one, Sentence) and one.says == "law":
            panels += _toys(one.run)
    return panels


def _toys(run: int) -> list[Panel]:
    """For everything that a recording may be like, a link to a small net of that kind."""
    return [
        Link(
            TEXTS("a net like it", arrangement=arrangement_of(cfg)),
            run,
            href=f"playground?{key_of(cfg)}",
            like=like,
            target=at,
        )
        for at, (like, cfg) in enumerate(LIKE.items())
    ]
