"""The page Story: its scenes, their runs, and the net that the reader builds. The address stores scene and net."""

from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from addnorm.player.declare import COLUMNS, Choice, Curve, Digit, Panel, SamplePaths, Scene, StackPanel
from components.classroom import following
from components.player.page import last_scene, player
from components.player.panels import block_panel, stack_blocks
from components.player.view import views_at
from components.shell import address, projector, tour
from components.shell.link import START
from components.shell.naming import guessing_loss
from components.shell.page_links import link_to_playground
from components.shell.session import Key
from components.shell.waiting import poll_while
from components.story import words
from models.lessons import stops
from models.lessons.board import board
from models.service.client import trainer
from models.spec import RunConfig

NAME = "story"
DIGIT = 3  # the digit that enters the net in the first scene
MAX_BLOCKS = 64  # of the reader's own net
SHALLOW = RunConfig(depth=2, residual=False, norm="none")
FADES = RunConfig(residual=False, norm="none")
GROWS = RunConfig(norm="none")
MERGES = RunConfig(residual=False)
LEVELS = RunConfig()
FIRST_CHOICE = Choice(depth=24, max_depth=MAX_BLOCKS, residual=True, norm=True)  # learns, until the reader breaks it

# Heights of panels in pixels; the panels of the first scene are lower.
FIRST_CURVE_HEIGHT = 92
CURVE_HEIGHT = 110
FIRST_STACK_HEIGHT = 84
STACK_HEIGHT = 90
PATHS_HEIGHT = 330


class ScenePlayback(NamedTuple):
    """Whether a scene plays by itself, and whether the page requests all rows of its run before it is reached."""

    plays: bool
    prefetch: bool


PLAYBACK = (  # by scene
    ScenePlayback(plays=True, prefetch=True),
    ScenePlayback(plays=False, prefetch=False),
    ScenePlayback(plays=False, prefetch=True),
    ScenePlayback(plays=False, prefetch=True),
    ScenePlayback(plays=True, prefetch=True),
    ScenePlayback(plays=False, prefetch=False),
)

STORY_SCENE = Key("story_scene", 1)
STORY_LEFT = Key("story_left", False)  # whether the reader has pressed the button to Start
STORY_CHOICE: Key[Choice | None] = Key("story_own", None)  # the reader's own net


def draw() -> None:
    """Draws the scenes, and links to other pages."""
    if STORY_LEFT.pop():
        st.switch_page(START)
    choice = _own_choice()
    configurations = [SHALLOW, FADES, GROWS, MERGES, LEVELS, _net(choice)]
    runs = [
        words.SceneRun(cfg, view, trainer().log(cfg))
        for cfg, (view, _) in zip(configurations, views_at(configurations), strict=True)
    ]
    texts = words.scene_texts(runs, digit=DIGIT)
    scenes = []
    for run, ((title, text), playback) in enumerate(zip(texts, PLAYBACK, strict=True)):
        panels = _panels(configurations[run], run)
        scenes.append(Scene(title, text, run, panels, plays=playback.plays, prefetch=playback.prefetch))
    scenes[-1] = replace(scenes[-1], choice=choice, after=words.outcome_sentence(runs[-1]))
    player(
        NAME,
        configurations,
        [],
        scenes=scenes,
        keys=_keyboard_hint(),
        scene=_scene(),
        on_scene=_go_to_scene,
        on_choice=_choose,
    )
    if last_scene(NAME) >= tour.STORY_SCENE:
        tour.mark_done("story")
    poll_while(
        "story_numbers",
        lambda: any(view is None for view, _ in views_at(configurations)) and trainer().status().state != "failed",
    )
    link_to_playground(_net(choice), words.TEXTS("to the playground"))
    # Not a page link: Start has an empty address, which in a new tab would open this page again. The press is stored,
    # because it also scrolls the page to another scene, and that event may end the script run that the press began.
    st.button(
        words.TEXTS("to the four nets"), icon=":material/home:", type="tertiary", on_click=STORY_LEFT.put, args=(True,)
    )


