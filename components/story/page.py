"""The page Story: its scenes and their runs. The address stores the scene."""

from typing import NamedTuple

import streamlit as st

from addnorm.player.declare import COLUMNS, Curve, Digit, Panel, SamplePaths, Scene, StackPanel
from components.classroom import following
from components.player.page import last_scene, player
from components.player.panels import block_panel, stack_blocks
from components.player.view import views_at
from components.shell import address, projector, tour
from components.shell.link import NET_PART, START
from components.shell.naming import guessing_loss
from components.shell.session import Key
from components.shell.waiting import poll_while
from components.story import words
from models.lessons import stops
from models.lessons.board import board
from models.service.client import trainer
from models.spec import RunConfig

NAME = "story"
DIGIT = 3  # the digit that enters the net in the first scene
SHALLOW = RunConfig(depth=2, residual=False, norm="none")
FADES = RunConfig(residual=False, norm="none")
GROWS = RunConfig(norm="none")
MERGES = RunConfig(residual=False)
LEVELS = RunConfig()

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
)
OWN_NET = ("depth", "residual", "norm")  # in older links, which led to a net that now stands on Start

STORY_SCENE = Key("story_scene", 1)
STORY_LEFT = Key("story_left", False)  # whether the reader has pressed the button to Start


def draw() -> None:
    """Draws the scenes, and links to other pages."""
    own_net = {name: value for name, value in st.query_params.to_dict().items() if name in OWN_NET}
    if own_net:
        address.collect_changes(dict.fromkeys(own_net))
        address.write_changes()  # now, or the story's address would lead there again whenever it is restored
    if STORY_LEFT.pop() or own_net:
        st.switch_page(START, query_params=own_net | {"part": NET_PART})
    configurations = [SHALLOW, FADES, GROWS, MERGES, LEVELS]
    runs = [
        words.SceneRun(cfg, view, trainer().log(cfg))
        for cfg, (view, _) in zip(configurations, views_at(configurations), strict=True)
    ]
    texts = words.scene_texts(runs, digit=DIGIT)
    scenes = []
    for run, ((title, text), playback) in enumerate(zip(texts, PLAYBACK, strict=True)):
        panels = _panels(configurations[run], run)
        scenes.append(Scene(title, text, run, panels, plays=playback.plays, prefetch=playback.prefetch))
    player(
        NAME,
        configurations,
        [],
        scenes=scenes,
        keys=_keyboard_hint(),
        scene=_scene(),
        on_scene=_go_to_scene,
    )
    if last_scene(NAME) >= tour.STORY_SCENE:
        tour.mark_done("story")
    poll_while(
        "story_numbers",
        lambda: any(view is None for view, _ in views_at(configurations)) and trainer().status().state != "failed",
    )
    # Not a page link: Start has an empty address, which in a new tab would open this page again. The press is stored,
    # because it also scrolls the page to another scene, and that event may end the script run that the press began.
    st.button(
        words.TEXTS("to the net"), icon=":material/content_cut:", type="tertiary", on_click=STORY_LEFT.put, args=(True,)
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
        curve_height = projector.LOSS_HEIGHT
    stack_height = FIRST_STACK_HEIGHT if is_first else STACK_HEIGHT
    span = COLUMNS if is_first else half
    curve = Curve("Loss", run, half, level=guessing_loss(cfg), height=curve_height)
    block = block_panel(cfg, "One block", run, COLUMNS if is_projected else span)
    stack = StackPanel(run=run, span=span, blocks=stack_blocks(cfg), height=stack_height, scale="shared")
    if is_first:
        return [block, Digit(f"The digit {DIGIT}", run, half, which=[DIGIT]), curve, stack]
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
