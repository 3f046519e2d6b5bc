// The inner loops of a net on float32 numbers by rows, four at a time. AssemblyScript; `make kernels` builds kernels.wasm.
// Sizes of rows and all steps are in bytes.

const PANEL = memory.data(1 << 17) // eight columns of at most 4096 numbers
export const end = PANEL + (1 << 17) // from here on the memory is the net's

// @ts-ignore: decorator
@inline function plusTimes(sum: v128, factor: usize, right: v128): v128 {
  return f32x4.add(sum, f32x4.mul(v128.load32_splat(factor), right))
}

// @ts-ignore: decorator
@inline function put(address: usize, left: v128, right: v128): void {
  v128.store(address, left)
  v128.store(address, right, 16)
}

// out (n, p) = a (n, m) b (m, p) + start (p), where there is one; p is at least 8 numbers. `down` and `across`: the steps in
// a, and in b, from a row, and from a column, to the next. Tiles of 4 x 8 begin anew at the last column, and repeat the last row.
export function product(
  a: usize, b: usize, start: usize, out: usize, n: usize, m: usize, p: usize,
  down: usize, across: usize, downB: usize, acrossB: usize,
): void {
  for (let tile: usize = 0; tile < p; tile += 32) {
    const j = min(tile, p - 32)
    let columns = b + (j >> 2) * acrossB
    let pitch = downB
    if (acrossB != 4) {
      for (let k: usize = 0; k < m; k++)
        for (let c: usize = 0; c < 8; c++)
          store<f32>(PANEL + 32 * k + 4 * c, load<f32>(columns + k * downB + c * acrossB))
      columns = PANEL
      pitch = 32
    }
    const left = start ? v128.load(start + j) : f32x4.splat(0)
    const right = start ? v128.load(start + j, 16) : f32x4.splat(0)
    for (let i: usize = 0; i < n; i += 4) {
      const i1 = min(i + 1, n - 1), i2 = min(i + 2, n - 1), i3 = min(i + 3, n - 1)
      let a0 = a + i * down, a1 = a + i1 * down, a2 = a + i2 * down, a3 = a + i3 * down
      let l0 = left, l1 = left, l2 = left, l3 = left
      let r0 = right, r1 = right, r2 = right, r3 = right
      let row = columns
      for (let k: usize = 0; k < m; k++) {
        const l = v128.load(row)
        const r = v128.load(row, 16)
        l0 = plusTimes(l0, a0, l)
        r0 = plusTimes(r0, a0, r)
        l1 = plusTimes(l1, a1, l)
        r1 = plusTimes(r1, a1, r)
        l2 = plusTimes(l2, a2, l)
        r2 = plusTimes(r2, a2, r)
        l3 = plusTimes(l3, a3, l)
        r3 = plusTimes(r3, a3, r)
        row += pitch
        a0 += across
        a1 += across
        a2 += across
        a3 += across
      }
      put(out + i * p + j, l0, r0)
      put(out + i1 * p + j, l1, r1)
      put(out + i2 * p + j, l2, r2)
      put(out + i3 * p + j, l3, r3)
    }
  }
}

// out = weight x + y.
export function addScaled(out: usize, weight: f32, x: usize, y: usize, size: usize): void {
  for (let k: usize = 0; k < size; k += 16)
    v128.store(out + k, f32x4.add(f32x4.mul(f32x4.splat(weight), v128.load(x + k)), v128.load(y + k)))
}

// In float64.
export function sumOfSquares(x: usize, size: usize): f64 {
  let sums = f64x2.splat(0)
  for (let k: usize = 0; k < size; k += 8) {
    const two = f64x2.promote_low_f32x4(v128.load64_zero(x + k))
    sums = f64x2.add(sums, f64x2.mul(two, two))
  }
  return f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1)
}
