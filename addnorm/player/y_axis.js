// The kinds of y axes: their ranges and ticks, and the marks of values that they cannot show. Pure.

import { brief, power } from "./number.js"
import { hues } from "./style.js"

const MIN_RANGE = 1e-6 // used for the padding of a linear axis whose values are all equal
const EMPTY_RANGE = [-0.03, 1.05] // bounds of a linear axis without a value other than 0; they suit shares
const CROSS_HEIGHT = 0.97 // height of crosses at divergences, as a share of the axis
const MARK_INSET = 0.002 // distance of marks from the edge of a log axis, as a share of its range
const PADDING = 0.06 // beyond the values of a linear axis, as a share of their range
const MAX_LOSS_FACTOR = 4 // top of a loss axis, in units of the larger of the first loss and the loss of guessing
const LOSS_PADDING = 1.08 // top of a loss axis, in units of the largest loss it shows
export const TOP_RIGHT = {
  x: 1,
  xref: "paper",
  xanchor: "right",
  y: 1,
  yref: "paper",
  showarrow: false,
  font: { size: 12 },
}

const finite = Number.isFinite
const finiteOrNull = (values) => Array.from(values, (value) => (finite(value) ? value : null))

// The log10 bounds of an axis over all finite positive values: at least two decades, and at least the previous range.
export const logRange = (previous, ...arrays) => {
  let [least, greatest] = [Infinity, -Infinity]
  for (const values of arrays)
    for (const value of values)
      if (value > 0 && finite(value)) {
        least = Math.min(least, value)
        greatest = Math.max(greatest, value)
      }
  let [low, high] = previous ?? [Infinity, -Infinity]
  if (least <= greatest) {
    low = Math.min(low, Math.floor(2 * Math.log10(least) - 0.2) / 2)
    high = Math.max(high, Math.ceil(2 * Math.log10(greatest) + 0.2) / 2)
  }
  if (low > high) return [-1, 1]
  const missing = Math.ceil(Math.max(0, 2 - (high - low))) / 2 // two decades at least
  return [low - missing, high + missing]
}

export const tickText = (exponent) => (exponent ? power(exponent) : "1")

// Up to seven evenly spaced integer exponents between two log10 bounds.
export const powers = (low, high) => {
  const spacing = Math.max(1, Math.ceil((high - low) / 6))
  const exponents = []
  for (let exponent = Math.ceil(low); exponent <= Math.floor(high); exponent += spacing) exponents.push(exponent)
  return exponents
}

// Returns an array with a trace of marks at height `y`, for the values for which `isMarked` holds; empty without any.
// Undefined values were not measured and get no mark. A reference line has open, larger marks in its colour.
const marksWhere = (name, symbol, trace, isMarked, y) => {
  const { values } = trace
  const indices = [...values.keys()].filter((i) => values[i] !== undefined && isMarked(values[i], i))
  if (!indices.length) return []
  const isReference = (trace.beside || trace.bind.kind === "fixed") && trace.role !== "now"
  const marks = {
    type: "scatter",
    name,
    meta: trace.meta ?? trace.name,
    mode: "markers",
    x: indices,
    y: indices.map((i) => (typeof y === "function" ? y(i) : y)),
    text: indices.map((i) => trace.text?.[i] ?? String(trace.x?.[i] ?? i)),
    names: trace.names && indices.map((i) => trace.names[i]),
    customdata: indices.map((i) => brief(values[i], 4)),
    marker: isReference
      ? { color: trace.line.color, symbol: `${symbol}-open`, size: 14, line: { width: 2 } }
      : { color: hues.red, symbol, size: 9 },
    cliponaxis: false,
    legendgroup: name,
    hovertemplate: "%{text}: %{customdata}<extra>%{meta}</extra>",
  }
  return [marks]
}

// Returns a trace that draws nothing but keeps its entry in the legend, with a reason. `declared` is its declared name.
export const legendEntry = ({ bind: _, values: __, name, ...trace }, reason) => ({
  ...trace,
  name: `${name}: ${reason}`,
  declared: name,
  hoverinfo: "skip",
  x: [null],
  y: [null],
})

// Returns the lines with gaps at non-finite values, and marks at the lower edge in their place.
const linesWithGaps = (traces, name, low) =>
  traces.flatMap((trace) => {
    if (!trace.values) return [trace]
    return [
      { ...trace, y: finiteOrNull(trace.values) },
      ...marksWhere(name, "x", trace, (value) => !finite(value), low),
    ]
  })

const withHeights = (trace) => ({ ...trace, y: trace.y ?? finiteOrNull(trace.values) })
// Returns a line of losses, with marks at the top for those beyond it; crosses stand at the top.
const lossBelow = (top, trace) => {
  const { bind, values, x } = trace
  if (bind?.kind === "crosses") return [{ ...trace, y: x.map(() => top * CROSS_HEIGHT) }]
  const isBandEdge = trace.showlegend === false && bind?.fold
  if (isBandEdge || !values?.some((value) => value > top)) return [withHeights(trace)]
  const marks = marksWhere("beyond the axis", "triangle-up", trace, (value) => value > top, top * CROSS_HEIGHT)
  return [withHeights(trace), ...marks.map((mark) => ({ ...mark, x: mark.x.map((i) => x[i]) }))]
}

