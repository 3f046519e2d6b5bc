// The controls of a net, made from what Python declares of each: a switch, choices, a slider or a number.

import { appendElement } from "../../addnorm/player/dom.js"

const inputOf = ({ name, types, choices, stops, control, low, high }) => {
  const el = document.createElement(choices ? "select" : "input")
  el.name = el.id = name
  if (choices) el.append(...choices.map((choice) => new Option(choice)))
  else if (types.includes("bool")) Object.assign(el, { type: "checkbox" }).setAttribute("role", "switch")
  else if (stops.length) Object.assign(el, { type: "range", min: 0, max: stops.length - 1 })
  else if (control === "slider") Object.assign(el, { type: "range", min: low, max: high })
  else Object.assign(el, { type: "text", inputMode: "decimal" }) // a number that is none is refused in words
  return el
}

export class Form {
  // Calls `changed(name, text)`, with the text as a link has it.
  constructor(place, controls, changed) {
    this.controls = controls.map((control) => {
      const row = appendElement(place, "div", "control")
      const label = appendElement(row, "label")
      label.htmlFor = control.name
      label.textContent = control.label
      const help = appendElement(row, "button", "help")
      Object.assign(help, { type: "button", textContent: "?", popoverTargetElement: appendElement(row, "p") })
      help.setAttribute("aria-label", `Help on ${control.label}`)
      Object.assign(help.popoverTargetElement, { popover: "auto", textContent: control.help })
      const input = row.appendChild(inputOf(control))
      const number = appendElement(row, "span")
      const textOf = () => {
        if (input.type === "checkbox") return String(input.checked)
        return control.stops.length ? String(control.stops[input.value]) : input.value
      }
      input.oninput = () => {
        if (input.type === "range") number.textContent = textOf()
      }
      input.onchange = () => changed(control.name, textOf())
      return { ...control, input, number }
    })
    place.onsubmit = (event) => event.preventDefault()
  }

  // Shows these settings; those in `fixed` cannot be changed now.
  show(settings, fixed) {
    for (const { name, input, number, stops } of this.controls) {
      const value = settings[name]
      if (input.type === "checkbox") input.checked = value
      else if (stops.length) input.value = stops.findLastIndex((stop) => stop <= value)
      else input.value = value
      number.textContent = input.type === "range" ? value : ""
      input.disabled = fixed.includes(name)
    }
  }
}
