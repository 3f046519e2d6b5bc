// Keys for whoever stands at a projector: space plays and pauses, the right arrow steps, R resets.

const NAMES = { " ": "space", ArrowRight: "right", r: "r", R: "r" }
const FIELD =
  "input, textarea, select, [contenteditable]:not([contenteditable=false]), " +
  "[role=slider], [role=combobox], [role=listbox], [role=menu], [role=dialog], [role=radiogroup], [role=tablist]"

// Calls `moves.space`, `moves.right` and `moves.r`; returns what ends it.
export const listen = (moves) => {
  let clicked = false // the focus came from a pointer: then space belongs to the player, not to the button clicked last
  const pointed = () => {
    clicked = true
  }
  const pressed = (event) => {
    if (event.key === "Tab") clicked = false
    const name = NAMES[event.key]
    const at = event.composedPath()[0]
    if (!name || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (!(at instanceof Element) || at.closest(FIELD)) return
    const button = at.closest("button, a, summary, [role=button]")
    if (name === "space" && button && !clicked) return
    event.preventDefault()
    event.stopImmediatePropagation() // R alone would run the page again
    if (button && clicked) button.blur()
    if (!event.repeat) moves[name]()
  }
  window.addEventListener("keydown", pressed, true)
  window.addEventListener("pointerdown", pointed, true)
  return () => {
    window.removeEventListener("keydown", pressed, true)
    window.removeEventListener("pointerdown", pointed, true)
  }
}
