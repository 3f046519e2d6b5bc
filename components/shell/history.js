// Streamlit adds a history entry for every change of the address, and two for a page whose address is restored. Here a
// click or a key makes one entry at most: later changes replace it, so that Back leads to where the visitor was before.
const MARK = Symbol.for("one entry per press")

export default function () {
  if (window[MARK]) return
  window[MARK] = true
  // A link may have been pressed before this script was there, and its page not have come yet.
  const [{ name: first }] = performance.getEntriesByType("navigation")
  let pressed = navigator.userActivation.hasBeenActive && location.pathname === new URL(first).pathname
  for (const kind of ["pointerdown", "keydown"]) {
    window.addEventListener(
      kind,
      () => {
        pressed = true
      },
      true,
    )
  }
  const push = history.pushState.bind(history)
  history.pushState = (...entry) => {
    if (pressed) push(...entry)
    else history.replaceState(...entry)
    pressed = false
  }
}
