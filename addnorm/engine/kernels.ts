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

// Two sums in float64, plus the products of four numbers with four.
// @ts-ignore: decorator
@inline function plusProducts(sums: v128, x: v128, y: v128): v128 {
  const low = f64x2.mul(f64x2.promote_low_f32x4(x), f64x2.promote_low_f32x4(y))
  const high = f64x2.mul(f64x2.promote_low_f32x4(upper(x)), f64x2.promote_low_f32x4(upper(y)))
  return f64x2.add(sums, f64x2.add(low, high))
}

// @ts-ignore: decorator
@inline function upper(x: v128): v128 {
  return v128.shuffle<i64>(x, x, 1, 0)
}

// @ts-ignore: decorator
@inline function total(sums: v128): f64 {
  return f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1)
}

export function sumOfSquares(x: usize, size: usize): f64 {
  let sums = f64x2.splat(0)
  for (let k: usize = 0; k < size; k += 16) sums = plusProducts(sums, v128.load(x + k), v128.load(x + k))
  return total(sums)
}

// For each of n rows: unit = inverse (x - mean), y = gain unit + bias, where inverse is 1 / sqrt(variance + eps), and the
// mean counts as 0 where `centres` is 0 and not 1.
export function normalise(
  x: usize, gain: usize, bias: usize, unit: usize, y: usize, inverse: usize, n: usize, width: usize, centres: f64, eps: f64,
): void {
  const share = 4 / <f64>width
  for (const last = x + n * width; x < last; x += width, unit += width, y += width, inverse += 4) {
    let sums = f64x2.splat(0), squares = f64x2.splat(0)
    for (let k: usize = 0; k < width; k += 16) sums = plusProducts(sums, v128.load(x + k), f32x4.splat(1))
    const mean = f32x4.splat(<f32>(total(sums) * share * centres))
    for (let k: usize = 0; k < width; k += 16) {
      const centred = f32x4.sub(v128.load(x + k), mean)
      v128.store(unit + k, centred)
      squares = plusProducts(squares, centred, centred)
    }
    const variance = <f32>(total(squares) * share) // overflows where torch's does
    store<f32>(inverse, <f32>(1 / sqrt(<f64>variance + eps)))
    for (let k: usize = 0; k < width; k += 16) {
      const one = f32x4.mul(v128.load(unit + k), v128.load32_splat(inverse))
      v128.store(unit + k, one)
      v128.store(y + k, f32x4.add(f32x4.mul(one, v128.load(gain + k)), v128.load(bias + k)))
    }
  }
}

// From the gradient g of y that of x, in place; adds to the gradients of gain and bias.
export function denormalise(
  g: usize, gain: usize, gainGrad: usize, biasGrad: usize, unit: usize, inverse: usize, n: usize, width: usize, centres: f64,
): void {
  const share = 4 / <f64>width
  for (const last = g + n * width; g < last; g += width, unit += width, inverse += 4) {
    let sums = f64x2.splat(0), along = f64x2.splat(0)
    for (let k: usize = 0; k < width; k += 16) {
      const error = v128.load(g + k), one = v128.load(unit + k)
      v128.store(gainGrad + k, f32x4.add(v128.load(gainGrad + k), f32x4.mul(error, one)))
      v128.store(biasGrad + k, f32x4.add(v128.load(biasGrad + k), error))
      const scaled = f32x4.mul(error, v128.load(gain + k))
      v128.store(g + k, scaled)
      sums = plusProducts(sums, scaled, f32x4.splat(1))
      along = plusProducts(along, scaled, one)
    }
    const mean = f32x4.splat(<f32>(total(sums) * share * centres)), slope = f32x4.splat(<f32>(total(along) * share))
    for (let k: usize = 0; k < width; k += 16) {
      const rest = f32x4.sub(f32x4.sub(v128.load(g + k), mean), f32x4.mul(v128.load(unit + k), slope))
      v128.store(g + k, f32x4.mul(rest, v128.load32_splat(inverse)))
    }
  }
}
