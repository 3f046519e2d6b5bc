// Drop zones for recordings: the browser reads the files itself and sends nothing to the server.

import { appendElement } from "./dom.js"
import { RunLog } from "./runlog.js"

const WORDS = "A recording (.jsonl) is read in this browser; it is not sent to the server."
const LARGEST_FILE = 2 ** 32 // bytes
const PIECE_BYTES = 2 ** 20 // read at once
const droppedLogs = new Map() // by the number of the zone, until the tab leaves the app

export const droppedLog = (number) => droppedLogs.get(number)

// Reads a file; calls `onPiece` with its log after every piece.
const readFile = async (file, onPiece) => {
  const log = new RunLog({ link: "dropped", recording: null, name: file.name })
  const { decoder } = log
  const readAll = async () => {
    if (file.size >= LARGEST_FILE) {
      decoder.problem = "The file is larger than a recording can be."
      return
    }
    for (let start = 0; start < file.size && !decoder.problem; start += PIECE_BYTES) {
      decoder.feed(new Uint8Array(await file.slice(start, start + PIECE_BYTES).arrayBuffer()))
      onPiece(log)
    }
    decoder.finish()
  }
  await readAll().catch((error) => {
    decoder.problem = `The file cannot be read: ${error.message}.`
  })
  decoder.updateState()
  onPiece(log)
}

export class Drop {
  // Calls `onPiece(number, log)` after every piece of a file dropped on zone `number`.
  constructor(root, onPiece) {
    this.el = root.querySelector(".player-drops")
    this.onPiece = onPiece
  }

  // `numbers`: the indices on the page of the logs that are files of the visitor.
  declare(numbers) {
    const text = numbers.join()
    if (this.text === text) return
    this.text = text
    this.el.replaceChildren()
    for (const [index, number] of numbers.entries()) this.addZone(number, index ? "Second file" : "File")
  }

  addZone(number, name) {
    const zone = appendElement(this.el, "label", "player-drop")
    const title = appendElement(zone, "strong")
    const input = appendElement(zone, "input")
    title.textContent = `${name}: drop it here, or choose it`
    zone.append(WORDS)
    Object.assign(input, { type: "file", accept: ".jsonl" })
    input.setAttribute("aria-label", name)
    const take = (file) =>
      file &&
      readFile(file, (log) => {
        droppedLogs.set(number, log)
        this.onPiece(number, log)
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
