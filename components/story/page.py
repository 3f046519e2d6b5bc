"""The story: its runs, its scenes, and the net that the reader builds, which the address keeps."""

from dataclasses import replace
from typing import Any

import streamlit as st

from addnorm.player.declare import COLUMNS, Choice, Curve, Digit, Panel, SamplePaths, Scene, StackPanel
from components.classroom import following
from components.player.page import last_scene, player
from components.player.panels import block_panel, stack_blocks
from components.player.view import view_at
from components.shell import address, hide, projector, tour
from components.shell.link import START
from components.shell.naming import chance
from components.shell.session import Key
from components.shell.waiting import poll_while
from components.shell.ways_on import to_playground
from components.story import words
from models.lessons import stops
from models.lessons.board import board
from models.service.client import trainer
from models.spec import RunConfig

NAME = "story"
DIGIT = 3  # the one of the ten that enters
MOST = 64  # blocks that the reader may stack
PLAIN: dict[str, object] = {"residual": False, "norm": "none"}
SHALLOW, FADES, GROWS, MERGES, LEVELS = (
    RunConfig(depth=2, **PLAIN),  # type: ignore[arg-type]
    RunConfig(**PLAIN),  # type: ignore[arg-type]
    RunConfig(norm="none"),
    RunConfig(residual=False),
    RunConfig(),
)
# By scene: whether it plays, and whether its whole run is asked for.
HOW = ((True, True), (False, False), (False, True), (False, True), (True, True), (False, False))
FIRST = Choice(depth=24, max_depth=MOST, residual=True, norm=True)  # which learns: the reader breaks it

STORY_SCENE = Key("story_scene", 1)
STORY_LEFT = Key("story_left", False)  # for Start
STORY_OWN: Key[Choice | None] = Key("story_own", None)  # the reader's own net


def draw() -> None:
    """The scenes, and links to other pages."""
    hide.adopt()
    if STORY_LEFT.pop():
        st.switch_page(START)
    own = _own()
    runs = [SHALLOW, FADES, GROWS, MERGES, LEVELS, _net(own)]
    seen = [words.Seen(cfg, view_at(cfg)[0], trainer().log(cfg)) for cfg in runs]
    texts = words.scenes(seen, digit=DIGIT)
    scenes = [
        Scene(title, text, run, _picture(runs[run], run), plays, whole)
        for run, ((title, text), (plays, whole)) in enumerate(zip(texts, HOW, strict=True))
    ]
    scenes[-1] = replace(scenes[-1], choice=own, after=words.after(seen[-1]))
    keys = "" if not projector.is_on() else words.TEXTS("in class") if following.key() else projector.SCENES
    player(NAME, runs, [], scenes=scenes, keys=keys, scene=_scene(), on_scene=_go, on_choice=_choose)
    if last_scene(NAME) >= tour.SEEN:
        tour.done("story")
    poll_while(
        "story_numbers", lambda: any(view_at(cfg)[0] is None for cfg in runs) and trainer().status().state != "failed"
    )
    to_playground(_net(own), words.TEXTS("to the playground"))
    # Not a page link: one to the first page has an empty address, which in a new tab would open this page again.
    # Its press is kept: it scrolls the page to a scene, and what that says of itself may end the run that it began.
    st.button(
        words.TEXTS("to the four nets"),
        icon=":material/home:",
        type="tertiary",
        on_click=STORY_LEFT.put,
        args=(True,),
    )


def _picture(cfg: RunConfig, run: int) -> list[Panel]:
    """Of the first scene one block and the digit that enters; of the others the way of ten digits through all. On a
    projector the block has the whole width.
    """
    half, ways, large = COLUMNS // 2, run > 0, projector.is_on()
    curve = Curve("Loss", run, half, level=chance(cfg), height=projector.CURVE if large else 110 if ways else 92)
    span = half if ways else COLUMNS
    block = block_panel(cfg, "One block", run, COLUMNS if large else span)
    stack = StackPanel(run=run, span=span, blocks=stack_blocks(cfg), height=90 if ways else 84, scale="shared")
    if not ways:
        return [block, Digit(f"The digit {DIGIT}", run, half, which=DIGIT), curve, stack]
    paths = SamplePaths("Ten unseen digits", run, half, runs=[run], labels=[""], subject="ten digits", height=330)
    return [block, paths, curve, stack] if large else [paths, block, curve, stack]


def _scene() -> int:
    """The scene in the address, else the one chosen last, else the first."""
    text = st.query_params.get("scene", "1")
    with address.adopting("scene") as fresh:
        if fresh:
            STORY_SCENE.put(int(text) if text.isdecimal() and len(text) < 3 else 1)
    return min(max(STORY_SCENE.get(), 1), len(HOW))


def _go(scene: int) -> None:
    if not 1 <= scene <= len(HOW):
        return
    STORY_SCENE.put(scene)
    address.change({"scene": str(scene)})
    if key := following.key():
        board().show(following.code(), key, f"{stops.STORY}-{scene}")


def _own() -> Choice:
    """The net that the reader has built, from the address if it holds one."""
    query = st.query_params.to_dict()
    with address.adopting("depth", "residual", "norm") as fresh:
        if fresh and {"depth", "residual", "norm"} & query.keys():
            depth = query.get("depth", "")
            asked = min(max(int(depth), 1), MOST) if depth.isdecimal() and len(depth) < 4 else FIRST.depth
            STORY_OWN.put(Choice(asked, MOST, query.get("residual") == "true", query.get("norm") == "true"))
    return STORY_OWN.get() or FIRST


def _choose(texts: dict[str, Any]) -> None:
    """Takes over a choice reported by a browser, if it is legal."""
    depth, residual, norm = (texts.get(name) for name in ("depth", "residual", "norm"))
    if type(depth) is not int or not 1 <= depth <= MOST or not isinstance(residual, bool) or not isinstance(norm, bool):
        return
    STORY_OWN.put(Choice(depth, MOST, residual, norm))
    on = {True: "true", False: "false"}
    address.change({"scene": str(len(HOW)), "depth": str(depth), "residual": on[residual], "norm": on[norm]})


def _net(own: Choice) -> RunConfig:
    """The default network with the reader's choices."""
    return RunConfig(depth=own.depth, residual=own.residual, norm=LEVELS.norm if own.norm else "none")
