"""The net to break: its drawing is its control, and the address stores it."""

from contextlib import suppress
from typing import Any

import streamlit as st

from addnorm.player.declare import Curve, Digit, StackPanel
from components.player import drawn_net
from components.player.page import player
from components.player.panels import stack_blocks
from components.player.view import failure_sentence, view_at
from components.shell import address, tour
from components.shell.hidden_parts import any_hidden, is_hidden
from components.shell.link import NET_PART
from components.shell.naming import guessing_loss
from components.shell.page_links import link_to_playground
from components.shell.session import Key
from components.shell.waiting import poll_while
from components.start.words import TEXTS, after_training
from models.insight.verdict import verdict
from models.service.client import trainer
from models.spec import RunConfig

NAME = "net"
MAX_BLOCKS = 40
FIRST = RunConfig()  # learns, until the visitor breaks it
FIELDS = ("depth", "residual", "norm", "overrides")
PARTS = ("depth", "residual", "norm", "out")  # of the drawing, that change these
# Heights in pixels.
STACK_HEIGHT = 240
CURVE_HEIGHT = 110

START_NET = Key("start_net", FIRST)


def draw() -> None:
    """Draws the net, unless a link hides one of its controls."""
    if any_hidden(FIELDS):
        return
    st.subheader(TEXTS("break"), anchor=NET_PART)
    poll_while(NAME, _draw_fragment)


def _draw_fragment() -> bool:
    """Draws the player of the net. Returns whether its measurement is pending."""
    cfg = _adopt()
    view, is_late = view_at(cfg)
    before = after = ""
    if view is not None and not is_hidden("verdict"):
        log = trainer().log(cfg)
        trace = log.trace() if log.done else None
        before, after = verdict(cfg, view.trace, 0).brief, after_training(cfg, trace) if trace is not None else ""
    stack = StackPanel(
        TEXTS("your net"),
        span=8,
        blocks=stack_blocks(cfg),
        height=STACK_HEIGHT,
        net=drawn_net.declared(NAME, cfg, MAX_BLOCKS, FIRST.norm, PARTS),
        before=before,
        after=after,
        hint=TEXTS("how to break"),
    )
    digits = Digit(TEXTS("digits read"), span=4, which=list(range(10)))
    curve = Curve("Loss", span=4, level=guessing_loss(cfg), height=CURVE_HEIGHT)
    player(NAME, [cfg], [stack, digits, curve], scope=" this net", on_choice=_choose)
    link_to_playground(cfg)
    return view is None and not (is_late and failure_sentence(cfg))


def _adopt() -> RunConfig:
    """The net of the address, if that has changed, else the last one."""
    query = st.query_params.to_dict()
    with address.adopting(*FIELDS) as is_new:
        if is_new:
            START_NET.put(_from_link({name: query[name] for name in FIELDS if name in query}))
    return START_NET.get()


def _from_link(fields: dict[str, str]) -> RunConfig:
    """The net of a link, as far as it can be one that is built here; FIRST without fields."""
    cfg, _ = RunConfig.from_query(fields)
    depth = min(cfg.depth, MAX_BLOCKS)
    out = [block for block, *what in cfg.overrides if block <= depth and what == ["identity", True]]
    has_norm = cfg.norm != "none" and fields.get("norm") != "false"  # as the story once wrote it
    return _net(depth, out, residual=cfg.residual, norm=has_norm)


def _net(depth: int, out: list[int], *, residual: bool, norm: bool) -> RunConfig:
    overrides = tuple((block, "identity", True) for block in out)
    return RunConfig(depth=depth, residual=residual, norm=FIRST.norm if norm else "none", overrides=overrides)


def _choose(fields: dict[str, Any]) -> None:
    """Stores the net that the browser reports, in the session and the address; ignores what is none."""
    with suppress(ValueError):
        cfg = drawn_net.chosen_net(NAME, START_NET.get(), fields, norm=FIRST.norm, most=MAX_BLOCKS, parts=PARTS)
        if cfg is not None:
            START_NET.put(cfg)
            tour.mark_done("break")
            address.collect_changes(dict.fromkeys(FIELDS) | cfg.to_query() | {"part": NET_PART})
