"""Stacks, blocks and norms of a transformer, from the same plan as the app's nets."""

from dataclasses import dataclass

from models.spec import RunConfig, plan

ATTENTION = "attention"
MASKED_ATTENTION = "masked attention"
CROSS_ATTENTION = "cross-attention"
FEED_FORWARD = "feed-forward"
# Branches of a block.
ENCODER = (ATTENTION, FEED_FORWARD)
DECODER = (MASKED_ATTENTION, CROSS_ATTENTION, FEED_FORWARD)
DECODER_ALONE = (MASKED_ATTENTION, FEED_FORWARD)


@dataclass(frozen=True)
class MapSublayer:
    """A branch with its residual, and whether a norm precedes the branch or follows the add."""

    branch: str
    norm_in: bool
    norm_add: bool


@dataclass(frozen=True)
class MapStack:
    """The block that a stack repeats, and whether a final norm follows the stack."""

    sublayers: tuple[MapSublayer, ...]
    final_norm: bool

    @property
    def norms(self) -> int:
        """Norms of one block."""
        return sum(sublayer.norm_in + sublayer.norm_add for sublayer in self.sublayers)


def stacks(arrangement: str, *, decoder_only: bool) -> list[MapStack]:
    """Encoder and decoder (Vaswani 2017), or only a decoder without cross-attention (GPT)."""
    arranged = plan(RunConfig.arranged(arrangement, net="transformer", depth=1))
    planned = {sublayer.kind: sublayer for sublayer in arranged.sublayers}
    map_stacks = []
    for branches in [DECODER_ALONE] if decoder_only else [ENCODER, DECODER]:
        sublayers = []
        for branch in branches:
            sublayer = planned["ffn" if branch == FEED_FORWARD else "attn"]
            sublayers.append(MapSublayer(branch, sublayer.norm_in != "none", sublayer.norm_add != "none"))
        map_stacks.append(MapStack(tuple(sublayers), final_norm=arranged.final_norm != "none"))
    return map_stacks