def _keyboard_hint() -> str:
    """How the keyboard changes scenes on a projector; empty elsewhere."""
    if not projector.is_on():
        return ""
    return words.TEXTS("in class") if following.teacher_key() else projector.STORY_KEYS_HINT


def _panels(cfg: RunConfig, run: int) -> list[Panel]:
    """Panels of a scene, in order. `run`: the index of its run, 0 in the first scene.

    The first scene shows one block and the digit that enters, the others the paths of ten digits. On a projector the
    block has the whole width.
    """
    half = COLUMNS // 2
    is_first = run == 0
    is_projected = projector.is_on()
    curve_height = FIRST_CURVE_HEIGHT if is_first else CURVE_HEIGHT
    if is_projected:
        curve_height = projector.SMALL_LOSS_HEIGHT
    stack_height = FIRST_STACK_HEIGHT if is_first else STACK_HEIGHT
    span = COLUMNS if is_first else half
    curve = Curve("Loss", run, half, level=guessing_loss(cfg), height=curve_height)
    block = block_panel(cfg, "One block", run, COLUMNS if is_projected else span)
    stack = StackPanel(run=run, span=span, blocks=stack_blocks(cfg), height=stack_height, scale="shared")
    if is_first:
        return [block, Digit(f"The digit {DIGIT}", run, half, which=DIGIT), curve, stack]
    paths = SamplePaths(
        "Ten unseen digits",
        run,
        half,
        runs=[run],
        labels=[""],
        subject="ten digits",
        measures=True,
        height=PATHS_HEIGHT,
    )
    return [block, paths, curve, stack] if is_projected else [paths, block, curve, stack]


def _scene() -> int:
    """Number of the scene, from 1: the one in the address, else the last one shown, else the first."""
    text = st.query_params.get("scene", "1")
    with address.adopting("scene") as fresh:
        if fresh:
            STORY_SCENE.put(int(text) if text.isdecimal() and len(text) < 3 else 1)
    return min(max(STORY_SCENE.get(), 1), len(PLAYBACK))


def _go_to_scene(scene: int) -> None:
    """Stores the scene that the browser shows, and moves the class to it if a teacher leads one."""
    if not 1 <= scene <= len(PLAYBACK):
        return
    STORY_SCENE.put(scene)
    address.collect_changes({"scene": str(scene)})
    if key := following.teacher_key():
        board().show(following.code(), key, f"{stops.STORY}-{scene}")


def _own_choice() -> Choice:
    """The reader's own net: from the address, else the last choice, else FIRST_CHOICE."""
    query = st.query_params.to_dict()
    with address.adopting("depth", "residual", "norm") as fresh:
        if fresh and {"depth", "residual", "norm"} & query.keys():
            text = query.get("depth", "")
            is_number = text.isdecimal() and len(text) < 4
            depth = min(max(int(text), 1), MAX_BLOCKS) if is_number else FIRST_CHOICE.depth
            residual = query.get("residual") == "true"
            norm = query.get("norm") == "true"
            STORY_CHOICE.put(Choice(depth, MAX_BLOCKS, residual, norm))
    return STORY_CHOICE.get() or FIRST_CHOICE


def _choose(fields: dict[str, Any]) -> None:
    """Stores the net that the browser reports, in the session and the address; ignores invalid values."""
    depth, residual, norm = (fields.get(name) for name in ("depth", "residual", "norm"))
    if type(depth) is not int or not 1 <= depth <= MAX_BLOCKS:
        return
    if not isinstance(residual, bool) or not isinstance(norm, bool):
        return
    STORY_CHOICE.put(Choice(depth, MAX_BLOCKS, residual, norm))
    flags = {True: "true", False: "false"}
    scene = str(len(PLAYBACK))
    address.collect_changes({"scene": scene, "depth": str(depth), "residual": flags[residual], "norm": flags[norm]})


def _net(choice: Choice) -> RunConfig:
    return RunConfig(depth=choice.depth, residual=choice.residual, norm=LEVELS.norm if choice.norm else "none")
