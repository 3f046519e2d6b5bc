// The box of the search. What it asks stands in the address as `q` while it is open (`history.js`), so that a reload, a
// link and Back find it again.

const KEY = "q"

let request // the last one, which a later one ends

const typesInto = (el) =>
  el instanceof HTMLElement && (el.isContentEditable || el.matches("input:not([type=range]), textarea, select"))

const rewriteAddress = (asked) => {
  Object.assign(window, { searched: asked })
  history.replaceState(history.state, "", location.href)
}

const part = (kind, text, parent) => {
  const el = parent.appendChild(document.createElement("span"))
  el.className = `search-${kind}`
  el.textContent = text
  return el
}

export default ({ data, parentElement, setTriggerValue }) => {
  const [opener, dialog] = parentElement.querySelectorAll(".search-open, .search-box")
  const input = dialog.querySelector("input")
  const close = dialog.querySelector("button")
  const status = dialog.querySelector("p")
  const list = dialog.querySelector("ol")
  const [name, hint, remedy, closing] = data.words
  for (const el of [opener, dialog, input]) el.setAttribute("aria-label", name)
  opener.title = `${name} (/)`
  input.placeholder = hint
  close.setAttribute("aria-label", closing)

  const link = (href, parent) => {
    const el = parent.appendChild(document.createElement("a"))
    el.href = `./${href}`
    el.onclick = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return // the browser opens a tab or window
      event.preventDefault()
      Object.assign(window, { searched: null }) // this entry of the history keeps what was asked
      dialog.close("followed")
      const { showAddress } = /** @type {any} */ (window)
      setTriggerValue("go", href || "start")
      showAddress(el.href)
    }
    return el
  }
  const show = ({ sentence, entries }) => {
    status.textContent = sentence
    list.replaceChildren(
      ...entries.map((entry) => {
        const item = document.createElement("li")
        const result = link(entry.href, item)
        part("title", entry.title, result)
        part("kind", entry.kind, result)
        if (entry.says) part("says", entry.says, result)
        if (entry.remedy) link(entry.remedy, item).textContent = remedy
        return item
      }),
    )
  }
  const ask = async () => {
    request?.abort()
    request = new AbortController()
    const query = new URLSearchParams({ q: input.value })
    try {
      const answer = await fetch(`./search?${query}`, { signal: request.signal })
      if (answer.ok) show(await answer.json())
    } catch {} // a later question came, or the server is away, of which the page tells
  }
  const open = (asked) => {
    if (input.value !== asked || !list.children.length) {
      input.value = asked
      ask()
    }
    if (!dialog.open) dialog.showModal()
    input.focus()
  }

  opener.onclick = () => open("")
  close.onclick = () => dialog.close()
  dialog.onclick = ({ target }) => target === dialog && dialog.close() // beside the box
  dialog.oncancel = () => {
    dialog.returnValue = ""
  }
  dialog.onclose = () => {
    if (dialog.returnValue !== "followed") rewriteAddress(null)
    dialog.returnValue = ""
  }
  input.oninput = () => {
    rewriteAddress(input.value)
    ask()
  }
  dialog.onkeydown = (event) => {
    event.stopPropagation() // no key of the page is meant
    if (event.key === "Escape") {
      event.preventDefault() // it would only clear the field
      dialog.close()
      return
    }
    const stops = [input, ...list.querySelectorAll("a")]
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) {
      event.preventDefault()
      stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus()
    } else if (event.key === "Enter" && event.target === input) list.querySelector("a")?.click()
  }

  const hearKey = (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event
    if (key !== "/" || ctrlKey || metaKey || altKey || dialog.open || typesInto(target) || !opener.checkVisibility())
      return
    event.preventDefault()
    open("")
  }
  const follow = () => {
    const asked = new URLSearchParams(location.search).get(KEY)
    if (asked !== null) open(asked)
    else if (dialog.open) dialog.close("followed")
  }
  if (/** @type {any} */ (window).searched !== null && !dialog.open) follow()
  window.addEventListener("keydown", hearKey)
  window.addEventListener("popstate", follow)
  return () => {
    window.removeEventListener("keydown", hearKey)
    window.removeEventListener("popstate", follow)
  }
}
