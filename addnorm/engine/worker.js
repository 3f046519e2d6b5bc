// The engine in a worker: trains runs in slices as far as the page wants their rows, and posts what the player receives.

import { Refusal } from "./config.js"
import { frameMessage, headerOf, stateOf } from "./feed.js"
import { useKernels } from "./products.js"
import { Run } from "./run.js"

const SLICE_MS = 30 // between two looks at what the page wants
const DEVICE = "trained in this browser"
const IN_BROWSER = "Trained in this browser. For a verdict on the run, train it on the app's server."

// One run and what the page has of it.
class Trained {
  constructor(number, link, given, post) {
    this.run = new Run(link, given.schema, given.data)
    this.pictures = given.pictures[this.run.cfg.task]
    this.post = (message) => post({ run: number, ...message })
    this.want = 0
    this.busy = 0 // milliseconds of training
    const opening = this.run.open()
    this.post(headerOf(this.run))
    this.post({ kind: "sentences", sentences: { verdict: [[0, IN_BROWSER]] } })
    this.tell([opening], 0)
    this.run.divergence = null // found again by training
  }

  get isBehind() {
    return !this.run.done && this.run.length < this.want
  }

  // Trains for a slice.
  advance() {
    const start = this.run.length
    const began = performance.now()
    const told = []
    while (this.isBehind && performance.now() - began < SLICE_MS) told.push(this.run.advance())
    this.busy += performance.now() - began
    this.tell(told, start)
  }

  // Frames first and rows last, as from a server.
  tell(told, start) {
    const frames = told.flatMap(({ events }) => events.filter(({ kind }) => kind === "frame"))
    if (frames.length)
      this.post({ kind: "frames", seed: 0, frames: frames.map(({ frame }) => frameMessage(frame, this.pictures)) })
    const rows = Float32Array.from(told.flatMap(({ row }) => [...row]))
    this.post({ kind: "rows", start, count: told.length, data: new Uint8Array(rows.buffer) })
    const rate = this.busy ? Number(((1000 * this.run.length) / this.busy).toPrecision(2)) : 0
    this.post(stateOf(this.run, DEVICE, rate))
  }
}

// Answers the page: "open" with the runs' links and what the engine needs, then "want" with the rows of each run.
export const serve = (port) => {
  let runs = []
  let isTraining = false
  const post = (message) => port.postMessage(message)

  const open = (given) => {
    useKernels(given.kernels)
    runs = given.links.map((link, number) => {
      try {
        return new Trained(number, link, given, post)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        post({ kind: "state", run: number, done: false, outcomes: [], device: "", rate: 0, error: error.message })
        return null
      }
    })
  }

  const train = () => {
    for (const run of runs) if (run?.isBehind) run.advance()
    isTraining = runs.some((run) => run?.isBehind)
    if (isTraining) setTimeout(train, 0)
  }

  port.onmessage = ({ data }) => {
    if (data.kind === "open") open(data)
    for (const [number, want] of data.wants.entries()) if (runs[number]) runs[number].want = want
    if (!isTraining) train()
  }
}
