// What this browser remembers of its visitor, in one item of its storage, and the line that names the tour's next step.

const [ITEM, VERSION, OFF] = ["addnorm", 1, "tour.off"]

const read = () => {
  try {
    const { version, entries } = JSON.parse(localStorage.getItem(ITEM))
    return version === VERSION && entries ? { ...entries } : {}
  } catch {
    return {} // nothing yet, not ours, or denied
  }
}

const own = {} // what this page has kept, also where storage is denied
const keep = (entries, { most, longest }) => {
  const changed = Object.entries(entries).filter(([name, value]) => JSON.stringify(own[name]) !== JSON.stringify(value))
  if (!changed.length) return
  Object.assign(own, Object.fromEntries(changed))
  const all = { ...read(), ...Object.fromEntries(changed) }
  const text = JSON.stringify({ version: VERSION, entries: all })
  if (Object.keys(all).length > most || text.length > longest) return
  try {
    localStorage.setItem(ITEM, text)
  } catch {} // denied, or full
}

const returned = Object.keys(read()).some((name) => name.startsWith("tour."))
let first // the step with whose page this visit began

// The first step that is not done, after the one of the page or else before it.
const next = ({ at, steps }, kept) => {
  const open = [...steps.keys()].filter((step) => step !== at && !kept[steps[step].entry])
  return open.find((step) => step > at) ?? open[0]
}

// A pattern with what stands for each {}.
const filled = (pattern, ...parts) => parts.reduce((text, part) => text.replace("{}", () => String(part)), pattern)

export default ({ data, parentElement, setTriggerValue }) => {
  keep(data.entries, data)
  const kept = { ...read(), ...own }
  if (data.asks && Object.keys(kept).length) setTriggerValue("kept", kept)
  const line = parentElement.querySelector(".tour")
  const { tour } = data
  const step = tour && !kept[OFF] ? next(tour, kept) : undefined
  line.hidden = step === undefined
  if (line.hidden) return
  first ??= tour.at
  const [where, link, button] = line.children
  const { does, href } = tour.steps[step]
  const { words } = tour
  where.textContent = filled(words[tour.at ? "where" : "first"], tour.at + 1, tour.steps.length)
  link.textContent = filled(words[returned && tour.at === first ? "again" : "next"], does)
  link.href = href
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return // the browser's: a tab, a window
    event.preventDefault()
    setTriggerValue("go", tour.names[step])
  }
  button.textContent = "×"
  button.setAttribute("aria-label", words.leave)
  button.onclick = () => {
    keep({ [OFF]: true }, data)
    line.hidden = true
  }
}
