// The input of a net of tokens: symbols and positions as vectors, forwards and backwards, as in models/nets/embedding.py.

import { room } from "./parameters.js"

const { fround } = Math

// The angle by which a position turns a pair of `width` features, of which this is the first: position / 10000^(first / width).
export const angleOf = (position, first, width) => fround(position * fround(10000 ** fround(-first / width)))

// A table with a row for each symbol.
export class Embedding {
  constructor(name, vocabulary, width, parameters) {
    this.width = width
    this.table = parameters.add(`${name}.weight`, vocabulary, width, { isMatrix: true })
  }

  forward(x, n) {
    const { width } = this
    this.x = x
    this.y = room(this.y, n * width)
    for (let row = 0; row < n; row++)
      this.y.set(this.table.value.subarray(x[row] * width, (x[row] + 1) * width), row * width)
    return this.y
  }

  weightGradient(g, n) {
    const { width, table } = this
    const sums = new Float64Array(table.grad.length)
    for (let i = 0; i < n * width; i++) sums[this.x[Math.floor(i / width)] * width + (i % width)] += g[i]
    table.grad.set(sums)
  }
}

// sqrt(1/2) x + the row of its position in a table: sin and cos in turn, or learned.
export class Positions {
  constructor(isLearned, tokens, width, parameters) {
    const size = (this.size = tokens * width)
    const sinusoid = (_, i) => {
      const feature = i % width
      const wave = feature % 2 ? Math.cos : Math.sin
      return wave(angleOf((i - feature) / width, feature - (feature % 2), width))
    }
    this.table = isLearned
      ? parameters.add("position.table_TD", tokens, width, { isMatrix: true })
      : { value: Float32Array.from({ length: size }, sinusoid), grad: new Float32Array(size) }
    this.width = width
  }

  forward(x, n) {
    const { size, table } = this
    this.y = room(this.y, n * this.width)
    for (let i = 0; i < n * this.width; i++) this.y[i] = Math.SQRT1_2 * x[i] + table.value[i % size]
    return this.y
  }

  backward(g, n) {
    const sums = new Float64Array(this.size)
    for (let i = 0; i < n * this.width; i++) {
      sums[i % this.size] += g[i]
      g[i] *= Math.SQRT1_2
    }
    this.table.grad.set(sums)
    return g
  }
}
