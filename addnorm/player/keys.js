// Keys for presenting: space plays and pauses, the right arrow steps, R resets; scenes are gone through by more of them.

const NAME_OF_KEY = {
  " ": "space",
  r: "r",
  R: "r",
  ArrowRight: "right",
  ArrowLeft: "left",
  ...{ ArrowDown: "next", PageDown: "next", n: "next", N: "next" },
  ...{ ArrowUp: "back", PageUp: "back", b: "back", B: "back" },
}
const FIELD =
  "input, textarea, select, [contenteditable]:not([contenteditable=false]), " +
  "[role=slider], [role=combobox], [role=listbox], [role=menu], [role=dialog], [role=radiogroup], [role=tablist]"

// Calls the move of a key, if `moves` has it; returns a function that ends it.
export const listen = (moves) => {
  let clicked = false // whether the focus came from a pointer: then space is for the player, not for the focused button
  const pointed = () => {
    clicked = true
  }
  const pressed = (event) => {
    if (event.key === "Tab") clicked = false
    const name = NAME_OF_KEY[event.key]
    const focused = event.composedPath()[0]
    if (!moves[name] || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (!(focused instanceof Element) || focused.closest(FIELD)) return
    const button = /** @type {HTMLElement | null} */ (focused.closest("button, a, summary, [role=button]"))
    if (name === "space" && button && !clicked) return
    event.preventDefault()
    event.stopImmediatePropagation() // else R would make Streamlit rerun the page
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
