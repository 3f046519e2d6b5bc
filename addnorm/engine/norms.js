// The norms that fill a slot, forwards and backwards. Storage is float32, sums are float64.

import { erf, erfSlope } from "./activations.js"
import { room } from "./parameters.js"
import { byRows } from "./products.js"

const MOMENTUM = 0.1 // of batch norm's running statistics

// What all norms share: gain and bias, which without `affine` stay at 1 and 0, as the bias does without `hasBias`.
class Norm {
  constructor(name, width, { eps, affine }, parameters, hasBias = true) {
    this.width = width
    this.eps = eps
    const add = (kind, start, trained) => parameters.add(`${name}.${kind}`, width, 1, { start, trained })
    this.gain = add("weight", 1, affine)
    this.bias = add("bias", 0, affine && hasBias)
  }

  // Output from the normed numbers in `unit`.
  scaled(n) {
    const { width, unit, y } = this
    const gain = this.gain.value
    const bias = this.bias.value
    for (let at = 0; at < n * width; at += width)
      for (let k = 0; k < width; k++) y[at + k] = unit[at + k] * gain[k] + bias[k]
    return y
  }

  // Gradients of gain and bias; the gradient of the normed numbers replaces `g`.
  unscale(g, n) {
    const { width, unit } = this
    const gain = this.gain.value
    const [gainSum, biasSum] = [new Float64Array(width), new Float64Array(width)]
    for (let at = 0; at < n * width; at += width) {
      for (let k = 0; k < width; k++) {
        gainSum[k] += g[at + k] * unit[at + k]
        biasSum[k] += g[at + k]
        g[at + k] *= gain[k]
      }
    }
    this.gain.grad.set(gainSum)
    this.bias.grad.set(biasSum)
  }

  prepare(n) {
    this.y = room(this.y, n * this.width)
    this.unit = room(this.unit, n * this.width)
  }
}

// Divides by the root of the variance, or of the mean square where `centres` is 0 and not 1: of each row, or of each feature
// over the batch, where `mode.running` asks for what it has seen so far.
class Standard extends Norm {
  constructor(name, width, options, parameters, { centres = 1, byBatch = false }) {
    super(name, width, options, parameters, centres > 0)
    this.centres = centres
    this.byBatch = byBatch
    this.runningMean = new Float32Array(width)
    this.runningVariance = new Float32Array(width).fill(1)
  }

  // How many groups share a mean, the numbers in each, the steps from one group to the next and within it.
  groups(n) {
    const { width } = this
    return this.byBatch ? [width, n, 1, width] : [n, width, width, 1]
  }

  forward(x, n, mode) {
    this.prepare(n)
    const { width, gain, bias, unit, y, eps, centres } = this
    const [groups, size, next, step] = this.groups(n)
    const usesRunning = this.byBatch && mode.running
    const inverse = (this.inverse = room(this.inverse, groups))
    const arrays = [x, gain.value, bias.value, unit, y, inverse]
    if (!this.byBatch && byRows("normalise", arrays, n, width, centres, eps)) return y
    for (let group = 0; group < groups; group++) {
      const start = group * next
      const end = start + size * step
      let [mean, variance] = [0, 0]
      if (usesRunning) [mean, variance] = [this.runningMean[group], this.runningVariance[group]]
      else {
        for (let i = start; i < end; i += step) mean += x[i]
        mean *= centres / size
        for (let i = start; i < end; i += step) variance += (x[i] - mean) * (x[i] - mean)
        variance = Math.fround(variance / size) // overflows where torch's does
      }
      if (this.byBatch && mode.learns) {
        this.runningMean[group] += MOMENTUM * (mean - this.runningMean[group])
        this.runningVariance[group] += MOMENTUM * ((variance * size) / (size - 1) - this.runningVariance[group])
      }
      const factor = 1 / Math.sqrt(variance + eps)
      for (let i = start; i < end; i += step) unit[i] = (x[i] - mean) * factor
      inverse[group] = factor
    }
    return this.scaled(n)
  }

  backward(g, n) {
    const { width, gain, bias, unit, inverse, centres } = this
    const arrays = [g, gain.value, gain.grad.fill(0), bias.grad.fill(0), unit, inverse]
    if (!this.byBatch && byRows("denormalise", arrays, n, width, centres)) return g
    this.unscale(g, n)
    const [groups, size, next, step] = this.groups(n)
    for (let group = 0; group < groups; group++) {
      const start = group * next
      const end = start + size * step
      let [mean, along] = [0, 0]
      for (let i = start; i < end; i += step) {
        mean += g[i]
        along += g[i] * unit[i]
      }
      mean *= centres / size
      along /= size
      const factor = inverse[group]
      for (let i = start; i < end; i += step) g[i] = factor * (g[i] - mean - unit[i] * along)
    }
    return g
  }
}

// gain f(alpha x + shift) + bias with a learned alpha, and for the error function a learned shift.
class Squash extends Norm {
  constructor(name, width, options, parameters, { of, slope, shifts = false }) {
    super(name, width, options, parameters)
    const one = (kind, start) => parameters.add(`${name}.${kind}`, 1, 1, { start })
    this.alpha = one("alpha", 0.5)
    this.shift = shifts ? one("shift", 0) : null
    this.of = of
    this.slope = slope
  }

  forward(x, n) {
    this.prepare(n)
    this.x = x
    const alpha = this.alpha.value[0]
    const shift = this.shift?.value[0] ?? 0
    for (let i = 0; i < n * this.width; i++) this.unit[i] = this.of(alpha * x[i] + shift)
    return this.scaled(n)
  }

  backward(g, n) {
    this.unscale(g, n)
    const alpha = this.alpha.value[0]
    const shift = this.shift?.value[0] ?? 0
    let [alphaGrad, shiftGrad] = [0, 0]
    for (let i = 0; i < n * this.width; i++) {
      const inner = g[i] * this.slope(alpha * this.x[i] + shift, this.unit[i])
      alphaGrad += inner * this.x[i]
      shiftGrad += inner
      g[i] = inner * alpha
    }
    this.alpha.grad[0] = alphaGrad
    if (this.shift) this.shift.grad[0] = shiftGrad
    return g
  }
}

// By name: its class, and what it is beyond that.
const NORMS = {
  "layer norm": [Standard, {}],
  "rms norm": [Standard, { centres: 0 }],
  "batch norm": [Standard, { byBatch: true }],
  "dynamic tanh": [Squash, { of: Math.tanh, slope: (_, y) => 1 - y * y }],
  "dynamic erf": [Squash, { of: erf, slope: erfSlope, shifts: true }],
}

// The norm of that name with features `width`, or null for none.
export const normOf = (norm, name, width, options, parameters) => {
  if (norm === "none") return null
  const [kind, more] = NORMS[norm]
  return new kind(name, width, options, parameters, more)
}
