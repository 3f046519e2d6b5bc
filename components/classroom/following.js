// Hears over a connection of its own that the class is shown something else, and has the page run again, and what the class
// has answered; on a projector, the keys that lead the class.

const [SOON, LATE] = [1000, 10_000] // milliseconds before a lost connection is tried again, first and at most
const AGAIN = 3000 // before the page is asked again to show what it does not show yet
const KEYS = { v: "reveal", V: "reveal", n: "next", N: "next", PageDown: "next", b: "back", B: "back", PageUp: "back" }
const CODE = ["q", "Q"] // shows and hides the way to join, large
const FIELD = "input, textarea, select, [contenteditable]:not([contenteditable=false]), [role=combobox], [role=listbox]"

const own = [...document.scripts].find((script) => script.src.includes("/static/js/index."))
const address = new URL("class", own ? new URL("../../", own.src) : document.baseURI)
address.protocol = address.protocol.replace("http", "ws")

let page // the last that was declared: { data, fire }
let socket
let greeted // the class and the ticket of the connection
let told // what it has said last
let wait = SOON

// The numbers of the class, wherever the page has a place for them.
const write = () => {
  if (told?.said === undefined) return
  document.documentElement.classList.toggle("class-joined", told.here > 0)
  for (const place of document.querySelectorAll(".class-numbers"))
    if (place.textContent !== told.said) place.textContent = told.said
  for (const [question, counts] of Object.entries(told.guesses ?? {})) {
    /** @type {any} */
    const list = document.querySelector(`.class-bars[data-question="${question}"]`)
    list?.style.setProperty(
      "--all",
      Math.max(
        1,
        counts.reduce((sum, count) => sum + count, 0),
      ),
    )
    for (const [at, bar] of [...(list?.children ?? [])].entries()) {
      bar.style.setProperty("--count", counts[at])
      bar.querySelector("b").textContent = counts[at]
    }
  }
}

const look = () => {
  write()
  if (told === undefined || told.version === page.data.version) return
  if (page.asked === told.version && performance.now() - page.askedAt < AGAIN) return
  page.asked = told.version
  page.askedAt = performance.now()
  page.fire("moved", told.version)
}

const connect = () => {
  const { code, ticket } = page.data
  address.searchParams.set("class", code) // for a proxy that seats a class together
  const mine = new WebSocket(address)
  socket = mine
  greeted = `${code} ${ticket}`
  mine.onopen = () => mine.send(JSON.stringify({ class: code, ticket }))
  mine.onmessage = ({ data }) => {
    told = JSON.parse(data)
    wait = SOON
    look()
  }
  mine.onclose = ({ code }) => {
    if (socket !== mine) return
    if (code === 1008) page.fire("moved", -1) // the ticket is too old: the page has another
    setTimeout(() => socket === mine && connect(), wait * (0.5 + Math.random()))
    wait = Math.min(2 * wait, LATE)
  }
}

const pressed = (event) => {
  const what = page?.data.keys && KEYS[event.key]
  const code = page && CODE.includes(event.key) && document.querySelector(".class-over")
  const focused = event.composedPath()[0]
  if (!(what || code) || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return
  if (!(focused instanceof Element) || focused.closest(FIELD)) return
  event.preventDefault()
  event.stopImmediatePropagation() // else Streamlit would take some of them
  if (code) code.classList.toggle("shown")
  else page.fire("pressed", what)
}
window.addEventListener("keydown", pressed, true)
setInterval(() => page && look(), AGAIN)

export default ({ data, setTriggerValue }) => {
  page = { ...page, data, fire: setTriggerValue }
  if (!socket || greeted !== `${data.code} ${data.ticket}`) {
    const before = socket
    if (greeted?.split(" ")[0] !== data.code) told = undefined
    connect()
    before?.close()
  }
  look()
  return () => {
    // Another page declares it again at once; whoever leaves the class does not.
    const left = page
    setTimeout(() => {
      if (page !== left) return
      page = undefined
      const last = socket
      socket = undefined
      last?.close()
    }, LATE)
  }
}
