// Streamlit adds a history entry for every change of the address, and two for a page whose address is restored. Here a
// click or a key makes one entry at most: later changes replace it, so that Back leads to where the visitor was before.
// It stands in the page's own HTML, before Streamlit's scripts: whatever is pressed, it is there.
{
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
