// A plain link names a page and what it shows there, not the language of the visit, which every page of it has to say. A
// link to the app that is about to be followed, in this tab or a new one, gets the language of this page's address.
{
  const KEY = "lang"
  const follow = ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href]:not([download])") : null
    const language = new URL(location.href).searchParams.get(KEY)
    if (!link || !language) return
    const address = new URL(/** @type {HTMLAnchorElement} */ (link).href)
    if (address.origin !== location.origin || address.searchParams.has(KEY)) return
    address.searchParams.set(KEY, language)
    link.setAttribute("href", address.href)
  }
  for (const kind of ["pointerdown", "keydown", "click", "contextmenu"]) {
    window.addEventListener(kind, follow, true)
  }
}
