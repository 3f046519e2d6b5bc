// The parameters of a net in their order, and buffers that grow.

import { numbers } from "./products.js"

// A float32 buffer for at least `size` numbers: the old one where it is large enough.
export const room = (buffer, size) => (buffer?.length >= size ? buffer : numbers(size))

// One parameter, (rows, columns): its numbers and their gradient.
/**
 * @typedef {{ name: string, rows: number, columns: number, isMatrix: boolean, block: number, trained: boolean,
 *   value: Float32Array, grad: Float32Array }} Parameter
 */

export class Parameters {
  constructor() {
    /** @type {Parameter[]} */
    this.list = []
    /** @type {Float32Array[]} */
    this.scratch = [] // buffers that attentions share, which nothing reads after their passes
  }

  // `block`: the block whose matrix it is, 0 for all others.
  add(name, rows, columns, { start = 0, isMatrix = false, trained = true } = {}) {
    const block = isMatrix && name.startsWith("stream.blocks.") ? parseInt(name.slice(15), 10) : 0
    const [value, grad] = [numbers(rows * columns).fill(start), numbers(rows * columns)]
    const parameter = { name, rows, columns, isMatrix, block, trained, value, grad }
    this.list.push(parameter)
    return parameter
  }

  get trained() {
    return this.list.filter(({ trained }) => trained)
  }
}
