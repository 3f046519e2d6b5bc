// Cards as radio buttons: Tab leads to one of them, the arrow keys to the others.

const WAYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }

const PATIENCE = 5000 // milliseconds in which what a card opens is brought into sight, unless the visitor moves first
const OWN_WILL = ["wheel", "touchstart", "keydown", "pointerdown"]

let end // of bringing something into sight

// Scrolls to what a card has opened, under the key `opens`, and again while the page grows.
const bring = (opens, name) => {
  end?.()
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches
  const grown = new ResizeObserver(() => {
    const opened = document.querySelector(`.st-key-${opens}`)
    if (opened?.querySelector("h3")?.textContent.includes(name))
      opened.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" })
  })
  grown.observe(document.querySelector(".stMainBlockContainer > *"))
  const listening = new AbortController()
  end = () => {
    grown.disconnect()
    listening.abort()
  }
  setTimeout(end, PATIENCE)
  for (const kind of OWN_WILL) window.addEventListener(kind, end, { capture: true, signal: listening.signal })
}

const made = (card) => {
  for (const part of ["name", "mark", "text"]) {
    const el = card.appendChild(document.createElement("span"))
    el.className = `card-${part}`
  }
  return card
}

export default ({ data, parentElement, setTriggerValue }) => {
  const group = parentElement.querySelector(".cards")
  group.setAttribute("aria-label", data.label)
  group.classList.toggle("brief", data.brief)
  // Keeps the buttons: a new one would not have the focus.
  while (group.children.length > data.cards.length) group.lastChild.remove()
  data.cards.forEach(({ name, text, unfit, mark }, at) => {
    const card = group.children[at] ?? group.appendChild(made(document.createElement("button")))
    const on = name === data.chosen
    const [title, corner, about] = card.children
    const choose = () => {
      if (data.opens && !on) bring(data.opens, name)
      setTriggerValue("chosen", name)
    }
    Object.assign(card, { type: "button", disabled: Boolean(unfit), onclick: choose })
    card.setAttribute("role", "radio")
    card.setAttribute("aria-checked", String(on))
    card.setAttribute("aria-label", name)
    about.id = `${data.label} ${at}`.replace(/\W+/g, "-")
    card.setAttribute("aria-describedby", about.id)
    title.textContent = name
    corner.textContent = mark
    about.textContent = unfit || text
    card.title = data.brief ? about.textContent : ""
  })
  const open = [...group.children].filter((card) => !card.disabled)
  const first = open.find((card) => card.ariaChecked === "true") ?? open[0]
  for (const card of open) card.tabIndex = card === first ? 0 : -1
  group.onkeydown = (event) => {
    const way = WAYS[event.key]
    if (!way) return
    event.preventDefault()
    const next = open[(open.indexOf(document.activeElement) + way + open.length) % open.length]
    for (const card of open) card.tabIndex = card === next ? 0 : -1
    next.focus()
  }
}
