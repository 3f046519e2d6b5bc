// Frames: the costlier measurements, on a fixed subset and on the held-out set, as in models/training/frames.py.

import { answers, crossEntropy } from "./loss.js"
import { sumOfSquares } from "./products.js"
import { pathMeasures } from "./sample_paths.js"
import { predictor, roundRobin } from "./tasks.js"

const SUBSET = 128 // samples
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

// Python's round: halves to the even neighbour.
const rounded = (x) => (x % 1 === 0.5 && Math.floor(x) % 2 === 0 ? Math.floor(x) : Math.round(x))

export class FrameTaker {
  constructor(cfg, net, task) {
    this.cfg = cfg
    this.net = net
    this.task = task
    this.usesBatch = net.usesBatch
    this.matrices = net.sublayers.map((_, index) => net.parameters.list.filter(({ block }) => block === index + 1))
    const stops = Math.min(cfg.depth, MAX_BLOCKS) + 1
    this.blocks = [...new Set(Array.from({ length: stops }, (_, i) => rounded((i * cfg.depth) / (stops - 1))))]
    this.samples = roundRobin(task.heldOut.y, SAMPLES)
  }

  // The frame of a step, still without its ratio of update to weight.
  take(step) {
    const { net, task, cfg } = this
    const { x, y, n } = task.heldOut
    const logits = net.forward(x, n, { running: true }).slice(0, n * net.classes)
    const { guess } = answers(logits, n, net.classes)
    const isRight = y.filter((label, i) => label === guess[i])
    let measures = this.measures()
    let trainModeLoss = NaN
    const picture = task.picture((inputs, count) =>
      inputs === x ? answers(logits, n, net.classes) : predictor(net, task.features, n)(inputs, count),
    )
    Object.assign(picture, this.paths())
    if (this.usesBatch) {
      net.forward(x, Math.min(SUBSET, n))
      measures = this.measures()
      trainModeLoss = this.trainModeLoss()
    }
    return {
      step,
      ...measures,
      update_to_weight: new Float32Array(cfg.depth).fill(NaN),
      held_out_loss: crossEntropy(logits, y, n, net.classes),
      held_out_accuracy: isRight.length / n,
      picture,
      train_mode_loss: trainModeLoss,
    }
  }

  // Of the last pass, on its first samples.
  measures() {
    const { net } = this
    const n = Math.min(SUBSET, this.task.heldOut.n)
    const relus = net.sublayers.map((sublayer) => (sublayer.activation?.isRelu ? sublayer.activation : null))
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
    const { net, task, samples } = this
    const { x, y, n } = task.heldOut
    if (this.usesBatch) net.forward(x, n)
    else net.forward(x, n, { running: true })
    const site = (block) => net.stream[block]
    const vector = (values, i) => values.subarray(i * net.width, (i + 1) * net.width)
    const sites = this.blocks.map((block) => samples.map((i) => vector(site(block), i)))
    return { ten_names: samples.map((i) => String(y[i])), ten_blocks: this.blocks, ...pathMeasures(sites) }
  }

  // The held-out loss with the statistics of whole batches.
  trainModeLoss() {
    const { net, task, cfg } = this
    const { x, y, n } = task.heldOut
    const size = Math.min(cfg.batch, n)
    const count = Math.min(MAX_TRAIN_MODE_BATCHES, Math.floor(n / size))
    let loss = 0
    for (let at = 0; at < count; at++) {
      const logits = net.forward(x.subarray(at * size * task.features), size)
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
