// Streamlit adds a history entry for every change of the address, and two for a page whose address is restored. With
// this script a click or a key press makes at most one entry: later changes replace it, so that Back leads to where the
// visitor was before. It runs from the page's HTML, before Streamlit's scripts and any click.
{
  let hasPressed = false // since the last entry
  for (const kind of ["pointerdown", "keydown"]) {
    window.addEventListener(
      kind,
      () => {
        hasPressed = true
      },
      true,
    )
  }
  const push = history.pushState.bind(history)
  history.pushState = (...entry) => {
    if (hasPressed) push(...entry)
    else history.replaceState(...entry)
    hasPressed = false
  }
}
