"""The whole stack as a row of blocks to click, whose borders show what was changed."""

from components.shell import session
from components.shell.component import component
from models.spec import RunConfig, plan
from models.spec.overrides import PARTS

_component = component(__file__, '<div class="stack-row"></div>')


def stack_row(cfg: RunConfig, *, key: str, chosen_key: str) -> None:
    """Draws the blocks; a click stores the block's number in the session state under `chosen_key`."""

    def clicked() -> None:
        block = getattr(session.widget_value(key), "block", None)
        if isinstance(block, int) and 1 <= block <= cfg.depth:  # from a browser: not to be trusted
            session.set_widget(chosen_key, block)

    chosen = int(session.widget_value(chosen_key, 1))
    _component(
        key=key,
        data={"blocks": [_block(cfg, b) for b in range(1, cfg.depth + 1)], "chosen": chosen},
        on_block_change=clicked,
    )


def _block(cfg: RunConfig, block: int) -> dict[str, object]:
    """One block's name, look and description."""
    own = plan(cfg).left_of_block(block)
    sublayer = own[0]
    normed = any(n != "none" for n in (sublayer.norm_in, sublayer.norm_mid, sublayer.norm_out, sublayer.norm_add))
    if sublayer.identity:
        kind, says = "identity", "taken out"
    else:
        kind = " ".join(name for name, on in (("no-skip", not sublayer.skip), ("no-norm", not normed)) if on)
        left = f", {PARTS[sublayer.kind]} only" if len(own) < len(plan(cfg).of_block(block)) else ""
        says = f"{'residual' if sublayer.skip else 'no residual'}, {'norm' if normed else 'no norm'}{left}"
    return {"number": block, "name": str(block), "kind": kind, "says": f"Block {block}: {says}"}
