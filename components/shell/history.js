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
  // What an open search asks stands in the address as `q`, which the server neither reads nor writes. `window.searched`
  // is null where no search is open.
  const KEY = "q"
  const OLD = "search" // of links to two pages that each had a search of their own
  const hear = () => {
    const here = new URLSearchParams(location.search)
    Object.assign(window, { searched: here.get(KEY) ?? here.get(OLD) })
  }
  hear()
  window.addEventListener("popstate", hear)
  /** @type {(entry: Parameters<History["pushState"]>) => Parameters<History["pushState"]>} */
  const withSearch = ([state, title, address]) => {
    const { searched } = /** @type {any} */ (window)
    const to = new URL(address ?? location.href, location.href)
    if ((searched ?? null) === to.searchParams.get(KEY)) return [state, title, address]
    to.searchParams.delete(OLD)
    if (searched === null) to.searchParams.delete(KEY)
    else to.searchParams.set(KEY, searched)
    return [state, title, to.href]
  }
  const [push, replace] = [history.pushState.bind(history), history.replaceState.bind(history)]
  history.replaceState = (...entry) => replace(...withSearch(entry))
  history.pushState = (...entry) => {
    const written = withSearch(entry)
    const isNew = new URL(written[2] ?? location.href, location.href).href !== location.href
    if (hasPressed && isNew) push(...written)
    else replace(...written)
    hasPressed = false
  }
  history.replaceState(history.state, "", location.href)
  // The key of a class comes behind the # of a projector's address, for a browser that keeps no cookies. It goes before
  // anybody can read it on the wall.
  const [, key] = location.hash.match(/^#([A-Z]{4}\.[\w-]+)$/) ?? []
  if (key) {
    Object.assign(window, { classKey: key })
    history.replaceState(history.state, "", location.pathname + location.search)
  }
}
