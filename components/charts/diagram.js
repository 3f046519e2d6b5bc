// Draws an SVG whose groups with data-box are buttons; the chosen one is pressed.

export default ({ data, parentElement, setTriggerValue }) => {
  const place = parentElement.querySelector(".diagram-place")
  // An unchanged SVG is not drawn again, so that its buttons keep the focus.
  if (place.svg !== data.svg) {
    place.innerHTML = data.svg
    place.svg = data.svg
  }
  for (const box of place.querySelectorAll("[data-box]")) {
    const press = (event) => {
      event.preventDefault()
      setTriggerValue("touched", box.dataset.box)
    }
    box.setAttribute("aria-pressed", String(box.dataset.box === data.chosen))
    box.onclick = press
    box.onkeydown = (event) => {
      if (event.key === "Enter" || event.key === " ") press(event)
    }
  }
}
