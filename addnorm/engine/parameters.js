// The parameters of a net in their order, and buffers that grow.

// A float32 buffer for at least `size` numbers: the old one where it is large enough.
export const room = (buffer, size) => (buffer?.length >= size ? buffer : new Float32Array(size))

// One parameter, (rows, columns): its numbers, their gradient, and what the optimiser remembers of them.
/**
 * @typedef {{ name: string, rows: number, columns: number, isMatrix: boolean, block: number, trained: boolean,
 *   value: Float32Array, grad: Float32Array, memory: Float32Array[] }} Parameter
 */

export class Parameters {
  constructor() {
    /** @type {Parameter[]} */
    this.list = []
  }

  // `block`: the block whose matrix it is, 0 for all others.
  add(name, rows, columns, { start = 0, isMatrix = false, trained = true } = {}) {
    const block = isMatrix && name.startsWith("stream.blocks.") ? parseInt(name.slice(15), 10) : 0
    const [value, grad] = [new Float32Array(rows * columns).fill(start), new Float32Array(rows * columns)]
    const parameter = { name, rows, columns, isMatrix, block, trained, value, grad, memory: [] }
    this.list.push(parameter)
    return parameter
  }

  get trained() {
    return this.list.filter(({ trained }) => trained)
  }
}
