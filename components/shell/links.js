// Plain links between pages lack the language of the visit, which every page's address carries. This script adds the
// language of this page's address to a link of the app just before it is followed, in this tab or a new one.
{
  const KEY = "lang"
  const addLanguage = ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href]:not([download])") : null
    const language = new URL(location.href).searchParams.get(KEY)
    if (!link || !language) return
    const address = new URL(/** @type {HTMLAnchorElement} */ (link).href)
    if (address.origin !== location.origin || address.searchParams.has(KEY)) return
    address.searchParams.set(KEY, language)
    link.setAttribute("href", address.href)
  }
  for (const kind of ["pointerdown", "keydown", "click", "contextmenu"]) {
    window.addEventListener(kind, addLanguage, true)
  }
}
