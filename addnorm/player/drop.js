// Drop zones for recordings: the browser reads the files itself and sends nothing to the server.

import { appendElement } from "./dom.js"
import { RunLog } from "./runlog.js"

const PRIVACY_NOTE = "A recording (.jsonl) is read in this browser; it is not sent to the server."
const MAX_FILE_BYTES = 2 ** 32
const PIECE_BYTES = 2 ** 20 // read and decoded at a time
const droppedLogs = new Map() // by run number; they last until the tab leaves the app

export const droppedLog = (runNumber) => droppedLogs.get(runNumber)

// Reads a file; calls `onPiece` with its log after every piece.
const readFile = async (file, onPiece) => {
  const log = new RunLog({ link: "dropped", recording: null, name: file.name })
  const { decoder } = log
  const readAll = async () => {
    if (file.size >= MAX_FILE_BYTES) {
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
  // Calls `onPiece(runNumber, log)` after every piece of a dropped file.
  constructor(root, onPiece) {
    this.el = root.querySelector(".player-drops")
    this.onPiece = onPiece
  }

  // `runNumbers`: positions, among the page's runs, of those that the visitor drops as files.
  declare(runNumbers) {
    const text = runNumbers.join()
    if (this.text === text) return
    this.text = text
    this.el.replaceChildren()
    for (const [position, runNumber] of runNumbers.entries()) this.addZone(runNumber, position ? "Second file" : "File")
  }

  addZone(runNumber, name) {
    const zone = appendElement(this.el, "label", "player-drop")
    const title = appendElement(zone, "strong")
    const input = appendElement(zone, "input")
    title.textContent = `${name}: drop it here, or choose it`
    zone.append(PRIVACY_NOTE)
    Object.assign(input, { type: "file", accept: ".jsonl" })
    input.setAttribute("aria-label", name)
    const readDropped = (file) => {
      if (!file) return
      readFile(file, (log) => {
        droppedLogs.set(runNumber, log)
        this.onPiece(runNumber, log)
      })
    }
    input.onchange = () => readDropped(input.files[0])
    zone.ondragover = (event) => {
      event.preventDefault()
      zone.classList.add("over")
    }
    zone.ondragleave = () => zone.classList.remove("over")
    zone.ondrop = (event) => {
      event.preventDefault()
      zone.classList.remove("over")
      readDropped(event.dataTransfer.files[0])
    }
  }
}
