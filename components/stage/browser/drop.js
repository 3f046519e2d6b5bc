// Where a page takes files: each is read here, and the server is not given it.

import { readFile } from "./recording.js"

const WORDS = "A recording (.jsonl) is read in this browser; it is not sent to the server."
const dropped = new Map() // by the tape's place on the page, for as long as the browser's tab shows the app

// The file that was dropped into a place before.
export const kept = (place) => dropped.get(place)

export class Drop {
  // `came`: is given the place and the tape, again and again while it is read.
  constructor(root, came) {
    this.el = root.querySelector(".stage-drops")
    this.came = came
  }

  // `places`: those of the tapes that are files of the visitor's.
  declare(places) {
    const text = places.join()
    if (this.text === text) return
    this.text = text
    this.el.replaceChildren(...places.map((place, at) => this.zone(place, at ? "Second file" : "File")))
  }

  zone(place, name) {
    const zone = document.createElement("label")
    zone.className = "stage-drop"
    const title = zone.appendChild(document.createElement("strong"))
    const input = zone.appendChild(document.createElement("input"))
    title.textContent = `${name}: drop it here, or choose it`
    zone.append(WORDS)
    Object.assign(input, { type: "file", accept: ".jsonl" })
    input.setAttribute("aria-label", name)
    const take = (file) => file && readFile(file, (tape) => this.take(place, tape))
    input.onchange = () => take(input.files[0])
    zone.ondragover = (event) => {
      event.preventDefault()
      zone.classList.add("over")
    }
    zone.ondragleave = () => zone.classList.remove("over")
    zone.ondrop = (event) => {
      event.preventDefault()
      zone.classList.remove("over")
      take(event.dataTransfer.files[0])
    }
    return zone
  }

  take(place, tape) {
    dropped.set(place, tape)
    this.came(place, tape)
  }
}
