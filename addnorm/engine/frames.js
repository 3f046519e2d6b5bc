// Frames: the costlier measurements, on a fixed subset and on the held-out set, as in models/training/frames.py.

import { halfToEven, SUBSET } from "./config.js"
import { answers, crossEntropy, NO_LOSS } from "./loss.js"
import { sumOfSquares } from "./products.js"
import { pathMeasures } from "./sample_paths.js"
import { inPasses, roundRobin } from "./tasks.js"

const SAMPLES = 10 // whose paths are shown
const MAX_BLOCKS = 64
const MAX_TRAIN_MODE_BATCHES = 32

// The mean cosine between different rows among the first n; NaN for fewer than two that are not 0.
const meanCosine = (x, n, width) => {
  const sum = new Float64Array(width)
  let count = 0
  for (let row = 0; row < n; row++) {
    const vector = x.subarray(row * width, (row + 1) * width)
    const length = Math.sqrt(sumOfSquares(vector))
    if (!(length > 0 && Number.isFinite(length))) continue
    count++
    for (let k = 0; k < width; k++) sum[k] += vector[k] / length
  }
  const square = sumOfSquares(sum)
  return count > 1 ? (square - count) / (count * (count - 1)) : NaN
}

// RMS of n rows, RMS of their differences from the mean, and the directions of these: (tr C)^2 / tr C^2.
const headInput = (x, n, width) => {
  const mean = new Float64Array(width)
  let square = 0
  for (let i = 0; i < n * width; i++) {
    mean[i % width] += x[i] / n
    square += x[i] * x[i]
  }
  const centred = Float64Array.from({ length: n * width }, (_, i) => x[i] - mean[i % width])
  const covariance = new Float64Array(width * width)
  for (let row = 0; row < n; row++) {
    const vector = centred.subarray(row * width, (row + 1) * width)
    for (let a = 0; a < width; a++) for (let b = 0; b < width; b++) covariance[a * width + b] += vector[a] * vector[b]
  }
  const trace = sumOfSquares(centred)
  const directions = trace ** 2 / sumOfSquares(covariance)
  return [Math.sqrt(square / (n * width)), Math.sqrt(trace / (n * width)), directions]
}

const norm = (arrays) => Math.sqrt(arrays.reduce((total, array) => total + sumOfSquares(array), 0))

export class FrameTaker {
  constructor(cfg, net, task) {
    this.cfg = cfg
    this.net = net
    this.task = task
    this.usesBatch = net.usesBatch
    this.perBlock = net.sublayers.length / cfg.depth
    this.matrices = Array.from({ length: cfg.depth }, (_, index) =>
      net.parameters.list.filter(({ block }) => block === index + 1),
    )
    const stops = Math.min(cfg.depth, MAX_BLOCKS) + 1
    this.blocks = [...new Set(Array.from({ length: stops }, (_, i) => halfToEven((i * cfg.depth) / (stops - 1))))]
    // Of each sample, its last row with a label.
    const { y, n } = task.heldOut
    const last = Array.from({ length: n / net.tokens }, (_, sample) => {
      let row = (sample + 1) * net.tokens - 1
      while (y[row] === NO_LOSS) row--
      return row
    })
    const labels = last.map((row) => y[row])
    this.rows = roundRobin(labels, SAMPLES).map((sample) => last[sample])
  }

  // The frame of a step, still without its ratio of update to weight.
  take(step) {
    const { net, task, cfg } = this
    const { x, y, n } = task.heldOut
    const logitsOf = inPasses(net, Math.max(SUBSET, cfg.batch * net.tokens))
    const logits = logitsOf(x, n)
    const { guess } = answers(logits, n, net.classes)
    const picture = task.picture((inputs, count) => (inputs === x ? logits : logitsOf(inputs, count)))
    Object.assign(picture, this.paths())
    const trainModeLoss = this.usesBatch ? this.trainModeLoss() : NaN
    net.forward(x, SUBSET)
    return {
      step,
      ...this.measures(),
      update_to_weight: new Float32Array(cfg.depth).fill(NaN),
      held_out_loss: crossEntropy(logits, y, n, net.classes),
      held_out_accuracy:
        y.filter((label, i) => label === guess[i]).length / y.filter((label) => label !== NO_LOSS).length,
      picture,
      train_mode_loss: trainModeLoss,
    }
  }

  // Of the last pass, which was of the subset.
  measures() {
    const { net } = this
    const n = SUBSET
    const lasts = net.sublayers.filter((_, index) => (index + 1) % this.perBlock === 0)
    const relus = lasts.map(({ activation }) => (activation?.isRelu ? activation : null))
    const dead = ({ y, width }) => {
      let count = 0
      for (let unit = 0; unit < width; unit++) {
        let row = 0
        while (row < n && y[row * width + unit] === 0) row++
        count += Number(row === n)
      }
      return count / width
    }
    return {
      sample_cosine: Float32Array.from(net.stream, (site) => meanCosine(site, n, net.width)),
      dead_units: relus.some(Boolean)
        ? Float32Array.from(relus, (relu) => (relu ? dead(relu) : NaN))
        : new Float32Array(0),
      head_input: Float32Array.from(headInput(net.headInput, n, net.width)),
    }
  }

  // Batch norm is measured in train mode, on the whole held-out set.
  paths() {
    const { net, task, rows } = this
    const { x, y, n } = task.heldOut
    const size = net.tokens * net.features
    const starts = rows.map((row) => Math.floor(row / net.tokens) * size)
    if (this.usesBatch) net.forward(x, n)
    else
      net.forward(
        Float32Array.from(starts.flatMap((start) => [...x.subarray(start, start + size)])),
        rows.length * net.tokens,
      )
    const vectors = (site) =>
      rows.map((row, i) => {
        const at = (this.usesBatch ? row : i * net.tokens + (row % net.tokens)) * net.width
        return site.subarray(at, at + net.width)
      })
    const sites = this.blocks.map((block) => vectors(net.stream[block * this.perBlock]))
    return {
      ten_names: rows.map((row) => task.className?.(y[row]) ?? String(y[row])),
      ten_blocks: this.blocks,
      ...pathMeasures(sites),
    }
  }

  // The held-out loss with the statistics of whole batches.
  trainModeLoss() {
    const { net, task, cfg } = this
    const { x, y, n } = task.heldOut
    const size = Math.min(cfg.batch * net.tokens, n)
    const count = Math.min(MAX_TRAIN_MODE_BATCHES, Math.floor(n / size))
    let loss = 0
    for (let at = 0; at < count; at++) {
      const logits = net.forward(x.subarray(at * size * net.features), size)
      loss += crossEntropy(logits, y.subarray(at * size), size, net.classes) / count
    }
    return loss
  }

  // |weight change| / |weights| of each block from copies made before the update.
  copies() {
    return this.matrices.map((block) => block.map(({ value }) => value.slice()))
  }

  updateToWeight(copies) {
    return Float32Array.from(copies, (block, index) => {
      const changes = block.map((old, which) => this.matrices[index][which].value.map((entry, i) => entry - old[i]))
      return norm(changes) / norm(block)
    })
  }
}
