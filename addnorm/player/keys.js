// Keyboard control for presenting: space plays and pauses, the right arrow steps, R resets; more keys turn scenes.

const MOVE_OF_KEY = {
  " ": "space",
  r: "r",
  R: "r",
  ArrowRight: "right",
  ArrowLeft: "left",
  ...{ ArrowDown: "next", PageDown: "next", n: "next", N: "next" },
  ...{ ArrowUp: "back", PageUp: "back", b: "back", B: "back" },
}
const FIELD_SELECTOR =
  "input, textarea, select, [contenteditable]:not([contenteditable=false]), " +
  "[role=slider], [role=combobox], [role=listbox], [role=menu], [role=dialog], [role=radiogroup], [role=tablist]"

// Calls the function in `moves` that a key names; returns a function that stops listening.
export const listen = (moves) => {
  let clicked = false // whether a pointer moved the focus: then space controls the player, not the focused button
  const onPointer = () => {
    clicked = true
  }
  const onKey = (event) => {
    if (event.key === "Tab") clicked = false
    const name = MOVE_OF_KEY[event.key]
    const focused = event.composedPath()[0]
    if (!moves[name] || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (!(focused instanceof Element) || focused.closest(FIELD_SELECTOR)) return
    const button = /** @type {HTMLElement | null} */ (focused.closest("button, a, summary, [role=button]"))
    if (name === "space" && button && !clicked) return
    event.preventDefault()
    event.stopImmediatePropagation() // R would rerun Streamlit's page
    if (button && clicked) button.blur()
    if (!event.repeat) moves[name]()
  }
  window.addEventListener("keydown", onKey, true)
  window.addEventListener("pointerdown", onPointer, true)
  return () => {
    window.removeEventListener("keydown", onKey, true)
    window.removeEventListener("pointerdown", onPointer, true)
  }
}
