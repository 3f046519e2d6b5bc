// The stack as a row of buttons.

export default ({ data, parentElement, setTriggerValue }) => {
  const row = parentElement.querySelector(".stack-row")
  // Buttons are kept: a replaced one would lose keyboard focus.
  while (row.children.length > data.blocks.length) row.lastChild.remove()
  data.blocks.forEach((b, at) => {
    const button = row.children[at] ?? row.appendChild(document.createElement("button"))
    button.type = "button"
    button.textContent = b.name
    button.title = b.says
    button.setAttribute("aria-label", b.says)
    button.setAttribute("aria-pressed", String(b.number === data.chosen))
    button.className = b.kind
    button.onclick = () => setTriggerValue("block", b.number)
  })
}
