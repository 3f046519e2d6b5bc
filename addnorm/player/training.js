// Trains the runs of a page in this browser: an engine in a worker delivers what a server would send of them.

import { fromBase64 } from "./connection.js"

const NO_ENGINE = "what trains in a browser could not be loaded"
const NO_WORKER = "this browser does not let the page train: it allows no workers here"

export class BrowserTrainer {
  // `load` promises the worker's script, and what it needs; see components/player/engine.py. `reworded`: of a message and
  // the link of its run.
  constructor(load, onChange, reworded = (message, _link) => message) {
    this.load = load
    this.onChange = onChange
    this.reworded = reworded
    this.problem = "" // why nothing is trained
    this.logs = []
    this.wants = []
    this.address = "" // of the worker's script
  }

  // Trains these logs, each as far as wanted; while the tab is hidden, not at all.
  request(logs, wants) {
    const isSame = logs.length === this.logs.length && logs.every((log, number) => log === this.logs[number])
    const asked = wants.map((want) => (document.hidden ? 0 : want))
    if (isSame && String(asked) === String(this.wants)) return
    this.wants = asked
    if (isSame) this.worker?.postMessage({ kind: "want", wants: asked })
    else this.open(logs)
  }

  async open(logs) {
    this.close()
    this.logs = logs
    this.problem = ""
    if (!logs.length) return
    const loaded = await this.load().catch(() => null) // from the browser's cache, but for the first time
    if (logs !== this.logs) return // the page shows others by now
    if (!loaded) return this.fail(NO_ENGINE)
    const { script, kernels, ...given } = loaded
    try {
      this.address ||= URL.createObjectURL(new Blob([script], { type: "text/javascript" }))
      const worker = (this.worker = new Worker(this.address))
      worker.onmessage = ({ data }) => worker === this.worker && this.receive(data)
      worker.onerror = ({ message }) => worker === this.worker && this.fail(message || NO_WORKER)
      const links = logs.map(({ link }) => Object.fromEntries(new URLSearchParams(link)))
      worker.postMessage({ kind: "open", links, wants: this.wants, kernels: fromBase64(kernels), ...given })
    } catch {
      this.fail(NO_WORKER)
    }
  }

  receive(message) {
    const log = this.logs[message.run]
    if (message.kind === "header") log.sentences = Object.create(null) // the server's, of the net before training
    log.receive(this.reworded(message, log.link))
    this.onChange()
  }

  fail(sentence) {
    this.problem = sentence
    this.onChange()
  }

  close() {
    this.worker?.terminate()
    this.worker = undefined
    this.logs = []
  }
}
