// The three matrix products of a linear layer, in plain JavaScript or in WebAssembly with SIMD.

/**
 * x (n, ins), w (outs, ins), y and g (n, outs), all float32 by rows.
 * @typedef {{ linear: Function, inputGradient: Function, weightGradient: Function }} Products
 */

// Sums in float64.
/** @type {Products} */
export const plain = {
  linear(x, w, b, y, n, ins, outs) {
    for (let row = 0; row < n; row++) {
      const at = row * ins
      for (let j = 0; j < outs; j++) {
        let sum = b[j]
        for (let k = 0, i = j * ins; k < ins; k++, i++) sum += x[at + k] * w[i]
        y[row * outs + j] = sum
      }
    }
  },

  inputGradient(g, w, gx, n, ins, outs) {
    const sums = new Float64Array(ins)
    for (let row = 0; row < n; row++) {
      sums.fill(0)
      for (let j = 0; j < outs; j++) {
        const factor = g[row * outs + j]
        if (factor !== 0) for (let k = 0, i = j * ins; k < ins; k++, i++) sums[k] += factor * w[i]
      }
      gx.set(sums, row * ins)
    }
  },

  weightGradient(x, g, gw, n, ins, outs) {
    const sums = new Float64Array(ins)
    for (let j = 0; j < outs; j++) {
      sums.fill(0)
      for (let row = 0; row < n; row++) {
        const factor = g[row * outs + j]
        if (factor !== 0) for (let k = 0, i = row * ins; k < ins; k++, i++) sums[k] += factor * x[i]
      }
      gw.set(sums, j * ins)
    }
  },
}

const PAGE = 2 ** 16 // bytes

// The products of kernels.wasm, with sums in float32; null where WebAssembly or its SIMD is missing or forbidden.
/** @param {BufferSource} bytes @returns {Products | null} */
export const compiled = (bytes) => {
  let kernels
  try {
    kernels = /** @type {any} */ (new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { abort() {} } }))
      .exports
  } catch {
    return null
  }
  const start = Math.ceil(kernels.firstAddress() / 16) * 4 // in numbers
  let numbers = new Float32Array(kernels.memory.buffer)
  // Copies arrays into the module's memory, with room for more after them; the addresses of all `sizes`, in bytes.
  const place = (arrays, ...sizes) => {
    let end = start
    const addresses = sizes.map((size) => {
      const address = 4 * end
      end += Math.ceil(size / 4) * 4
      return address
    })
    if (end > numbers.length) {
      kernels.memory.grow(Math.ceil((4 * end) / PAGE) - numbers.length / (PAGE / 4))
      numbers = new Float32Array(kernels.memory.buffer)
    }
    for (const [i, array] of arrays.entries()) {
      const isWhole = array.length === sizes[i]
      numbers.set(isWhole ? array : array.subarray(0, sizes[i]), addresses[i] / 4)
    }
    return addresses
  }
  const take = (out, address, size) => out.set(numbers.subarray(address / 4, address / 4 + size))
  const zeros = (address, size) => numbers.fill(0, address / 4, address / 4 + size)
  return {
    linear(x, w, b, y, n, ins, outs) {
      const [atX, atW, atB, atTurned, atY] = place([x, w, b], n * ins, outs * ins, outs, outs * ins, n * outs)
      kernels.transpose(atW, atTurned, outs, ins)
      kernels.product(atX, atTurned, atB, atY, n, ins, outs, ins, 1)
      take(y, atY, n * outs)
    },

    inputGradient(g, w, gx, n, ins, outs) {
      const [atG, atW, atZeros, atOut] = place([g, w], n * outs, outs * ins, ins, n * ins)
      zeros(atZeros, ins)
      kernels.product(atG, atW, atZeros, atOut, n, outs, ins, outs, 1)
      take(gx, atOut, n * ins)
    },

    weightGradient(x, g, gw, n, ins, outs) {
      const [atX, atG, atZeros, atOut] = place([x, g], n * ins, n * outs, ins, outs * ins)
      zeros(atZeros, ins)
      kernels.product(atG, atX, atZeros, atOut, outs, n, ins, 1, outs)
      take(gw, atOut, outs * ins)
    },
  }
}
