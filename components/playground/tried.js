// The nets of a visit: a button with a small profile for each, which lays it over the present run, and one that loads it.

const SVG = "http://www.w3.org/2000/svg"
const TRACKS = ["signal", "gradient"]

const newNet = () => {
  const item = document.createElement("li")
  const over = item.appendChild(document.createElement("button"))
  const picture = over.appendChild(document.createElementNS(SVG, "svg"))
  picture.setAttribute("aria-hidden", "true")
  for (const track of TRACKS) picture.appendChild(document.createElementNS(SVG, "path")).classList.add(track)
  over.append(document.createElement("span"), document.createElement("small"))
  item.appendChild(document.createElement("button")).className = "load"
  return item
}

export default ({ data, parentElement, setTriggerValue }) => {
  const group = parentElement.querySelector(".tried")
  const [title, list, note] = group.children
  group.setAttribute("aria-label", data.label)
  title.replaceChildren(Object.assign(document.createElement("b"), { textContent: data.label }), ` ${data.hint}`)
  note.textContent = data.note
  // Reuses the buttons, so that the focus stays.
  while (list.children.length > data.nets.length) list.lastChild.remove()
  data.nets.forEach((net, index) => {
    const item = list.children[index] ?? list.appendChild(newNet())
    const [over, load] = item.children
    const [picture, text, step] = over.children
    picture.setAttribute("viewBox", `0 0 ${data.size.join(" ")}`)
    TRACKS.forEach((track, at) => {
      picture.children[at].setAttribute("d", net[track])
      picture.children[at].setAttribute("stroke", data.hues[at])
    })
    text.textContent = net.text
    step.textContent = net.step
    over.type = load.type = "button"
    over.setAttribute("aria-pressed", String(net.pressed))
    over.setAttribute("aria-disabled", String(Boolean(net.unfit)))
    over.title = [net.text, net.unfit, net.says].filter(Boolean).join(". ")
    over.setAttribute("aria-label", `${net.text}, ${net.step}`)
    over.onclick = () => net.unfit || setTriggerValue("over", net.key)
    load.textContent = data.load
    load.setAttribute("aria-label", `${data.load} ${net.text}`)
    load.onclick = () => setTriggerValue("load", net.key)
  })
}
