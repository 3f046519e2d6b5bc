"""Overrides of fields in single blocks, as (block, key, value), for example (3, "norm", "none")."""

import math
from collections.abc import Iterable

from models.spec.knob import is_integer
from models.spec.placement import PLACEMENTS
from models.spec.vocabulary import ACTIVATIONS, NORMS

Override = tuple[int, str, str | bool]

PARTS = {"attn": "attention", "ffn": "feed-forward net"}  # sublayers of a transformer block, by kind

OVERRIDE_KEYS = {
    "residual": (False, True),
    "norm": tuple(NORMS),
    "placement": tuple(PLACEMENTS),
    "activation": tuple(ACTIVATIONS),
    "identity": (False, True, *PARTS),
}
_LEGAL = {(key, value) for key, values in OVERRIDE_KEYS.items() for value in values}


def max_overrides(depth: int) -> int:
    """The largest number of overrides in a net: one for each block and key."""
    return depth * len(OVERRIDE_KEYS)


def legal_overrides(overrides: Iterable[Override], depth: int) -> tuple[Override, ...]:
    """The overrides in order, one per block and key; the last one wins.

    Raises ValueError for a block, key or value that does not exist.
    """
    chosen: dict[tuple[int, str], str | bool] = {}
    for override in overrides:
        if not isinstance(override, tuple | list) or len(override) != 3:
            raise ValueError(f"overrides has {override!r}; legal is (block, key, value)")
        block, key, value = override
        if not is_integer(block) or not 1 <= block <= depth:
            raise ValueError(f"overrides names block {block!r}; legal is 1 to {depth}")
        if not isinstance(key, str) or key not in OVERRIDE_KEYS:
            raise ValueError(f"overrides names {key!r}; legal is one of {', '.join(OVERRIDE_KEYS)}")
        if not isinstance(value, bool | str) or (key, value) not in _LEGAL:
            raise ValueError(
                f"overrides sets {key} of block {block} to {value!r}; legal is one of {OVERRIDE_KEYS[key]}"
            )
        chosen[block, key] = value
    return tuple((block, key, value) for (block, key), value in sorted(chosen.items()))


def mix_ln_overrides(depth: int) -> tuple[Override, ...]:
    """Mix-LN with alpha = 0.25: the first quarter of the blocks is post-norm (Li 2024, 2412.13795)."""
    return tuple((block, "placement", "post-norm") for block in range(1, math.ceil(depth / 4) + 1))


def set_override(
    overrides: tuple[Override, ...], block: int, key: str, value: str | bool | None
) -> tuple[Override, ...]:
    """The overrides with one of them set, or removed if the value is None."""
    others = tuple(override for override in overrides if override[:2] != (block, key))
    return others if value is None else tuple(sorted((*others, (block, key, value))))


def to_text(overrides: tuple[Override, ...]) -> str:
    """The overrides in a link, `1-8.norm.none,9.identity.true`: equal overrides of neighbouring blocks are a range."""
    texts = []
    for first, last, key, value in _ranges(overrides):
        blocks = str(first) if first == last else f"{first}-{last}"
        texts.append(f"{blocks}.{key}.{str(value).lower() if isinstance(value, bool) else value}")
    return ",".join(texts)


def describe_overrides(overrides: tuple[Override, ...]) -> str:
    """The overrides in words, "blocks 1 to 8: no norm, block 9: taken out"; empty if there are none."""
    texts = []
    for first, last, key, value in _ranges(overrides):
        blocks = f"block {first}" if first == last else f"blocks {first} to {last}"
        texts.append(f"{blocks}: {_describe_value(key, value)}")
    return ", ".join(texts)


def _describe_value(key: str, value: str | bool) -> str:
    """An override in words: "taken out", "no residual"."""
    if key == "identity":
        if isinstance(value, str):
            return f"without its {PARTS[value]}"
        return "taken out" if value else "left in"
    if key == "residual":
        return "residual" if value else "no residual"
    return f"no {key}" if value == "none" else str(value)


def _ranges(overrides: tuple[Override, ...]) -> list[tuple[int, int, str, str | bool]]:
    """The overrides as (first block, last block, key, value), with neighbouring blocks joined."""
    ranges: list[tuple[int, int, str, str | bool]] = []
    for block, key, value in sorted(overrides, key=_by_key_and_value):
        first = block
        if ranges and ranges[-1][1:] == (block - 1, key, value):
            first, *_ = ranges.pop()
        ranges.append((first, block, key, value))
    return ranges


def _by_key_and_value(override: Override) -> tuple[str, str, int]:
    block, key, value = override
    return key, str(value), block


def from_text(text: str, depth: int) -> tuple[Override, ...]:
    """The inverse of `to_text`. Raises ValueError for other text, before it expands to more than a net can have."""
    overrides: list[Override] = []
    for part in filter(None, text.split(",")):
        blocks, _, setting = part.partition(".")
        key, _, word = setting.partition(".")
        value: str | bool = {"true": True, "false": False}.get(word, word)
        overrides += [(block, key, value) for block in _parse_blocks(blocks, depth)]
        if len(overrides) > max_overrides(depth):
            raise ValueError(f"overrides has more than {max_overrides(depth)}; legal is one for each block and key")
    return legal_overrides(overrides, depth)


def _parse_blocks(text: str, depth: int) -> range:
    """The blocks of "9" or "1-8". Raises ValueError unless `text` names blocks up to `depth`."""
    first, _, last = text.partition("-")
    last = last or first
    are_numbers = first.isdecimal() and last.isdecimal() and max(len(first), len(last)) <= 4
    if not are_numbers or int(first) > int(last):
        raise ValueError(f"overrides names block {text[:12]!r}; legal is 1 to {depth}")
    if int(last) > depth:
        raise ValueError(f"overrides names block {int(last)}; legal is 1 to {depth}")
    return range(int(first), int(last) + 1)


def display_value(value: object, digits: int = 6) -> str:
    """A field's value as pages show it; floats have at most `digits` significant digits."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return describe_overrides(value) or "none"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
