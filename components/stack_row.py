"""The whole stack as a row of blocks to click; what was changed in a block can be seen from afar."""

import streamlit as st

from models.spec import RunConfig, plan

CSS = """
.stack-row{display:flex;flex-wrap:wrap;gap:4px;align-items:center;color:var(--st-text-color);font:12px var(--st-font,sans-serif)}
.stack-row button{min-width:34px;height:34px;border:2px solid #2f86d6;border-radius:6px;background:#2f86d622}
.stack-row button{color:inherit;cursor:pointer}
.stack-row button[aria-pressed=true]{box-shadow:0 0 0 1px var(--st-background-color),0 0 0 4px #d4760a;font-weight:bold}
.stack-row button:focus-visible{outline:2px solid currentColor;outline-offset:5px}
.stack-row button.no-skip{border-style:dotted;border-color:#d84a3a}
.stack-row button.no-norm{background:transparent}
.stack-row button.identity{border-style:dashed;background:transparent}
"""
JS = """export default ({ data, parentElement, setTriggerValue }) => {
  const row = parentElement.querySelector(".stack-row")
  // The same buttons stay: one that was replaced would lose the keyboard's focus.
  while (row.children.length > data.blocks.length) row.lastChild.remove()
  data.blocks.forEach((b, at) => {
    const button = row.children[at] ?? row.appendChild(document.createElement("button"))
    button.type = "button"
    button.textContent = b.name
    button.title = b.says
    button.setAttribute("aria-label", b.says)
    button.setAttribute("aria-pressed", String(b.number === data.chosen))
    button.className = b.kind
    button.onclick = () => setTriggerValue("block", b.number)
  })
}"""

_component = st.components.v2.component("stack_row", html='<div class="stack-row"></div>', css=CSS, js=JS, isolate_styles=False)


def stack_row(cfg: RunConfig, *, key: str, chosen_key: str) -> None:
    """Draws the blocks; a click puts the block's number into the session state under `chosen_key`."""

    def clicked() -> None:
        block = getattr(st.session_state[key], "block", None)
        if isinstance(block, int) and 1 <= block <= cfg.depth:  # it comes from a browser
            st.session_state[chosen_key] = block

    chosen = int(st.session_state.get(chosen_key, 1))
    _component(
        key=key, data={"blocks": [_block(cfg, b) for b in range(1, cfg.depth + 1)], "chosen": chosen}, on_block_change=clicked
    )


def _block(cfg: RunConfig, block: int) -> dict[str, object]:
    """One block's name, look and description."""
    sublayer = plan(cfg).of_block(block)[0]
    normed = any(n != "none" for n in (sublayer.norm_in, sublayer.norm_mid, sublayer.norm_out, sublayer.norm_add))
    if sublayer.identity:
        kind, says = "identity", "taken out"
    else:
        kind = " ".join(name for name, on in (("no-skip", not sublayer.skip), ("no-norm", not normed)) if on)
        says = f"{'skip' if sublayer.skip else 'no skip'}, {'norm' if normed else 'no norm'}"
    return {"number": block, "name": str(block), "kind": kind, "says": f"Block {block}: {says}"}
