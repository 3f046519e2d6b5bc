// Streamlit adds a history entry for every change of the address, and two for a walk to a page that is found again as it was
// left. One press is one step: whatever changes the address again before the next press replaces the entry, so that Back
// leads to where the visitor was before.
const MARK = Symbol.for("one entry per press")

export default function () {
  if (window[MARK]) return
  window[MARK] = true
  let pressed = false
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
