// Keyboard control for presenting: space plays and pauses, the right arrow steps, R resets, and other keys turn scenes.

const MOVE_OF_KEY = {
  " ": "space",
  r: "r",
  R: "r",
  ArrowRight: "right",
  ArrowLeft: "left",
  ArrowDown: "next",
  PageDown: "next",
  n: "next",
  N: "next",
  ArrowUp: "back",
  PageUp: "back",
  b: "back",
  B: "back",
}
// Elements that use these keys themselves.
const FIELD_SELECTOR =
  "input, textarea, select, [contenteditable]:not([contenteditable=false]), " +
  "[role=slider], [role=combobox], [role=listbox], [role=menu], [role=dialog], [role=radiogroup], [role=tablist]"

// Calls the function in `moves` that a key names; returns a function that stops listening.
export const listen = (moves) => {
  let focusedByPointer = false // if so, space controls the player and not the focused button
  const onPointer = () => {
    focusedByPointer = true
  }
  const onKey = (event) => {
    if (event.key === "Tab") focusedByPointer = false
    const name = MOVE_OF_KEY[event.key]
    const focused = event.composedPath()[0]
    if (!moves[name] || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (!(focused instanceof Element) || focused.closest(FIELD_SELECTOR)) return
    const button = /** @type {HTMLElement | null} */ (focused.closest("button, a, summary, [role=button]"))
    if (name === "space" && button && !focusedByPointer) return
    event.preventDefault()
    event.stopImmediatePropagation() // R would rerun Streamlit's page
    if (button && focusedByPointer) button.blur()
    if (!event.repeat) moves[name]()
  }
  window.addEventListener("keydown", onKey, true)
  window.addEventListener("pointerdown", onPointer, true)
  return () => {
    window.removeEventListener("keydown", onKey, true)
    window.removeEventListener("pointerdown", onPointer, true)
  }
}
