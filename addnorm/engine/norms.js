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

class LayerNorm extends Norm {
  forward(x, n) {
    this.prepare(n)
    this.inverse = room(this.inverse, n)
    const { width, unit } = this
    for (let row = 0; row < n; row++) {
      const at = row * width
      let [mean, square] = [0, 0]
      for (let k = at; k < at + width; k++) mean += x[k]
      mean /= width
      for (let k = at; k < at + width; k++) square += (x[k] - mean) ** 2
      const inverse = 1 / Math.sqrt(Math.fround(square / width) + this.eps)
      for (let k = at; k < at + width; k++) unit[k] = (x[k] - mean) * inverse
      this.inverse[row] = inverse
    }
    return this.scaled(n)
  }

  backward(g, n) {
    this.unscale(g, n)
    const { width, unit } = this
    for (let row = 0; row < n; row++) {
      const at = row * width
      let [mean, along] = [0, 0]
      for (let k = at; k < at + width; k++) {
        mean += g[k]
        along += g[k] * unit[k]
      }
      mean /= width
      along /= width
      for (let k = at; k < at + width; k++) g[k] = this.inverse[row] * (g[k] - mean - unit[k] * along)
    }
    return g
  }
}

class RmsNorm extends Norm {
  constructor(name, width, options, parameters) {
    super(name, width, options, parameters, false)
  }

  forward(x, n) {
    this.prepare(n)
    this.inverse = room(this.inverse, n)
    const { width, unit } = this
    for (let row = 0; row < n; row++) {
      const at = row * width
      let square = 0
      for (let k = at; k < at + width; k++) square += x[k] ** 2
      const inverse = 1 / Math.sqrt(Math.fround(square / width) + this.eps)
      for (let k = at; k < at + width; k++) unit[k] = x[k] * inverse
      this.inverse[row] = inverse
    }
    return this.scaled(n)
  }

  backward(g, n) {
    this.unscale(g, n)
    const { width, unit } = this
    for (let row = 0; row < n; row++) {
      const at = row * width
      let along = 0
      for (let k = at; k < at + width; k++) along += g[k] * unit[k]
      along /= width
      for (let k = at; k < at + width; k++) g[k] = this.inverse[row] * (g[k] - unit[k] * along)
    }
    return g
  }
}

// Statistics of each feature over the batch; over what it has seen where `mode.running` is set.
class BatchNorm extends Norm {
  constructor(name, width, options, parameters) {
    super(name, width, options, parameters)
    this.runningMean = new Float32Array(width)
    this.runningVariance = new Float32Array(width).fill(1)
    this.inverse = new Float64Array(width)
  }

  forward(x, n, mode) {
    this.prepare(n)
    const { width, unit, inverse } = this
    for (let k = 0; k < width; k++) {
      let [mean, variance] = [this.runningMean[k], this.runningVariance[k]]
      if (!mode.running) {
        mean = 0
        variance = 0
        for (let i = k; i < n * width; i += width) mean += x[i]
        mean /= n
        for (let i = k; i < n * width; i += width) variance += (x[i] - mean) ** 2
        variance /= n
        if (mode.learns) {
          this.runningMean[k] += MOMENTUM * (mean - this.runningMean[k])
          this.runningVariance[k] += MOMENTUM * ((variance * n) / (n - 1) - this.runningVariance[k])
        }
      }
      inverse[k] = 1 / Math.sqrt(variance + this.eps)
      for (let i = k; i < n * width; i += width) unit[i] = (x[i] - mean) * inverse[k]
    }
    return this.scaled(n)
  }

  backward(g, n) {
    this.unscale(g, n)
    const { width, unit, inverse } = this
    for (let k = 0; k < width; k++) {
      let [mean, along] = [0, 0]
      for (let i = k; i < n * width; i += width) {
        mean += g[i]
        along += g[i] * unit[i]
      }
      mean /= n
      along /= n
      for (let i = k; i < n * width; i += width) g[i] = inverse[k] * (g[i] - mean - unit[i] * along)
    }
    return g
  }
}

// gain f(alpha x + shift) + bias with a learned alpha, and for the error function a learned shift.
class Squash extends Norm {
  constructor(name, width, options, parameters, { of, slope, shifts }) {
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

const TANH = { of: Math.tanh, slope: (_, y) => 1 - y * y, shifts: false }
const ERF = { of: erf, slope: erfSlope, shifts: true }
const NORMS = {
  "layer norm": LayerNorm,
  "rms norm": RmsNorm,
  "batch norm": BatchNorm,
  "dynamic tanh": class extends Squash {
    constructor(name, width, options, parameters) {
      super(name, width, options, parameters, TANH)
    }
  },
  "dynamic erf": class extends Squash {
    constructor(name, width, options, parameters) {
      super(name, width, options, parameters, ERF)
    }
  },
}

// The norm of that name with features `width`, or null for none.
export const normOf = (norm, name, width, options, parameters) =>
  norm === "none" ? null : new NORMS[norm](name, width, options, parameters)
