"""A net whose drawing is its control: what the browser is told of it, and the net that it asks for."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from addnorm.player import json_messages
from components.player.browser_messages import ShownRun
from components.player.feed import RunFeed
from components.player.panels import stack_blocks
from components.player.view import open_logs
from components.shell.session import Key
from models.service.client import key_of, trainer
from models.spec import RunConfig, arrangement_of, knobs
from models.spec.arrangements import overrides_at_depth
from models.spec.budget import budget_refusal
from models.spec.overrides import set_override

PARTS = ("depth", "residual", "norm", "out", "own")
KEYS = {"out": "identity", "own": "residual"}  # of the overrides by part

HEARD = Key("{}_heard", 0)  # the last change that the page has answered


def declared(name: str, cfg: RunConfig, most: int, norm: str, parts: Collection[str] = PARTS) -> dict[str, Any]:
    """The `net` of a player's StackPanel; `parts` can be changed, to `most` blocks, and the others are a picture.

    `norm`: the one that it gets where it has none.
    """
    net = _state(cfg) | {part: None for part in PARTS if part not in parts and part != "depth"}
    return net | {"most": most if "depth" in parts else None, "heard": HEARD.of(name).get(), "kind": norm}


def measured(cfg: RunConfig, fields: dict[str, Any]) -> dict[str, Any] | None:
    """What a connection sends of the net that a browser asks for in place of `cfg`, before the page has followed.

    Its link and last step, its blocks, and its log before training; None if there is no such net, or not in time.
    """
    parts = [part for part in PARTS if fields.get(part) is not None]
    most = int(knobs()["depth"][1].high)
    try:
        net = _asked_net(cfg, fields, norm=str(fields.get("kind")), most=most, parts=parts)
    except ValueError:
        return None
    if net is None or budget_refusal(net):
        return None
    (answer,) = open_logs([net])
    if answer is None or answer.value is None:
        return None
    feed = RunFeed(0, ShownRun(net, seeds=1, sent_rows=0, target_row=0), owner=None)
    messages = json_messages(feed.messages(trainer(), until=1))
    shown = {"link": key_of(net), "last": net.steps, "blocks": stack_blocks(net)}
    return {"kind": "net", "asked": fields["asked"], **shown, "messages": messages}


def chosen_net(
    name: str, cfg: RunConfig, fields: dict[str, Any], *, norm: str, most: int, parts: Collection[str] = PARTS
) -> RunConfig | None:
    """The net that a browser asks for in place of this one, with `norm` where it wants one; None if that is no net.

    ValueError with a sentence if the net would be illegal.
    """
    count = fields.get("asked")
    if type(count) is int:
        HEARD.of(name).put(count)
    return _asked_net(cfg, fields, norm=norm, most=most, parts=parts)


def _asked_net(
    cfg: RunConfig, fields: dict[str, Any], *, norm: str, most: int, parts: Collection[str]
) -> RunConfig | None:
    """What `chosen_net` returns."""
    count, depth = fields.get("asked"), fields.get("depth")
    if type(count) is not int or type(depth) is not int or not 1 <= depth <= most:
        return None
    wanted = _state(cfg) | {part: fields.get(part) for part in parts}
    if not (isinstance(wanted["residual"], bool) and isinstance(wanted["norm"], bool)):
        return None
    overrides = cfg.overrides
    if wanted["depth"] != cfg.depth:
        overrides = overrides_at_depth(arrangement_of(cfg), overrides, wanted["depth"])
    before = _state(replace(cfg, depth=wanted["depth"], overrides=overrides))
    for part, key in KEYS.items():
        if part not in parts:
            continue
        try:
            old, new = (
                dict.fromkeys(net[part], True) if part == "out" else dict(net[part]) for net in (before, wanted)
            )
        except (TypeError, ValueError):
            return None
        if len(wanted[part]) > depth or not all(type(n) is int and isinstance(has, bool) for n, has in new.items()):
            return None
        for block in old.keys() | new.keys():
            if old.get(block) != new.get(block):
                overrides = set_override(overrides, block, key, new.get(block))
    kind = "none" if not wanted["norm"] else cfg.norm if cfg.norm != "none" else norm
    return replace(cfg, depth=wanted["depth"], residual=wanted["residual"], norm=kind, overrides=overrides)


def _state(cfg: RunConfig) -> dict[str, Any]:
    return {
        "depth": cfg.depth,
        "residual": cfg.residual,
        "norm": cfg.norm != "none",
        "out": [block for block, key, value in cfg.overrides if (key, value) == ("identity", True)],
        "own": [[block, value] for block, key, value in cfg.overrides if key == "residual"],
    }
