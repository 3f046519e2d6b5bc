// Matrix products of float32 matrices by rows, four numbers at a time. AssemblyScript; `make kernels` builds kernels.wasm.

// The address of a matrix's number: its row, its column, its columns in all.
// @ts-ignore: decorator
@inline function at(start: usize, row: i32, column: i32, columns: i32): usize {
  return start + ((<usize>(row * columns + column)) << 2)
}

// @ts-ignore: decorator
@inline function plusTimes(sum: v128, factor: usize, right: v128): v128 {
  return f32x4.add(sum, f32x4.mul(v128.load32_splat(factor), right))
}

// The first address after the module's own data.
export function firstAddress(): usize {
  return __heap_base
}

// out (columns, rows) = a (rows, columns) transposed.
export function transpose(a: usize, out: usize, rows: i32, columns: i32): void {
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) store<f32>(at(out, j, i, rows), load<f32>(at(a, i, j, columns)))
}

// out (n, p) = a (n, m) b (m, p) + start (p). `down` and `across` are the steps in a from a row, and a column, to the next.
export function product(a: usize, b: usize, start: usize, out: usize, n: i32, m: i32, p: i32, down: i32, across: i32): void {
  const next = <usize>down << 2
  const step = <usize>across << 2
  const rows = n & ~3 // those that the tiles of 4 x 8 cover, and such columns
  const columns = p & ~7
  for (let j = 0; j < columns; j += 8) {
    const left = v128.load(at(start, 0, j, p))
    const right = v128.load(at(start, 0, j, p), 16)
    for (let i = 0; i < rows; i += 4) {
      let l0 = left, l1 = left, l2 = left, l3 = left
      let r0 = right, r1 = right, r2 = right, r3 = right
      let factor = a + <usize>i * next
      let row = at(b, 0, j, p)
      for (let k = 0; k < m; k++) {
        const l = v128.load(row)
        const r = v128.load(row, 16)
        l0 = plusTimes(l0, factor, l)
        r0 = plusTimes(r0, factor, r)
        l1 = plusTimes(l1, factor + next, l)
        r1 = plusTimes(r1, factor + next, r)
        l2 = plusTimes(l2, factor + 2 * next, l)
        r2 = plusTimes(r2, factor + 2 * next, r)
        l3 = plusTimes(l3, factor + 3 * next, l)
        r3 = plusTimes(r3, factor + 3 * next, r)
        factor += step
        row += <usize>p << 2
      }
      v128.store(at(out, i, j, p), l0)
      v128.store(at(out, i, j, p), r0, 16)
      v128.store(at(out, i + 1, j, p), l1)
      v128.store(at(out, i + 1, j, p), r1, 16)
      v128.store(at(out, i + 2, j, p), l2)
      v128.store(at(out, i + 2, j, p), r2, 16)
      v128.store(at(out, i + 3, j, p), l3)
      v128.store(at(out, i + 3, j, p), r3, 16)
    }
  }
  for (let i = 0; i < n; i++) {
    for (let j = i < rows ? columns : 0; j < p; j++) {
      let sum = load<f32>(at(start, 0, j, p))
      let factor = a + <usize>i * next
      for (let k = 0; k < m; k++) {
        sum += load<f32>(factor) * load<f32>(at(b, k, j, p))
        factor += step
      }
      store<f32>(at(out, i, j, p), sum)
    }
  }
}
