// Drop zones for files, which are read in the browser and never sent to the server.

import { made } from "./dom.js"
import { RunLog } from "./runlog.js"

const WORDS = "A recording (.jsonl) is read in this browser; it is not sent to the server."
const LARGEST_FILE = 2 ** 32 // bytes
const PIECE = 2 ** 20 // bytes that are read at once
const dropped = new Map() // by the log's number on the page, until the tab leaves the app

// The log of the file that was dropped on a zone before.
export const droppedLog = (number) => dropped.get(number)

// Reads a file of the visitor's, in the browser only. `read`: called with the log after every piece.
const readFile = async (file, read) => {
  const log = new RunLog({ link: "dropped", recording: null, name: file.name })
  const { decoder } = log
  const readAll = async () => {
    if (file.size >= LARGEST_FILE) {
      decoder.problem = "The file is larger than a recording can be."
      return
    }
    for (let at = 0; at < file.size && !decoder.problem; at += PIECE) {
      decoder.feed(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()))
      read(log)
    }
    decoder.finish()
  }
  await readAll().catch((error) => {
    decoder.problem = `The file cannot be read: ${error.message}.`
  })
  decoder.updateState()
  read(log)
}

export class Drop {
  // `read`: called with the number of a log and the log, repeatedly while it is read.
  constructor(root, read) {
    this.el = root.querySelector(".player-drops")
    this.read = read
  }

  // `numbers`: of the logs that are files of the visitor's.
  declare(numbers) {
    const text = numbers.join()
    if (this.text === text) return
    this.text = text
    this.el.replaceChildren()
    for (const [at, number] of numbers.entries()) this.zone(number, at ? "Second file" : "File")
  }

  zone(number, name) {
    const zone = made(this.el, "label", "player-drop")
    const title = made(zone, "strong")
    const input = made(zone, "input")
    title.textContent = `${name}: drop it here, or choose it`
    zone.append(WORDS)
    Object.assign(input, { type: "file", accept: ".jsonl" })
    input.setAttribute("aria-label", name)
    const take = (file) =>
      file &&
      readFile(file, (log) => {
        dropped.set(number, log)
        this.read(number, log)
      })
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
  }
}
