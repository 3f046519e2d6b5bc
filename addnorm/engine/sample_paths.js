// Sizes and directions of ten samples at some sites of a net, as in models/training/sample_paths.py.

const MAX_SWEEPS = 60 // of Jacobi's rotations

// Eigenvalues and eigenvectors (by column) of a symmetric matrix, by Jacobi's rotations; rotates `a` in place.
const eigen = (a) => {
  const n = a.length
  const vectors = a.map((_, i) => a.map((_, j) => Number(i === j)))
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    let off = 0
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += a[p][q] ** 2
    if (off < 1e-30) break
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (a[p][q] === 0) continue
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1))
        const c = 1 / Math.hypot(t, 1)
        const s = t * c
        for (let k = 0; k < n; k++) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]]
        for (let k = 0; k < n; k++) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]]
        for (const row of vectors) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]]
      }
    }
  }
  return { values: a.map((row, i) => row[i]), vectors }
}

// Rotates or reflects points onto earlier ones: the orthogonal polar factor of their 2 x 2 product (Schoenemann 1966).
const aligned = (points, earlier) => {
  const product = (a, b) => points.reduce((sum, point, i) => sum + point[a] * earlier[i][b], 0)
  const [a, b, c, d] = [product(0, 0), product(0, 1), product(1, 0), product(1, 1)]
  const isRotation = a * d - b * c >= 0
  const [x, y] = isRotation ? [a + d, b - c] : [a - d, b + c]
  const length = Math.hypot(x, y) || 1
  const [cos, sin] = [x / length, y / length]
  const turned = ([u, v]) =>
    isRotation ? [u * cos - v * sin, u * sin + v * cos] : [u * cos + v * sin, u * sin - v * cos]
  return points.map(turned)
}

// `sites`: by site, the vectors of the samples. Returns `ten_size`, `ten_at`, `ten_plane` and `ten_cosine` by site.
export const pathMeasures = (sites) => {
  const count = sites[0].length
  let earlier = sites[0].map((_, i) => [Math.cos((2 * Math.PI * i) / count), Math.sin((2 * Math.PI * i) / count)])
  const found = { ten_size: [], ten_at: [], ten_plane: [], ten_cosine: [] }
  for (const vectors of sites) {
    const lengths = vectors.map((vector) => Math.hypot(...vector))
    const isShown = lengths.map((length) => length > 0 && Number.isFinite(length))
    const units = vectors.map((vector, i) => Array.from(vector, (entry) => (isShown[i] ? entry / lengths[i] : 0)))
    const cosines = units.map((a) => units.map((b) => a.reduce((sum, entry, k) => sum + entry * b[k], 0)))
    const shown = isShown.filter(Boolean).length
    const total = cosines.flat().reduce((sum, cosine) => sum + cosine, 0)
    const { values, vectors: axes } = eigen(cosines)
    const [first, second = first] = [...values.keys()].sort((a, b) => values[b] - values[a])
    const root = (axis) => Math.sqrt(Math.max(values[axis], 0))
    earlier = aligned(
      axes.map((row) => [row[first] * root(first), row[second] * root(second)]),
      earlier,
    )
    found.ten_at.push(earlier)
    found.ten_size.push(lengths.map((length, i) => (Number.isFinite(length) ? length / vectors[i].length ** 0.5 : NaN)))
    found.ten_plane.push(shown ? (values[first] + values[second]) / shown : NaN)
    found.ten_cosine.push(shown > 1 ? (total - shown) / (shown * (shown - 1)) : NaN)
  }
  return found
}
