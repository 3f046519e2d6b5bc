// Initialisation: every matrix is drawn from its own generator, seeded by the run's seed and the matrix's name.

import { generator } from "./random.js"

const OUTPUT = /\.function\.(w|w2|w_o)\.weight$/ // of a branch
const QUERY_OR_KEY = /\.w_[qk]\.weight$/

// An orthogonal (rows, columns) matrix as torch.nn.init.orthogonal_ draws it: Householder QR, with R's diagonal positive.
export const orthogonal = (source, rows, columns) => {
  const drawn = source.normal(rows * columns)
  const isTall = rows >= columns
  const [m, n] = isTall ? [rows, columns] : [columns, rows]
  const columnsOf = (entry) =>
    Array.from({ length: n }, (_, j) => Float64Array.from({ length: m }, (_, i) => entry(i, j)))
  const a = columnsOf((i, j) => drawn[isTall ? i * n + j : j * m + i])
  const reflectors = []
  // Subtracts from a column its double projection on the reflector, whose entries before k are 0.
  const reflect = (column, reflector, k) => {
    let along = 0
    for (let i = k; i < m; i++) along += reflector[i] * column[i]
    for (let i = k; i < m; i++) column[i] -= 2 * along * reflector[i]
  }
  for (let k = 0; k < n; k++) {
    const reflector = a[k].map((entry, i) => (i < k ? 0 : entry))
    reflector[k] += Math.sign(reflector[k] || 1) * Math.hypot(...reflector)
    const length = Math.hypot(...reflector) || 1
    reflectors.push(reflector.map((entry) => entry / length))
    for (let j = k; j < n; j++) reflect(a[j], reflectors[k], k)
  }
  const q = columnsOf((i, j) => Number(i === j))
  for (let j = 0; j < n; j++) for (let k = n - 1; k >= 0; k--) reflect(q[j], reflectors[k], k)
  const weight = new Float32Array(rows * columns)
  for (let j = 0; j < n; j++)
    for (let i = 0; i < m; i++) weight[isTall ? i * n + j : j * m + i] = q[j][i] * Math.sign(a[j][j])
  return weight
}

// Scales in place, rounding to float32 after each factor, as torch does.
const scale = (weight, ...factors) => {
  for (const factor of factors) for (let i = 0; i < weight.length; i++) weight[i] *= Math.fround(factor)
  return weight
}

const normal = (std) => (source, rows, columns) => scale(source.normal(rows * columns), std(columns, rows))
const fanIn = normal((ins) => ins ** -0.5)
const xavier = normal((ins, outs) => Math.sqrt(2 / (ins + outs)))
const INITS = {
  "fan-in": fanIn,
  he: normal((ins) => Math.sqrt(2 / ins)),
  xavier,
  torch: (source, rows, columns) => {
    const bound = columns ** -0.5
    return source.uniform(rows * columns).map((drawn) => drawn * Math.fround(2 * bound) - Math.fround(bound))
  },
  orthogonal,
  "normal 0.02": normal(() => 0.02),
  gpt2: fanIn,
  "zero last": fanIn,
  deepnorm: xavier,
}
const ON_OUTPUTS = { gpt2: (sublayers) => sublayers ** -0.5, "zero last": () => 0 }

// Draws every matrix of a net of so many sublayers; all other parameters have their start.
export const initialise = (parameters, cfg, sublayers, readsSymbols) => {
  for (const { name, rows, columns, isMatrix, value } of parameters.list) {
    if (!isMatrix) continue
    const source = generator(cfg.seed, name)
    if (name === "embed.weight" && readsSymbols) {
      value.set(source.normal(rows * columns))
    } else if (name === "position.table_TD") {
      value.set(scale(source.normal(rows * columns), Math.SQRT1_2))
    } else if (name === "embed.weight") {
      value.set(scale(orthogonal(source, rows, columns), Math.sqrt(Math.max(rows, columns) / columns)))
    } else if (name === "head.weight") {
      value.set(fanIn(source, rows, columns))
    } else {
      const onOutputs = OUTPUT.test(name) ? (ON_OUTPUTS[cfg.init]?.(sublayers) ?? 1) : 1
      const onAll = cfg.init === "deepnorm" && !QUERY_OR_KEY.test(name) ? (4 * sublayers) ** -0.25 : 1
      value.set(scale(INITS[cfg.init](source, rows, columns), onOutputs, onAll, cfg.init_gain))
    }
  }
}
