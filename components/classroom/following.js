// Runs the page again when its class is shown something else, and writes the class's numbers, which come over a
// connection of its own. On a projector, handles the keys that lead the class.

const FIRST_RETRY_MS = 1000 // after a lost connection; doubles up to MAX_RETRY_MS
const MAX_RETRY_MS = 10_000 // also how long the connection outlives its page
const SECOND_MS = 1000
const REPEAT_MS = 3000 // until the page is asked again for a version that it does not show yet
const ACTIONS = { v: "reveal", n: "next", pagedown: "next", b: "back", pageup: "back", t: "train" } // by key, in lower case
const JOIN_KEY = "q" // shows and hides the way to join, large
const FIELD = "input, textarea, select, [contenteditable]:not([contenteditable=false]), [role=combobox], [role=listbox]"

const streamlitScript = [...document.scripts].find((script) => script.src.includes("/static/js/index."))
const address = new URL("class", streamlitScript ? new URL("../../", streamlitScript.src) : document.baseURI)
address.protocol = address.protocol.replace("http", "ws")

let page // declared last: { data, fire, requestedVersion, requestedAt }
let socket
let identity // class and ticket of the connection
let news // the last message
let retryMs = FIRST_RETRY_MS

// Writes the class's numbers wherever the page has a place for them.
const writeNumbers = () => {
  if (news?.attendance === undefined) return
  document.documentElement.classList.toggle("class-joined", news.here > 0)
  for (const place of document.querySelectorAll(".class-numbers"))
    if (place.textContent !== news.attendance) place.textContent = news.attendance
  for (const [index, bars] of (news.guesses ?? []).entries()) {
    /** @type {HTMLElement | null} */
    const list = document.querySelector(`.class-bars[data-question="${index + 1}"]`)
    const total = bars.reduce((sum, [, count]) => sum + count, 0)
    list?.style.setProperty("--all", `${Math.max(1, total)}`)
    list?.replaceChildren(...bars.map(drawnBar))
  }
}

// The bar of an option or of numbers; nothing that a student has sent is read as HTML.
const drawnBar = ([label, count]) => {
  const bar = document.createElement("li")
  const number = document.createElement("b")
  bar.style.setProperty("--count", count)
  number.textContent = count
  bar.append(`${label}: `, number)
  return bar
}

// Writes how long the stop has been shown, beside the minutes that the plan gives it.
const writeClock = () => {
  /** @type {HTMLElement | null} */
  const clock = document.querySelector(".class-clock")
  if (!clock) return
  const seconds = Math.floor(page.data.seconds + (performance.now() - page.receivedAt) / 1000)
  const planned = Number(clock.dataset.minutes)
  clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}${planned ? ` of ${planned} min` : ""}`
  clock.classList.toggle("over", planned > 0 && seconds > 60 * planned)
}

const update = () => {
  writeNumbers()
  if (news === undefined || news.version === page.data.version) return
  if (page.requestedVersion === news.version && performance.now() - page.requestedAt < REPEAT_MS) return
  page.requestedVersion = news.version
  page.requestedAt = performance.now()
  page.fire("moved", news.version)
}

const connect = () => {
  const { code, ticket } = page.data
  address.searchParams.set("class", code) // for a proxy that routes a class to one replica
  const opened = new WebSocket(address)
  socket = opened
  identity = `${code} ${ticket}`
  opened.onopen = () => opened.send(JSON.stringify({ class: code, ticket }))
  opened.onmessage = ({ data }) => {
    news = JSON.parse(data)
    retryMs = FIRST_RETRY_MS
    update()
  }
  opened.onclose = ({ code: closeCode }) => {
    if (socket !== opened) return
    if (closeCode === 1008) page.fire("moved", -1) // the ticket is too old: a new run of the page brings another
    setTimeout(() => socket === opened && connect(), retryMs * (0.5 + Math.random()))
    retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)
  }
}

const onKeydown = (event) => {
  const key = event.key?.toLowerCase() // undefined where a browser fills in a field
  const action = page && ACTIONS[key]
  const overlay = page && key === JOIN_KEY && document.querySelector(".class-over")
  const focused = event.composedPath()[0]
  if (!(action || overlay) || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return
  if (!(focused instanceof Element) || focused.closest(FIELD)) return
  if (action && !page.data.keys) {
    document.querySelector(".class-keyless")?.removeAttribute("hidden") // says why nothing happens
    return
  }
  event.preventDefault()
  event.stopImmediatePropagation() // else Streamlit would take some of them
  if (overlay) overlay.classList.toggle("shown")
  else page.fire("pressed", action)
}
window.addEventListener("keydown", onKeydown, true)
document.documentElement.classList.add("class-listens")
setInterval(() => page && update(), REPEAT_MS)
setInterval(() => page && writeClock(), SECOND_MS)

export default ({ data, setTriggerValue }) => {
  page = { ...page, data, fire: setTriggerValue, receivedAt: performance.now() }
  if (!socket || identity !== `${data.code} ${data.ticket}`) {
    const previous = socket
    if (identity?.split(" ")[0] !== data.code) news = undefined
    connect()
    previous?.close()
  }
  update()
  writeClock()
  return () => {
    // The next page of the class declares itself at once; without one, the visit has left the class.
    const removed = page
    setTimeout(() => {
      if (page !== removed) return
      page = undefined
      const closing = socket
      socket = undefined
      closing?.close()
    }, MAX_RETRY_MS)
  }
}
