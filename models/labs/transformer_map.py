"""Stacks, blocks and norms of a transformer, from the same plan as the app's nets."""

from dataclasses import dataclass

from models.spec import RunConfig, plan

ATTENTION, MASKED, CROSS, FEED_FORWARD = "attention", "masked attention", "cross-attention", "feed-forward"
ENCODER, DECODER = (ATTENTION, FEED_FORWARD), (MASKED, CROSS, FEED_FORWARD)


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
    norm_slots = {
        sublayer.kind: (sublayer.norm_in != "none", sublayer.norm_add != "none") for sublayer in arranged.sublayers
    }

    def stack(branches: tuple[str, ...]) -> MapStack:
        kinds = ("ffn" if branch == FEED_FORWARD else "attn" for branch in branches)
        sublayers = (MapSublayer(branch, *norm_slots[kind]) for branch, kind in zip(branches, kinds, strict=True))
        return MapStack(tuple(sublayers), arranged.final_norm != "none")

    return [stack((MASKED, FEED_FORWARD))] if decoder_only else [stack(ENCODER), stack(DECODER)]
