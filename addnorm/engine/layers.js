// The parts of a sublayer besides norms, forwards and backwards. A backward pass may overwrite the gradient it is given.

import { ACTIVATIONS } from "./activations.js"
import { room } from "./parameters.js"
import { products } from "./products.js"

// W x + b: n rows of `ins` numbers -> n rows of `outs`.
export class Linear {
  constructor(name, ins, outs, parameters) {
    this.ins = ins
    this.outs = outs
    this.weight = parameters.add(`${name}.weight`, outs, ins, { isMatrix: true })
    this.bias = parameters.add(`${name}.bias`, outs, 1)
  }

  forward(x, n) {
    this.x = x
    this.y = room(this.y, n * this.outs)
    products.linear(x, this.weight.value, this.bias.value, this.y, n, this.ins, this.outs)
    return this.y
  }

  backward(g, n) {
    this.weightGradient(g, n)
    this.inputGrad = room(this.inputGrad, n * this.ins)
    products.inputGradient(g, this.weight.value, this.inputGrad, n, this.ins, this.outs)
    return this.inputGrad
  }

  weightGradient(g, n) {
    products.weightGradient(this.x, g, this.weight.grad, n, this.ins, this.outs)
    products.biasGradient(g, this.bias.grad, n, this.outs)
  }
}

// ReLU without a branch, which random signs would mispredict; whether all numbers are finite, since it is wrong of -Infinity.
const rectify = (x, y, size) => {
  let total = 0
  for (let i = 0; i < size; i++) {
    const positive = (x[i] + Math.abs(x[i])) / 2
    y[i] = positive
    total += positive
  }
  return Number.isFinite(total)
}

export class Activation {
  constructor(name, width) {
    this.isRelu = name === "relu"
    this.width = width
    this.of = ACTIVATIONS[name].of
    this.slope = ACTIVATIONS[name].slope
  }

  forward(x, n) {
    const size = n * this.width
    this.x = x
    const y = (this.y = room(this.y, size))
    if (!this.isRelu || !rectify(x, y, size)) for (let i = 0; i < size; i++) y[i] = this.of(x[i])
    return y
  }

  backward(g, n) {
    const { x, y } = this
    const size = n * this.width
    if (this.isRelu) for (let i = 0; i < size; i++) g[i] *= Number(y[i] > 0)
    else for (let i = 0; i < size; i++) g[i] *= this.slope(x[i], y[i])
    return g
  }
}

// A number, or one for each feature, times x: a learned gate, or a constant whose gradient nobody reads.
export class Gate {
  /** @param {{ value: ArrayLike<number>, grad: any }} gate */
  constructor(gate, width) {
    this.width = width
    this.gate = gate
  }

  forward(x, n) {
    const { width } = this
    const { value } = this.gate
    this.x = x
    this.y = room(this.y, n * width)
    for (let i = 0; i < n * width; i++) this.y[i] = value[(i % width) % value.length] * x[i]
    return this.y
  }

  backward(g, n) {
    const { width, x } = this
    const { value, grad } = this.gate
    const sums = new Float64Array(value.length)
    for (let i = 0; i < n * width; i++) {
      const channel = (i % width) % value.length
      sums[channel] += g[i] * x[i]
      g[i] *= value[channel]
    }
    grad.set(sums)
    return g
  }
}

export const scaleOf = (weight, width) =>
  weight === 1 ? null : new Gate({ value: [weight], grad: new Float32Array(1) }, width)
