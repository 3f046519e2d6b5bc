"""The stack as a row of blocks to click, whose borders show what was changed."""

from components.shell import session
from components.shell.component import component
from models.spec import RunConfig, plan
from models.spec.overrides import PARTS

_component = component(__file__, '<div class="stack-row"></div>')


def stack_row(cfg: RunConfig, *, key: str, chosen_key: str) -> None:
    """Draws the blocks; a click stores the block's number under `chosen_key` in the session."""

    def store_block() -> None:
        block = getattr(session.widget_value(key), "block", None)
        if isinstance(block, int) and 1 <= block <= cfg.depth:  # a browser may send anything
            session.set_widget(chosen_key, block)

    chosen = int(session.widget_value(chosen_key, 1))
    _component(
        key=key,
        data={"blocks": [_block(cfg, block) for block in range(1, cfg.depth + 1)], "chosen": chosen},
        on_block_change=store_block,
    )


def _block(cfg: RunConfig, block: int) -> dict[str, object]:
    """A block as `stack_row.js` reads it: number, name, CSS classes and description."""
    sublayers = plan(cfg).active_sublayers(block)
    sublayer = sublayers[0]
    norms = (sublayer.norm_in, sublayer.norm_mid, sublayer.norm_out, sublayer.norm_add)
    has_norm = any(norm != "none" for norm in norms)
    if sublayer.identity:
        classes, description = "identity", "taken out"
    else:
        missing_parts = {"no-skip": not sublayer.skip, "no-norm": not has_norm}
        classes = " ".join(name for name, is_missing in missing_parts.items() if is_missing)
        is_reduced = len(sublayers) < len(plan(cfg).block_sublayers(block))
        remaining = f", {PARTS[sublayer.kind]} only" if is_reduced else ""
        residual = "residual" if sublayer.skip else "no residual"
        description = f"{residual}, {'norm' if has_norm else 'no norm'}{remaining}"
    return {"number": block, "name": str(block), "kind": classes, "says": f"Block {block}: {description}"}
