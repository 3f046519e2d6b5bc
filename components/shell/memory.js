// The memory of this browser, one item of its storage, and the line that names the tour's next step. Where the storage
// is denied, as in some frames and without cookies, the name of the tab has the item, and outlives a reload.

const ITEM = "addnorm"
const VERSION = 1
const OFF = "tour.off" // entry: the visitor has left the tour

const isDenied = (() => {
  try {
    return !localStorage
  } catch {
    return true
  }
})()
document.documentElement.classList.toggle("keeps-nothing", isDenied)
const stored = () => (isDenied ? window.name : localStorage.getItem(ITEM))

const { classKey } = /** @type {any} */ (window) // the address brought it to a projector, see `history.js`
const brought = classKey ? { "class.key": classKey } : {}

const read = () => {
  try {
    const { version, entries } = JSON.parse(stored())
    return version === VERSION && entries ? { ...entries } : {}
  } catch {
    return {} // nothing yet, of another version, or of another page
  }
}

const pageEntries = {} // entries that this page has stored, also while storage is denied
const store = (entries, { maxEntries, maxCharacters }) => {
  const isNew = ([name, value]) => JSON.stringify(pageEntries[name]) !== JSON.stringify(value)
  const changed = Object.fromEntries(Object.entries(entries).filter(isNew))
  if (!Object.keys(changed).length) return
  Object.assign(pageEntries, changed)
  const all = { ...read(), ...changed }
  const text = JSON.stringify({ version: VERSION, entries: all })
  if (Object.keys(all).length > maxEntries || text.length > maxCharacters) return
  try {
    if (!isDenied) localStorage.setItem(ITEM, text)
    else if (!window.name || Object.keys(read()).length) window.name = text // no name that the page around it gave
  } catch {} // full
}

const hasReturned = Object.keys(read()).some((name) => name.startsWith("tour."))
let firstStep // of this visit

// The next step that is not done: after the page's own, else before it.
const nextStep = ({ at, steps }, entries) => {
  const open = [...steps.keys()].filter((step) => step !== at && !entries[steps[step].entry])
  return open.find((step) => step > at) ?? open[0]
}

// A pattern with a value in place of each {}.
const filled = (pattern, ...values) => values.reduce((text, value) => text.replace("{}", () => String(value)), pattern)

export default ({ data, parentElement, setTriggerValue }) => {
  store(isDenied ? { ...data.entries, ...brought } : data.entries, data)
  const known = { ...brought, ...read(), ...pageEntries }
  store(Object.fromEntries(Object.entries(data.offers).filter(([name]) => !(name in known))), data)
  const entries = { ...data.offers, ...known }
  const isOther = Object.entries(data.offers).some(([name, value]) => entries[name] !== value)
  if (isOther || (data.asks && Object.keys(entries).length)) setTriggerValue("kept", entries)
  const line = parentElement.querySelector(".tour")
  const { tour } = data
  const step = tour && !entries[OFF] ? nextStep(tour, entries) : undefined
  const isDone = tour && !entries[OFF] && tour.steps.every(({ entry }) => entries[entry])
  line.hidden = step === undefined && !isDone
  if (line.hidden) return
  firstStep ??= tour.at
  const [position, link, button] = line.children
  button.textContent = "×"
  button.setAttribute("aria-label", tour.words.leave)
  button.onclick = () => {
    store({ [OFF]: true }, data)
    line.hidden = true
  }
  link.hidden = isDone
  line.classList.toggle("done", isDone)
  if (isDone) {
    position.textContent = tour.words.done
    return
  }
  const { does, href } = tour.steps[step]
  const { words } = tour
  const task = tour.steps[tour.at].does
  position.textContent = filled(words[tour.at ? "where" : "first"], tour.at + 1, tour.steps.length, task)
  link.textContent = filled(words[hasReturned && tour.at === firstStep ? "again" : "next"], does)
  link.href = href
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return // the browser opens a tab or window
    event.preventDefault()
    setTriggerValue("go", tour.names[step])
    const { pathname, searchParams } = new URL(link.href)
    const part = searchParams.get("part")
    if (pathname !== location.pathname) return
    if (part) /** @type {any} */ (window).showPart(part)
    else document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0)
  }
}
