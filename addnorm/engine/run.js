// A run: rows, frames and the divergence of one configuration, step by step, as models/training/run.py measures them.

import { blockName, configOf, frameSteps, learningRate } from "./config.js"
import { FrameTaker } from "./frames.js"
import { crossEntropy } from "./loss.js"
import { Net, rms } from "./net.js"
import { Optimiser } from "./optimisers.js"
import { room } from "./parameters.js"
import { sumOfSquares } from "./products.js"
import { generator } from "./random.js"
import { openTask } from "./tasks.js"

// Events of a run's log, as models/runlog.py writes them. Sentences are the app's: `said` only makes rows readable.
const frameEvent = (frame, draft) => ({ kind: "frame", seed: 0, frame, draft })
const saidEvent = (rows) => ({ kind: "said", rows, changes: {} })

const [LOSS, LR, GRAD_NORM, CLIP_FACTOR, SCALARS] = [0, 1, 2, 3, 4] // columns of a row

export class Run {
  // `link`: the run's settings as text; `data`: texts of data by task. Raises Refusal.
  constructor(link, schema, data) {
    const cfg = (this.cfg = configOf(link, schema))
    this.net = new Net(cfg, schema)
    this.task = openTask(cfg, schema, data)
    this.optimiser = new Optimiser(cfg, this.net.parameters)
    this.taker = new FrameTaker(cfg, this.net, this.task)
    this.frameSteps = frameSteps(cfg.steps)
    this.step = 0 // the number of updates so far
    this.isClosed = false
    this.divergence = null
    this.length = 0 // rows so far
  }

  batch(k) {
    return this.task.draw(this.cfg.batch, generator(this.cfg.seed, "batch", k))
  }

  get columns() {
    const branches = this.net.plan.sublayers.map(({ site }) => site)
    return { sites: ["x0", ...branches], branches, depth: this.cfg.depth }
  }

  get parameters() {
    return this.net.parameters.trained.reduce((sum, { value }) => sum + value.length, 0)
  }

  get done() {
    return this.isClosed || Boolean(this.divergence)
  }

  // Row 0 and the events of a run before training: `advance` measures both again.
  open() {
    const frame = this.taker.take(0)
    const row = this.measure(0, false)
    return { row, events: [frameEvent(frame, true), ...this.endingEvents(0, row), saidEvent(1)] }
  }

  // Measures row k and the frame of step k, then takes update k; the last row is measured after the last update.
  // Returns the row and the events that the run's log holds of it.
  advance() {
    const k = this.step
    const { steps } = this.cfg
    const frame = this.frameSteps.has(k) ? this.taker.take(k) : null
    const row = this.measure(k, k < steps)
    this.length++
    this.isClosed = k === steps
    if (k < steps) {
      const copies = frame && this.taker.copies()
      this.optimiser.step(k, learningRate(k, this.cfg))
      if (copies) frame.update_to_weight = this.taker.updateToWeight(copies)
      this.step++
    }
    const ending = this.endingEvents(k, row)
    const end = this.done ? [{ kind: "end" }] : []
    return { row, events: [...(frame ? [frameEvent(frame, false)] : []), ...ending, saidEvent(this.length), ...end] }
  }

  endingEvents(k, row) {
    if (row.every(Number.isFinite)) return []
    this.divergence = divergenceOf(k, row, this.columns)
    return [{ kind: "divergence", seed: 0, divergence: this.divergence }]
  }

  // Row k, with the gradients of all parameters clipped. `learns`: whether batch norm remembers the batch.
  measure(k, learns) {
    const { cfg, net } = this
    const { depth } = cfg
    const { x, y, n } = this.batch(k)
    const count = net.sublayers.length
    const row = new Float32Array(SCALARS + 2 * (count + 1) + count + depth)
    const logits = net.forward(x, n, { learns })
    this.logitGrad = room(this.logitGrad, n * net.classes)
    row[LOSS] = crossEntropy(logits, y, n, net.classes, this.logitGrad)
    row[LR] = k < cfg.steps ? learningRate(k, cfg) : 0
    const size = n * net.width
    row.set(
      net.stream.map((site) => rms(site, size)),
      SCALARS,
    )
    row.set(
      net.sublayers.map(({ branch }) => (branch ? rms(branch, size) : 0)),
      SCALARS + 2 * (count + 1),
    )
    row.set(net.backward(this.logitGrad, n), SCALARS + count + 1)
    const squares = new Float64Array(depth + 1) // of the gradients of each block's matrices, and at 0 of all others
    const counts = new Float64Array(depth + 1)
    for (const { block, grad } of net.parameters.trained) {
      squares[block] += sumOfSquares(grad)
      counts[block] += grad.length
    }
    const gradNorm = Math.sqrt(squares.reduce((sum, square) => sum + square, 0))
    const factor = cfg.clip ? Math.min(1, cfg.clip / (gradNorm + 1e-6)) : 1
    if (factor !== 1)
      for (const { grad } of net.parameters.trained) for (let i = 0; i < grad.length; i++) grad[i] *= factor
    row[GRAD_NORM] = gradNorm
    row[CLIP_FACTOR] = factor
    const blockRms = (_, index) => (counts[index + 1] ? Math.sqrt(squares[index + 1] / counts[index + 1]) : 0)
    row.set(Array.from({ length: depth }, blockRms), SCALARS + 2 * (count + 1) + count)
    return row
  }
}

// The first number of a row that is not finite, in the order in which a step computes them.
const divergenceOf = (step, row, { sites, branches, depth }) => {
  const count = branches.length
  const [stream, grad] = [SCALARS, SCALARS + count + 1]
  const [branch, weight] = [grad + count + 1, grad + 2 * count + 1]
  const found = []
  const look = (column, quantity, site) =>
    Number.isFinite(row[column]) || found.push({ step, quantity, site, block: parseInt(site.slice(1), 10) || 0 })
  look(stream, "activation", sites[0])
  for (let site = 1; site <= count; site++) {
    look(branch + site - 1, "branch", sites[site])
    look(stream + site, "activation", sites[site])
  }
  look(LOSS, "loss", "the head")
  for (let site = count; site >= 0; site--) look(grad + site, "gradient", sites[site])
  for (let block = depth; block > 0; block--) look(weight + block - 1, "weight gradient", blockName(block))
  return found[0] ?? { step, quantity: "gradient norm", site: "", block: 0 }
}
