// The stack as a row of buttons.

export default ({ data, parentElement, setTriggerValue }) => {
  const row = parentElement.querySelector(".stack-row")
  // Reuses buttons, because a new one would lose the keyboard's focus.
  while (row.children.length > data.blocks.length) row.lastChild.remove()
  data.blocks.forEach((block, index) => {
    const button = row.children[index] ?? row.appendChild(document.createElement("button"))
    button.type = "button"
    button.textContent = block.name
    button.title = block.says
    button.setAttribute("aria-label", block.says)
    button.setAttribute("aria-pressed", String(block.number === data.chosen))
    button.className = block.kind
    button.onclick = () => setTriggerValue("block", block.number)
  })
}
