// Draws an SVG; groups with data-box are buttons, of which the chosen are pressed.

export default ({ data, parentElement, setTriggerValue }) => {
  const place = parentElement.querySelector(".diagram-place")
  // What is drawn stays: a new button would not have the focus.
  if (place.drawn !== data.svg) {
    place.innerHTML = data.svg
    place.drawn = data.svg
  }
  for (const box of place.querySelectorAll("[data-box]")) {
    const touch = (event) => {
      event.preventDefault()
      setTriggerValue("touched", box.dataset.box)
    }
    box.setAttribute("aria-pressed", String(box.dataset.box === data.chosen))
    box.onclick = touch
    box.onkeydown = (event) => {
      if (event.key === "Enter" || event.key === " ") touch(event)
    }
  }
}
