// The memory of this browser, one item of its storage, and the line that names the tour's next step.

const ITEM = "addnorm"
const VERSION = 1
const OFF = "tour.off" // entry: the visitor has left the tour

const read = () => {
  try {
    const { version, entries } = JSON.parse(localStorage.getItem(ITEM))
    return version === VERSION && entries ? { ...entries } : {}
  } catch {
    return {} // nothing yet, of another version, or denied
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
    localStorage.setItem(ITEM, text)
  } catch {} // denied, or full
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
  store(data.entries, data)
  const entries = { ...read(), ...pageEntries }
  if (data.asks && Object.keys(entries).length) setTriggerValue("kept", entries)
  const line = parentElement.querySelector(".tour")
  const { tour } = data
  const step = tour && !entries[OFF] ? nextStep(tour, entries) : undefined
  line.hidden = step === undefined
  if (line.hidden) return
  firstStep ??= tour.at
  const [position, link, button] = line.children
  const { does, href } = tour.steps[step]
  const { words } = tour
  position.textContent = filled(words[tour.at ? "where" : "first"], tour.at + 1, tour.steps.length)
  link.textContent = filled(words[hasReturned && tour.at === firstStep ? "again" : "next"], does)
  link.href = href
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return // the browser opens a tab or window
    event.preventDefault()
    setTriggerValue("go", tour.names[step])
  }
  button.textContent = "×"
  button.setAttribute("aria-label", words.leave)
  button.onclick = () => {
    store({ [OFF]: true }, data)
    line.hidden = true
  }
}
