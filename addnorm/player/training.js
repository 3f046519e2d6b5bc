// The connection of a page that trains its own runs: an engine in a worker delivers what a server would send.

import { fromBase64 } from "./connection.js"

const NO_WORKER = "this browser does not let the page train: it allows no workers here"

export class TrainingConnection {
  // `engine`: the worker's script, and what it needs; see components/player/engine.py.
  constructor({ script, kernels, ...given }, onChange) {
    this.given = { ...given, kernels: fromBase64(kernels) }
    this.onChange = onChange
    this.connected = true
    this.isHere = true
    this.trainer = null
    this.refusal = ""
    this.script = URL.createObjectURL(new Blob([script], { type: "text/javascript" }))
  }

  // Starts a worker for these logs: nothing that one still sends of others may be taken for theirs.
  hello(_ticket, logs, { wants }) {
    this.close()
    this.logs = logs
    this.wants = wants
    try {
      this.worker = new Worker(this.script)
      this.worker.onmessage = ({ data }) => this.receive(data)
      this.worker.onerror = (event) => this.fail(event.message || NO_WORKER)
    } catch {
      return this.fail(NO_WORKER)
    }
    const links = logs.map(({ link }) => Object.fromEntries(new URLSearchParams(link)))
    this.worker.postMessage({ kind: "open", links, wants, ...this.given })
  }

  request({ wants }) {
    if (String(wants) === String(this.wants)) return
    this.wants = wants
    this.worker?.postMessage({ kind: "want", wants })
  }

  stopRequests() {
    this.request({ wants: this.logs.map(() => 0) })
  }

  sendRequest() {}

  // A drawing's net is known here at once; see Connection.
  ask() {}

  close() {
    this.worker?.terminate()
  }

  receive(message) {
    this.logs[message.run].receive(message)
    this.onChange()
  }

  fail(sentence) {
    this.trainer = { sentence }
    this.onChange()
  }
}
