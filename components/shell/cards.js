// Cards as radio buttons: Tab reaches one of them, the arrow keys the others.

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 } // to the next or the previous card

const newCard = () => {
  const card = document.createElement("button")
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
  // Reuses the buttons, so that the focus stays.
  while (group.children.length > data.cards.length) group.lastChild.remove()
  data.cards.forEach(({ name, text, unfit, mark }, index) => {
    const card = group.children[index] ?? group.appendChild(newCard())
    const isChosen = name === data.chosen
    const [title, corner, description] = card.children
    const choose = () => {
      if (data.opens && !isChosen) /** @type {any} */ (window).showPart(name)
      setTriggerValue("chosen", name)
    }
    Object.assign(card, { type: "button", disabled: Boolean(unfit), onclick: choose })
    card.setAttribute("role", "radio")
    card.setAttribute("aria-checked", String(isChosen))
    card.setAttribute("aria-label", name)
    description.id = `${data.label} ${index}`.replace(/\W+/g, "-")
    card.setAttribute("aria-describedby", description.id)
    title.textContent = name
    corner.textContent = mark
    description.textContent = unfit || text
    card.title = data.brief ? description.textContent : ""
  })
  const enabled = [...group.children].filter((card) => !card.disabled)
  const setTabStop = (tabStop) => {
    for (const card of enabled) card.tabIndex = card === tabStop ? 0 : -1
  }
  setTabStop(enabled.find((card) => card.ariaChecked === "true") ?? enabled[0])
  group.onkeydown = (event) => {
    const step = STEPS[event.key]
    if (!step) return
    event.preventDefault()
    const next = enabled[(enabled.indexOf(document.activeElement) + step + enabled.length) % enabled.length]
    setTabStop(next)
    next.focus()
  }
}
