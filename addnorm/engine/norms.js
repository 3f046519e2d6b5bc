// The norms that fill a slot, forwards and backwards. Storage is float32, arithmetic float64.

import { erf, erfSlope } from "./activations.js"
import { room } from "./parameters.js"

const MOMENTUM = 0.1 // of batch norm's running statistics

// What all norms share: gain and bias, which a norm without `affine` keeps at 1 and 0, and the buffers.
class Norm {
  constructor(name, width, { eps, affine }, parameters, hasBias = true) {
    this.width = width
    this.eps = eps
    const add = (kind, start) => parameters.add(`${name}.${kind}`, width, 1, { start, trained: affine })
    this.gain = add("weight", 1)
    this.bias = hasBias ? add("bias", 0) : null
  }

  // Output from the normed numbers in `unit`.
  scaled(n) {
    const { width, unit, y } = this
    const gain = this.gain.value
    const bias = this.bias?.value
    for (let row = 0; row < n; row++) {
      const at = row * width
      if (bias) for (let k = 0; k < width; k++) y[at + k] = unit[at + k] * gain[k] + bias[k]
      else for (let k = 0; k < width; k++) y[at + k] = unit[at + k] * gain[k]
    }
    return y
  }

  // Gradients of gain and bias; the gradient of the normed numbers replaces `g`.
  unscale(g, n) {
    const { width, unit } = this
    const gain = this.gain.value
    const gainGrad = this.gain.grad.fill(0)
    const biasGrad = this.bias?.grad.fill(0)
    const [gainSum, biasSum] = [new Float64Array(width), new Float64Array(width)]
    for (let row = 0; row < n; row++) {
      for (let k = 0; k < width; k++) {
        const i = row * width + k
        gainSum[k] += g[i] * unit[i]
        biasSum[k] += g[i]
        g[i] *= gain[k]
      }
    }
    gainGrad.set(gainSum)
    biasGrad?.set(biasSum)
  }

  prepare(n) {
    this.y = room(this.y, n * this.width)
    this.unit = room(this.unit, n * this.width)
  }
}

// Divides by the root of the variance, or of the mean square where it does not centre: of each row, or of each feature over
// the batch, where `mode.running` asks for what it has seen so far.
class Standard extends Norm {
  constructor(name, width, options, parameters, { centres = true, byBatch = false }) {
    super(name, width, options, parameters, centres)
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
    const { unit, eps } = this
    const [groups, size, next, step] = this.groups(n)
    const usesRunning = this.byBatch && mode.running
    this.inverse = room(this.inverse, groups)
    for (let group = 0; group < groups; group++) {
      const start = group * next
      const end = start + size * step
      let [mean, variance] = [0, 0]
      if (usesRunning) [mean, variance] = [this.runningMean[group], this.runningVariance[group]]
      else {
        if (this.centres) for (let i = start; i < end; i += step) mean += x[i]
        mean /= size
        for (let i = start; i < end; i += step) variance += (x[i] - mean) * (x[i] - mean)
        variance = Math.fround(variance / size) // overflows where torch's does
      }
      if (this.byBatch && mode.learns) {
        this.runningMean[group] += MOMENTUM * (mean - this.runningMean[group])
        this.runningVariance[group] += MOMENTUM * ((variance * size) / (size - 1) - this.runningVariance[group])
      }
      const inverse = 1 / Math.sqrt(variance + eps)
      for (let i = start; i < end; i += step) unit[i] = (x[i] - mean) * inverse
      this.inverse[group] = inverse
    }
    return this.scaled(n)
  }

  backward(g, n) {
    this.unscale(g, n)
    const { unit, inverse } = this
    const [groups, size, next, step] = this.groups(n)
    for (let group = 0; group < groups; group++) {
      const start = group * next
      const end = start + size * step
      let [mean, along] = [0, 0]
      for (let i = start; i < end; i += step) {
        mean += g[i]
        along += g[i] * unit[i]
      }
      mean = this.centres ? mean / size : 0
      along /= size
      for (let i = start; i < end; i += step) g[i] = inverse[group] * (g[i] - mean - unit[i] * along)
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
  "rms norm": [Standard, { centres: false }],
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
