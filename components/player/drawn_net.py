"""A net whose drawing is its control: what the browser is told of it, and the net that it asks for."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from components.shell.session import Key
from models.spec import RunConfig, arrangement_of
from models.spec.arrangements import overrides_at_depth
from models.spec.overrides import set_override

PARTS = ("depth", "residual", "norm", "out", "own")
KEYS = {"out": "identity", "own": "residual"}  # of the overrides by part

HEARD = Key("{}_heard", 0)  # the last change that the page has answered


def declared(name: str, cfg: RunConfig, most: int, parts: Collection[str] = PARTS) -> dict[str, Any]:
    """The `net` of a player's StackPanel; `parts` can be changed, to `most` blocks, and the others are a picture."""
    net = _state(cfg) | {part: None for part in PARTS if part not in parts and part != "depth"}
    return net | {"most": most if "depth" in parts else None, "heard": HEARD.of(name).get()}


def chosen_net(
    name: str, cfg: RunConfig, fields: dict[str, Any], *, norm: str, most: int, parts: Collection[str] = PARTS
) -> RunConfig | None:
    """The net that a browser asks for in place of this one, with `norm` where it wants one; None if that is no net.

    ValueError with a sentence if the net would be illegal.
    """
    count, depth = fields.get("asked"), fields.get("depth")
    if type(count) is not int or type(depth) is not int or not 1 <= depth <= most:
        return None
    HEARD.of(name).put(count)
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