// A function for each kind of y axis: returns the traces with their `y`, and the axis. `layoutState` holds ranges, which
// never shrink.
export const Y_AXES = {
  ""(traces, { top }) {
    return { traces: top ? traces.flatMap((trace) => lossBelow(top, trace)) : traces.map(withHeights) }
  },
  log(traces, { zero }, layoutState) {
    const isZero = (value) => (zero ? finite(value) && value <= 0 : value === 0)
    const valuesOf = (selected) => selected.map((trace) => trace.values ?? trace.y)
    const current = valuesOf(traces.filter((trace) => !trace.beside))
    const range = logRange(layoutState.y, ...current)
    if (current.some((values) => values.length)) layoutState.y = range
    const [low, high] = logRange(range, ...valuesOf(traces)) // holds a line of another run as long as that is drawn
    const inset = MARK_INSET * (high - low) // plotly drops a mark that rounding pushes over the edge
    const drawn = traces.flatMap((trace) => {
      const { values } = trace
      if (!values) return [trace]
      const line = { ...trace, y: Array.from(values, (value) => (value > 0 && finite(value) ? value : null)) }
      if (trace.showlegend === false && trace.bind.fold) return [line] // an edge of a band
      return [
        line,
        ...marksWhere(zero ?? "exactly 0", "triangle-down", trace, isZero, 10 ** (low + inset)),
        ...marksWhere("not finite", "triangle-up", trace, (value) => !finite(value), 10 ** (high - inset)),
      ]
    })
    const exponents = powers(low, high)
    const tickvals = exponents.map((exponent) => 10 ** exponent)
    const ticktext = exponents.map(tickText)
    return { traces: drawn, yaxis: { type: "log", range: [low, high], tickmode: "array", tickvals, ticktext } }
  },
  // Without `bounds` the axis covers all finite values and guides, with some padding.
  linear(traces, { bounds, guides = [], lost = "no value" }, layoutState) {
    let [least, greatest] = layoutState.y ?? [Infinity, -Infinity]
    for (const values of [guides, ...traces.map((trace) => trace.values ?? trace.y)])
      for (const value of values)
        if (finite(value)) [least, greatest] = [Math.min(least, value), Math.max(greatest, value)]
    if (least <= greatest) layoutState.y = [least, greatest]
    const size = Math.max(Math.abs(least), Math.abs(greatest))
    const padding = PADDING * Math.max(greatest - least, MIN_RANGE, 0.01 * size)
    const [low, high] = bounds ?? (finite(size) && size ? [least - padding, greatest + padding] : EMPTY_RANGE)
    return { traces: linesWithGaps(traces, lost, low), yaxis: { range: [low, high] } }
  },
  cosine(traces) {
    const measured = traces.filter((trace) => !trace.values || trace.values.some(finite))
    let low = -0.25
    for (const trace of measured)
      for (const value of trace.values ?? trace.y) if (finite(value)) low = Math.min(low, value - 0.1)
    // One cross at the last value before a line breaks off: what follows has no direction either.
    const drawn = measured.flatMap((trace) => {
      const { values } = trace
      const isBreak = (value, i) => i > 0 && !finite(value) && finite(values[i - 1])
      if (!values) return [trace]
      return [
        { ...trace, y: finiteOrNull(values) },
        ...marksWhere("no direction from here", "x", trace, isBreak, (i) => values[i - 1]),
      ]
    })
    return { traces: drawn, yaxis: { range: [low, 1.08] } }
  },
  // The top is at most four times the larger of the loss of guessing (`chance`) and the first loss; larger losses are marked.
  loss(traces, { chance = 0 }, layoutState) {
    const lossesOf = (selected) =>
      selected.flatMap(({ bind, column, values }) => Array.from(column ?? (bind?.kind === "frames" ? values : [])))
    const own = lossesOf(traces.filter(({ beside }) => !beside))
    const losses = [...own, ...lossesOf(traces.filter(({ beside }) => beside))] // the axis holds both
    if (losses.some((value) => value < 0)) return Y_AXES.linear(traces, { bounds: undefined, guides: [0] }, layoutState)
    const largestOf = (values) => values.reduce((max, value) => (finite(value) ? Math.max(max, value) : max), -Infinity)
    const largest = largestOf(losses)
    const limit = MAX_LOSS_FACTOR * Math.max(chance, own.find(finite) ?? 0)
    const top = finite(largest) ? LOSS_PADDING * Math.max(chance * 1.2, Math.min(largest, limit)) : 1.3 * chance
    const drawn = traces.flatMap((trace) => lossBelow(top, trace))
    const ownLargest = largestOf(own)
    const note = { ...TOP_RIGHT, text: `up to ${brief(ownLargest)}`, yanchor: "top" }
    return { traces: drawn, yaxis: { range: [0, top] }, annotations: ownLargest > top ? [note] : [] }
  },
}
