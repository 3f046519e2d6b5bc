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
  // The key of a class comes behind the # of a projector's address, for a browser that keeps no cookies. It goes before
  // anybody can read it on the wall.
  const [, key] = location.hash.match(/^#([A-Z]{4}\.[\w-]+)$/) ?? []
  if (key) {
    Object.assign(window, { classKey: key })
    history.replaceState(history.state, "", location.pathname + location.search)
  }
}
