// The inner loops of a net on float32 numbers by rows: WebAssembly with SIMD where it reaches them, else plain JavaScript.

/** @type {any} */
let kernels = null // the exports of kernels.wasm
let memory = new ArrayBuffer(0) // theirs: half a gigabyte, of which a browser fills what is used, since it slows once it grows
let free = 0 // its first free byte
let one = new Float32Array([1])

// From now on takes the kernels, with a new memory, unless WebAssembly or its SIMD is missing or forbidden.
export const useKernels = (bytes) => {
  memory = new ArrayBuffer(0)
  try {
    kernels = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
    free = kernels.end.value
    memory = kernels.memory.buffer
  } catch {}
  one = numbers(1).fill(1)
}

// So many zeros, where the kernels reach them as long as their memory has room.
export const numbers = (size) => {
  const start = free
  free += 16 * Math.ceil(size / 4)
  return free <= memory.byteLength ? new Float32Array(memory, start, size) : new Float32Array(size)
}

const reach = (...arrays) => arrays.every(({ buffer }) => buffer === memory)
const at = (array) => array?.byteOffset ?? 0

// out (n, p) = a (n, m) b (m, p) + start (p), where there is one. `down` and `across`: the steps in a, and in b, from a row,
// and from a column, to the next.
const product = (a, b, start, out, n, m, p, down, across, downB, acrossB) => {
  if (p >= 8 && reach(a, b, out, start ?? out))
    return kernels.product(at(a), at(b), at(start), at(out), n, m, 4 * p, 4 * down, 4 * across, 4 * downB, 4 * acrossB)
  const sums = new Float64Array(p)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < p; j++) sums[j] = start ? start[j] : 0
    for (let k = 0; k < m; k++) {
      const factor = a[i * down + k * across]
      for (let j = 0, at = k * downB; j < p; j++, at += acrossB) sums[j] += factor * b[at]
    }
    out.set(sums, i * p)
  }
}

// Of a linear layer: x (n, ins), w (outs, ins), y and g (n, outs).
export const products = {
  linear: (x, w, b, y, n, ins, outs) => product(x, w, b, y, n, ins, outs, ins, 1, 1, ins),
  inputGradient: (g, w, gx, n, ins, outs) => product(g, w, null, gx, n, outs, ins, outs, 1, ins, 1),
  weightGradient: (x, g, gw, n, ins, outs) => product(g, x, null, gw, outs, n, ins, 1, outs, ins, 1),
  biasGradient: (g, gb, n, outs) => product(one, g, null, gb, 1, n, outs, 0, 0, outs, 1),
}

// out = weight x + y; without x where the weight is 0, since 0 x is NaN once x has overflowed.
export const addScaled = (out, weight, x, y, size) => {
  if (weight && size % 4 === 0 && reach(out, x, y)) return kernels.addScaled(at(out), weight, at(x), at(y), 4 * size)
  if (weight) for (let i = 0; i < size; i++) out[i] = weight * x[i] + y[i]
  else if (out !== y) for (let i = 0; i < size; i++) out[i] = y[i]
}

// Of the first `size` numbers.
export const sumOfSquares = (x, size = x.length) => {
  if (size % 4 === 0 && reach(x)) return kernels.sumOfSquares(at(x), 4 * size)
  let sum = 0
  for (let i = 0; i < size; i++) sum += x[i] * x[i]
  return sum
}

// Whether a kernel has worked on n rows of these arrays: it takes widths of fours.
export const byRows = (kernel, arrays, n, width, ...more) => {
  if (width % 4 || !reach(...arrays)) return false
  kernels[kernel](...arrays.map(at), n, 4 * width, ...more)
  return true
}
