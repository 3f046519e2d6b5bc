// Fills the numbers of logs into a declared figure. Pure: it touches no page.

import { commonPrefix, shorten } from "./names.js"
import { brief, power } from "./number.js"
import { colourAt, enlargedLayout, enlargedTrace, hues, inkOn, styledTrace } from "./style.js"

/** @import { Moment } from "./playhead.js" */

const MAX_POINTS = 300 // of a line
const [MAX_MAP_STEPS, MAX_MAP_SITES] = [150, 150]
const MIN_RANGE = 1e-6 // of a linear axis whose values are all equal
const FAR_DECADES = 2 // a previous profile farther beyond a log axis is left out
const EMPTY_RANGE = [-0.03, 1.05] // of a linear axis without a value other than 0; it suits shares
const [SMALLEST, LARGEST] = [1e-300, 1e300] // absolute values that are drawn; beyond them the ends of an axis over- or underflow
const CROSS_HEIGHT = 0.97 // share of the top of the axis
const [ENTIRE_WIDTH, ENTIRE_HEIGHT] = [
  { type: "line", xref: "paper", x0: 0, x1: 1 },
  { type: "line", yref: "paper", y0: 0, y1: 1 },
]
const TOP_RIGHT = { x: 1, xref: "paper", xanchor: "right", y: 1, yref: "paper", showarrow: false, font: { size: 12 } }

/** @typedef {Moment & { dark?: boolean, rows?: string[], marked?: boolean }} ChartMoment a moment, with properties of the chart */

const finite = Number.isFinite
const roundTo4 = (value) => Number(value.toPrecision(4)) // significant digits
const NON_FINITE = { nan: NaN, inf: Infinity, "-inf": -Infinity }
const decodeNumber = (json) => (json === null ? undefined : typeof json === "string" ? NON_FINITE[json] : json) // undefined: not measured
const clampSize = (value) => {
  const size = Math.abs(value)
  if (size > LARGEST && finite(value)) return Math.sign(value) * LARGEST
  return size < SMALLEST && size > 0 ? Math.sign(value) * SMALLEST : value
}
const finiteOrNull = (values) => Array.from(values, (value) => (finite(value) ? value : null))
const round3 = (value) => Math.round(value * 1000) / 1000

// Indices that preserve the shape of a long line: both ends, and the minimum and maximum of every bucket.
export const decimate = (values, points = MAX_POINTS) => {
  const count = values.length
  if (count <= points) return Array.from(values, (_, i) => i)
  const indices = new Set([0, count - 1])
  const buckets = Math.floor(points / 2) - 1
  for (let bucket = 0; bucket < buckets; bucket++) {
    const start = Math.floor((bucket * count) / buckets)
    const end = Math.floor(((bucket + 1) * count) / buckets)
    let [least, greatest] = [start, start]
    for (let i = start; i < end; i++) {
      if (values[i] < values[least] || Number.isNaN(values[least])) least = i
      if (values[i] > values[greatest] || Number.isNaN(values[greatest])) greatest = i
    }
    indices.add(least).add(greatest)
  }
  return [...indices].sort((a, b) => a - b)
}

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

const tickText = (exponent) => (exponent ? power(exponent) : "1")

// Up to seven evenly spaced integer exponents between two log10 bounds.
export const powers = (low, high) => {
  const every = Math.max(1, Math.ceil((high - low) / 6))
  const exponents = []
  for (let exponent = Math.ceil(low); exponent <= Math.floor(high); exponent += every) exponents.push(exponent)
  return exponents
}

// The ticks of a colour bar over rows of logarithms.
const colourTicks = (rows) => {
  let [low, high] = [Infinity, -Infinity]
  for (const row of rows)
    for (const value of row) if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)]
  if (low > high) return {}
  if (high - low >= 1) return { tickvals: powers(low, high), ticktext: powers(low, high).map(tickText) }
  const ends = [...new Set([low, (low + high) / 2, high].map(round3))].sort((a, b) => a - b)
  return { tickvals: ends, ticktext: ends.map((end) => brief(10 ** end, 2)) }
}

// Each takes the sorted finite values of all seeds.
const FOLDS = {
  median: (values, log) => {
    const [left, right] = [values[(values.length - 1) >> 1], values[values.length >> 1]]
    return left === right ? left : log ? Math.sqrt(left * right) : (left + right) / 2
  },
  least: (values) => values[0],
  greatest: (values) => values.at(-1),
}
const foldValues = (values, { fold, log }) => {
  const sorted = values.filter(finite).sort((a, b) => a - b)
  return sorted.length ? FOLDS[fold](sorted, log) : NaN
}
// A track of one seed, or the element-wise fold over all seeds; `trackOf(seed)` returns the track of a seed.
const foldSeeds = (bind, { seeds }, trackOf) => {
  if (!bind.fold) return trackOf(bind.seed)
  const tracks = Array.from({ length: seeds }, (_, seed) => trackOf(seed))
  const valuesAt = (index) => tracks.map((track) => track[index])
  return Float64Array.from(tracks[0], (_, index) => foldValues(valuesAt(index), bind))
}
// A scalar of the frames seen so far, by step: of one seed, or the fold over the seeds that have a value there.
/** @param {ChartMoment} moment */
const valuesOfFrames = (bind, log, moment) => {
  const { track, fold, seed } = bind
  const valuesByStep = new Map()
  if (!log?.length || !hasStarted(moment)) return valuesByStep
  for (const member of fold ? log.frames.keys() : [seed])
    for (const frame of log.frames[member] ?? [])
      if (frame.step <= moment.furthest && frame[track] !== null)
        valuesByStep.set(frame.step, [...(valuesByStep.get(frame.step) ?? []), frame[track]])
  const entries = [...valuesByStep].sort(([a], [b]) => a - b)
  return new Map(entries.map(([step, values]) => [step, fold ? foldValues(values, bind) : values[0]]))
}
// Element-wise up to the end of the shorter; `values` themselves without `others`.
const combine = (values, others, operation) =>
  others ? Float64Array.from(values.slice(0, others.length), (value, i) => operation(value, others[i])) : values

// A trace of marks at height `y` for the values of a trace that `isMarked`; none for undefined, which was not measured.
// Marks of a reference line are open and larger, in its colour.
const marksWhere = (name, symbol, trace, isMarked, y) => {
  const { values } = trace
  const indices = [...values.keys()].filter((i) => values[i] !== undefined && isMarked(values[i], i))
  if (!indices.length) return []
  const isReference = trace.bind.kind === "fixed" && trace.role !== "now"
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

// A heatmap trace of `cells`: of their logarithms if `log`, on a scale symmetric about 0 if `signed`.
const colourCells = (trace, cells, { log = true, signed = false } = {}) => {
  const colour = (value) =>
    !finite(value) || (log && value <= 0) ? null : log ? round3(Math.log10(value)) : roundTo4(value)
  const z = cells.map((row) => row.map(colour))
  const largest = signed && (Math.max(0, ...z.flat().map(Math.abs)) || 1)
  const range = signed ? { zmin: -largest, zmax: largest } : {}
  const ends = trace.zmin === undefined ? z : [[trace.zmin, trace.zmax]]
  return {
    ...trace,
    ...range,
    ...(trace.texttemplate && cellTexts({ ...trace, ...range, z })),
    z,
    customdata: cells.map((row) => row.map((value) => (finite(value) ? roundTo4(value) : null))),
    cells,
    log,
    values: [],
    ...(trace.colorbar && { colorbar: { ...trace.colorbar, ...(log && colourTicks(ends)) } }),
    showscale: Boolean(trace.colorbar) && z.flat().some((value) => value !== null),
  }
}

// The texts of cells in black or white, whichever contrasts with the cell; the hover text stays plain.
const cellTexts = ({ z, zmin, zmax, colorscale, text, hovertext, hovertemplate }) => {
  const ink = (value) => inkOn(colourAt(colorscale, Math.min(Math.max((value - zmin) / (zmax - zmin), 0), 1)))
  const inked = (value, label) =>
    value === null || !label ? label : `<span style="color:${ink(value)}">${label}</span>`
  return {
    text: text.map((row, y) => row.map((label, x) => inked(z[y][x], label))),
    hovertext: hovertext ?? text,
    hovertemplate: hovertemplate.replace("%{text}", "%{hovertext}"),
  }
}

// By kind of binding: returns the trace with its numbers in `values`, read from its log at a moment.
/** @type {Record<string, (trace: any, log: any, moment: ChartMoment) => any>} */
const FILL = {
  fixed: (trace) => ({ ...trace, values: trace.bind.values.map(decodeNumber) }),
  cells: (trace) => {
    const cells = trace.bind.values.map((row) => row.map(decodeNumber))
    return colourCells(trace, cells, trace.bind)
  },
  row(trace, log, moment) {
    const { bind } = trace
    const position = (runLog) => (bind.first ? 0 : runLog.drawnPosition(moment))
    const vectorOf = (runLog, track) =>
      runLog?.length ? foldSeeds(bind, runLog, (seed) => runLog.vector(track, position(runLog), seed)) : []
    const divisorLog = bind.over ? log : moment.logs[bind.against]
    const divisors = divisorLog ? vectorOf(divisorLog, bind.over || bind.track) : null
    const vector = combine(vectorOf(log, bind.track), divisors, (value, divisor) => value / divisor)
    const values = vector.filter((_, i) => i % (bind.every ?? 1) === (bind.start ?? 0))
    const step = moment.playing ? null : log.steps[log.rowsUntil(moment.shown) - 1]
    return { ...trace, ...traceNames(trace, log, step), values }
  },
  frame(trace, log, moment) {
    const frame = log.frame(trace.bind.first ? 0 : moment.shown, trace.bind.seed, trace.bind.track)
    const values = (frame?.[trace.bind.track] ?? []).map((value) => value ?? NaN)
    return { ...trace, ...traceNames(trace, log, frame?.step ?? 0), values }
  },
  past(trace, log, moment) {
    const { bind } = trace
    const rowsOf = (runLog) => runLog.rowsUntil(moment.furthest)
    if (!rowsOf(log) || !hasStarted(moment)) return { ...trace, x: [], y: [], values: [] }
    const columnOf = (runLog) => foldSeeds(bind, runLog, (seed) => runLog.column(bind.track, rowsOf(runLog), seed))
    const others = bind.against === null ? null : columnOf(moment.logs[bind.against])
    const values = combine(columnOf(log), others, (value, other) => value - other)
    const indices = new Set(decimate(values))
    if (moment.marked) indices.add(Math.min(log.rowsUntil(moment.shown), values.length) - 1)
    const rows = [...indices].sort((a, b) => a - b).filter((row) => finite(values[row]))
    const x = rows.map((row) => log.steps[row])
    return { ...trace, ...traceNames(trace, log), x, values: rows.map((row) => values[row]), column: values }
  },
  frames(trace, log, moment) {
    const { bind } = trace
    const values = valuesOfFrames(bind, log, moment)
    const others = bind.against === null ? null : valuesOfFrames(bind, moment.logs[bind.against], moment)
    const x = [...values.keys()].filter((step) => !others || others.has(step))
    return { ...trace, x, values: x.map((step) => values.get(step) - (others?.get(step) ?? 0)) }
  },
  crosses(trace, log, moment) {
    const { track, seed } = trace.bind
    const steps = []
    const texts = []
    const divergence = log.state.outcomes[seed]?.step ?? Infinity // of this seed; others may go on
    if (log.length && hasStarted(moment)) {
      for (let row = 0; row < log.rowsUntil(Math.min(moment.furthest, divergence)); row++) {
        const step = log.steps[row]
        const value = log.number(track, step, seed)
        if (value === undefined || (finite(value) && step !== divergence)) continue
        steps.push(step)
        texts.push(brief(value, 4))
      }
    }
    return { ...trace, x: steps, values: [], customdata: texts }
  },
  map(trace, log, moment) {
    const steps = spacedIndices(hasStarted(moment) ? log.rowsUntil(moment.furthest) : 0, MAX_MAP_STEPS).map(
      (row) => log.steps[row],
    )
    const rows = steps.map((step) => log.vector(trace.bind.track, step, trace.bind.seed))
    const { fullNames, ...siteRows } = mapRows(log.isRecording ? log.placeNames(trace.bind.track) : moment.rows)
    const cells = siteRows.y.map((site) => rows.map((row) => row[site]))
    return { ...colourCells(trace, cells), ...siteRows, text: fullNames.map((name) => steps.map(() => name)), x: steps }
  },
  bins(trace, log, moment) {
    const { track, ends, seed } = trace.bind
    const frame = log.frame(moment.shown, seed, track)
    const count = frame ? log.header.about.bins : 0
    const x = Array.from({ length: count }, (_, bin) => ends * ((2 * bin + 1) / count - 1)) // bin centres
    const { fullNames, ...siteRows } = mapRows(count ? log.placeNames("act_rms") : [])
    const binsOf = (site) => frame[track].slice(site * count, (site + 1) * count)
    const cells = siteRows.y.map((site) => binsOf(site).map((value) => value ?? NaN))
    const map = colourCells(trace, cells)
    const { title } = map.colorbar
    const colorbar = { ...map.colorbar, title: { ...title, text: `${title.text}<br>step ${frame?.step}` } }
    return { ...map, colorbar, ...siteRows, text: fullNames.map((name) => x.map(() => name)), x }
  },
}

// By kind of y axis: returns the traces with their `y`, and the axis. `layoutState` holds ranges, which never shrink.
const AXES = {
  ""(traces, { top }) {
    const heightsOf = ({ bind, x, y, values }) =>
      bind?.kind === "crosses" ? x.map(() => top * CROSS_HEIGHT) : (y ?? finiteOrNull(values))
    return { traces: traces.map((trace) => ({ ...trace, y: heightsOf(trace) })) }
  },
  log(traces, { zero }, layoutState) {
    const isZero = (value) => (zero ? finite(value) && value <= 0 : value === 0)
    const valuesOf = (some) => some.map((trace) => trace.values ?? trace.y)
    const current = valuesOf(traces.filter((trace) => !trace.bind?.previous))
    const range = logRange(layoutState.y, ...current)
    if (current.some((values) => values.length)) layoutState.y = range
    const [least, greatest] = [10 ** (range[0] - FAR_DECADES), 10 ** (range[1] + FAR_DECADES)]
    const isNear = ({ bind, values }) => !bind?.previous || values.every((value) => value >= least && value <= greatest)
    const [low, high] = logRange(range, ...valuesOf(traces.filter(isNear)))
    const inset = 0.002 * (high - low) // plotly drops a mark that rounding pushes over the edge
    const drawn = traces.flatMap((trace) => {
      const { values } = trace
      if (!values) return [trace]
      if (!isNear(trace)) return [legendEntry(trace, "far off this axis")]
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
    const padding = 0.06 * Math.max(greatest - least, MIN_RANGE, 0.01 * size)
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
    const losses = traces.flatMap((trace) => Array.from(trace.column ?? []))
    if (losses.some((value) => value < 0)) return AXES.linear(traces, { bounds: undefined, guides: [0] }, layoutState)
    const largest = losses.reduce((max, value) => (finite(value) ? Math.max(max, value) : max), -Infinity)
    const first = losses.find(finite)
    const top = finite(largest)
      ? 1.08 * Math.max(chance * 1.2, Math.min(largest, 4 * Math.max(chance, first)))
      : 1.3 * chance
    const drawn = traces.flatMap((trace) => {
      if (!trace.values) return trace
      if (trace.bind.kind === "crosses") return { ...trace, y: trace.x.map(() => top * CROSS_HEIGHT) }
      if (trace.bind.kind !== "past" || !(largest > top)) return { ...trace, y: trace.values }
      const line = {
        ...trace,
        y: trace.values.map((value) => Math.min(value, 1.5 * top)),
        customdata: trace.values,
        hovertemplate: trace.hovertemplate?.replace("%{y:", "%{customdata:"),
      }
      const overTop = marksWhere("beyond the axis", "triangle-up", trace, (value) => value > top, top * CROSS_HEIGHT)
      return [line, ...overTop.map((marks) => ({ ...marks, x: marks.x.map((i) => trace.x[i]) }))]
    })
    const note = { ...TOP_RIGHT, text: `up to ${brief(largest)}`, yanchor: "top" }
    return { traces: drawn, yaxis: { range: [0, top] }, annotations: largest > top ? [note] : [] }
  },
}

// A trace that draws nothing but keeps its entry in the legend, with a reason; `declared`: its declared name.
const legendEntry = ({ bind: _, values: __, name, ...trace }, reason) => ({
  ...trace,
  name: `${name}: ${reason}`,
  declared: name,
  hoverinfo: "skip",
  x: [null],
  y: [null],
})

// Lines with gaps at non-finite values, and marks there at the lower edge.
const linesWithGaps = (traces, name, low) =>
  traces.flatMap((trace) => {
    if (!trace.values) return [trace]
    return [
      { ...trace, y: finiteOrNull(trace.values) },
      ...marksWhere(name, "x", trace, (value) => !finite(value), low),
    ]
  })

// Whether this viewer has seen any training: before that, charts show none, even if the run has been trained.
/** @param {Pick<Moment, "furthest" | "playing">} moment */
export const hasStarted = ({ furthest, playing }) => Boolean(furthest || playing)

// Up to `max` evenly spaced indices below `count`, with both ends.
const spacedIndices = (count, max) => {
  const points = Math.min(count, max)
  return Array.from({ length: points }, (_, i) => Math.round((i * (count - 1)) / Math.max(1, points - 1)))
}

// Fills the step into a name; null, for a moving playhead, fills in "now": a changing legend would be laid out every frame.
const fillStep = (text, step) => (step === null ? text.replace("step {step}", "now") : text.replace("{step}", step))
// The name of a trace with file and step filled in; for a recording also the model's names of the places.
const traceNames = (trace, log, step) => {
  if (!log.isRecording)
    return step === undefined || trace.bind.kind === "row" ? {} : { name: fillStep(trace.name, step) }
  const name = fillStep(trace.name.replace("{name}", shorten(log.name, 30)), step)
  return { name, meta: name, ...(trace.bind.kind !== "past" && { text: log.placeNames(trace.bind.track) }) }
}
// The rows of a map: which sites are drawn (`y`), their names in full and without the common prefix.
const mapRows = (names) => {
  const y = spacedIndices(names.length, MAX_MAP_SITES)
  const { titleSuffix, shortNames } = stripPrefix([names])
  return { y, titleSuffix, fullNames: y.map((site) => names[site]), names: y.map((site) => shortNames[0][site]) }
}
// Lists of names without their common prefix, and the prefix as words for the title of the axis.
const stripPrefix = (lists) => {
  const prefix = commonPrefix(lists)
  const isShared = lists.flat().every((name) => name.startsWith(prefix))
  const titleSuffix = prefix && `${isShared ? "" : ", mostly"} in ${shorten(prefix.slice(0, -1), 40)}`
  const strip = (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name)
  return { titleSuffix, shortNames: lists.map((names) => names.map(strip)) }
}

// An x axis over depth: some names of places, or shares of the depth if the logs have different places. Traces of
// recordings get `names` without the common prefix.
const depthAxis = (traces, logs, declared) => {
  const drawn = traces.filter((trace) => trace.values?.length)
  const recorded = drawn.filter((trace) => logs[trace.bind.run]?.isRecording)
  const { titleSuffix, shortNames } = stripPrefix(recorded.map((trace) => trace.text))
  for (const [index, trace] of recorded.entries()) trace.names = shortNames[index]
  const title = { ...declared.title, text: declared.title.text + titleSuffix }
  const names = recorded[0]?.names ?? []
  const samePlaces =
    drawn.every((trace) => trace.values.length === drawn[0].values.length) &&
    recorded.every((trace) => String(trace.names) === String(names))
  if (samePlaces) return { title, ...depthTicks(names) }
  for (const trace of drawn) trace.x = trace.x.map((place) => place / Math.max(1, trace.x.length - 1))
  return { title, tickvals: [0, 0.5, 1], ticktext: ["first", "middle", "last"], tickmode: "array" }
}
// Horizontal tick labels: five while all names are short, else three, the outer ones inside the ends. Near those places it
// prefers the name of a block to that of one of its parts: 0, 2, 5 instead of 0.attn, 2, 5.attn.
const depthTicks = (names) => {
  if (names.every((name) => name.length < 5)) return namedTicks(names, spacedIndices(names.length, 5), 4)
  const blockNear = (i) => [i + 1, i - 1].find((near) => names[i].startsWith(`${names[near]}.`)) ?? i
  const places = [0.12, 0.5, 0.88].map((share) => blockNear(Math.round(share * (names.length - 1))))
  return namedTicks(names, [...new Set(places)], 12)
}
const namedTicks = (names, indices, maxLetters) => ({
  tickmode: "array",
  tickvals: indices,
  ticktext: indices.map((i) => shorten(names[i], maxLetters)),
})

// Guides at the limits of number formats within the range of a log axis.
const formatLimits = (limits, { range: [low, high] }) => {
  const visible = limits.filter(({ at }) => Math.log10(at) > low && Math.log10(at) < high)
  const line = { color: hues.grey, width: 1, dash: "dot" }
  const hovertext = "The limit of a number format. Single numbers lie well above and below their RMS."
  const annotation = { ...TOP_RIGHT, yref: "y", yanchor: "bottom", font: { size: 12 }, hovertext }
  return {
    shapes: visible.map(({ at }) => ({ ...ENTIRE_WIDTH, y0: at, y1: at, line })),
    annotations: visible.map(({ at, name }) => ({ ...annotation, text: name, y: Math.log10(at) })),
  }
}

const stepLine = (step, color, width) => ({ ...ENTIRE_HEIGHT, x0: step, x1: step, line: { color, width } })
const LINES = {
  "": () => [],
  line: (step) => [stepLine(step, hues.grey, 1.5)],
  map: (step) => [stepLine(step, "#111111", 4), stepLine(step, "#ffffff", 2)], // visible on every colour
}

// A map, a second map over its cells without a colour (zeros grey, non-finite ones red), and how many those are, in words.
const splitLostCells = (trace) => {
  if (!trace.cells || trace.type === "contour" || trace.bind.bare) return { traces: [trace], words: [] }
  const kind = (value) => (value === 0 && trace.log ? 0 : value === undefined || finite(value) ? null : 1)
  const z = trace.cells.map((row) => row.map(kind))
  const [zeros, nonFinite] = [0, 1].map((cellKind) => z.flat().filter((cell) => cell === cellKind).length)
  if (!zeros && !nonFinite) return { traces: [trace], words: [] }
  const { type, x, y, text, names, hoverongaps } = trace
  const lost = {
    ...{ type, x, y, text, names, hoverongaps, z },
    name: trace.log ? "zero or not finite" : "not finite",
    customdata: trace.cells.map((row, y) => row.map((value, x) => (z[y][x] === null ? null : brief(value, 4)))),
    hovertemplate: trace.hovertemplate.replace(":.4g", ""),
    zmin: 0,
    zmax: 1,
    colorscale: [
      [0, hues.grey],
      [1, hues.red],
    ],
    showscale: false,
  }
  const words = []
  if (zeros) words.push(`${zeros} exactly 0 (grey)`)
  if (nonFinite) words.push(`${nonFinite} not finite (red)`)
  return { traces: [trace, lost], words }
}

// The trace with its hover numbers in the notation of sentences; plotly would write 6.900e-7.
const FORMATTED = /%\{(customdata|x|y):\.4g\}/
export const withSpelledNumbers = (trace) => {
  const [placeholder, attribute] = trace.hovertemplate?.match(FORMATTED) ?? []
  if (!placeholder) return trace
  const spell = (value) => (Array.isArray(value) ? value.map(spell) : finite(value) ? brief(value, 4) : value)
  const hovertemplate = trace.hovertemplate.replace(placeholder, "%{customdata}")
  return { ...trace, customdata: Array.from(trace[attribute], spell), hovertemplate }
}

// Ticks at a few places, with both ends. A repeated label stands at its last place; blocks get a tick every quarter.
const placeTicks = ({ labels, blocks, max_ticks: maxTicks = 5 }) => {
  const lastPlaces = new Map(labels.map((label, place) => [label, place]))
  const texts = [...lastPlaces.keys()]
  const quarters = blocks && [0, 1, 2, 3, 4].map((i) => String(Math.round((i / 4) * Number(texts.at(-1)))))
  const ticktext = quarters
    ? texts.filter((text, i) => !i || quarters.includes(text))
    : spacedIndices(texts.length, maxTicks).map((i) => texts[i])
  return { tickmode: "array", tickvals: ticktext.map((text) => lastPlaces.get(text)), ticktext }
}

// Kinds of bindings: with steps as x, where all others have places; and with declared numbers.
const OVER_STEPS = ["past", "frames", "crosses"]
const DECLARED = ["fixed", "cells"]

const modelOf = (log) => log.header?.about?.model // undefined for runs of the playground

// A declared trace with its style and its numbers.
/** @param {ChartMoment} moment */
const fillTrace = (declared, { hue, places }, moment) => {
  const trace = styledTrace(declared, hue, moment.dark)
  const { bind } = trace
  if (!bind?.kind) return trace
  const log = moment.logs[bind.run]
  if (!log?.header && !DECLARED.includes(bind.kind)) return { ...trace, x: trace.x ?? [], values: [] }
  if (bind.alike && modelOf(log) !== modelOf(moment.logs[0])) {
    const entry = legendEntry(trace, "another task")
    return { ...entry, name: entry.name.replace("{name}", shorten(log.name, 30)) }
  }
  const filled = FILL[bind.kind](trace, log, moment)
  const { values } = filled
  if (!OVER_STEPS.includes(bind.kind) && !filled.cells) {
    filled.x ??= [...values.keys()]
    const hasNames = places && (bind.kind !== "still" || places.names.length === values.length)
    filled.text ??= hasNames ? places.names : Array.from(values, (_, i) => `site ${i}`)
  }
  if (bind.previous && !values.every(finite)) return legendEntry(filled, "not finite")
  const withStep = (text) => text && fillStep(text, moment.playing ? null : moment.shown)
  return {
    ...filled,
    values: values.map(clampSize),
    ...(filled.column && { column: filled.column.map(clampSize) }),
    name: withStep(filled.name),
    ...(filled.meta && { meta: withStep(filled.meta) }),
  }
}
// A line of several seeds becomes their median on a band from minimum to maximum.
const bandTraces = (trace) => {
  if (trace.bind?.fold !== "median") return [trace]
  return ["least", "greatest", "median"].map((fold) => ({ ...trace, bind: { ...trace.bind, fold } }))
}

// Attributes of our own, which plotly does not know.
const PRIVATE = ["bind", "values", "column", "cells", "log", "titleSuffix", "role", "hue", "shade", "thin"]

// The figure to draw. `layoutState`: an object that lives as long as the chart.
/**
 * @param {{ data: any[], layout: any }} declared
 * @param {ChartMoment} moment
 */
export const fillFigure = ({ data, layout }, moment, layoutState) => {
  const { bind = {}, ...declared } = layout
  const chartMoment = { ...moment, rows: bind.rows?.names, marked: Boolean(bind.line) }
  const bound = data.flatMap(bandTraces).map((trace) => fillTrace(trace, bind, chartMoment))
  const xaxis = {
    ...(bind.places && placeTicks(bind.places)),
    ...declared.xaxis,
    ...(bind.depth && depthAxis(bound, moment.logs, declared.xaxis)),
  }
  const axis = AXES[bind.axis ?? ""](bound, bind, layoutState)
  if (bind.reaches) xaxis.range = [0, Math.max(1, ...moment.logs.map((log) => log.last))]
  const limits = formatLimits(bind.limits ?? [], axis.yaxis ?? { range: [0, 0] })
  const annotations = [...(declared.annotations ?? []), ...(axis.annotations ?? []), ...limits.annotations]
  const traces = plotlyTraces(axis.traces, bind.scale, annotations)
  if (!traces.length) {
    const centre = { x: 0.5, xref: "paper", y: 0.5, yref: "paper", showarrow: false, font: { size: 14 } }
    annotations.push({ ...centre, text: bind.empty ?? "not trained yet" })
  }
  const marksStep = traces.length && (bind.line === "map" || hasStarted(moment) || moment.shown)
  const stepLines = marksStep ? LINES[bind.line ?? ""](moment.shown) : []
  const line = { color: hues.grey, width: 1.5, dash: "dot" }
  const guides = (bind.guides ?? []).map((y) => ({ ...ENTIRE_WIDTH, y0: y, y1: y, line }))
  const shapes = [...(declared.shapes ?? []), ...guides, ...limits.shapes, ...stepLines]
  const yaxis = { ...declared.yaxis, ...axis.yaxis, ...rowTicks(bind.rows, axis.traces, declared.yaxis) }
  const filled = { ...declared, yaxis, xaxis, shapes, annotations }
  return { data: traces, layout: bind.scale ? enlargedLayout(filled, bind.scale) : filled }
}

// The traces that have something to draw, for plotly; adds the counts of lost cells to `annotations`.
const plotlyTraces = (axisTraces, scale, annotations) => {
  const inLegend = new Set()
  const traces = []
  for (const axisTrace of axisTraces) {
    const { traces: parts, words } = splitLostCells(axisTrace)
    if (words.length) annotations.push({ ...TOP_RIGHT, text: `cells: ${words.join(", ")}`, yanchor: "bottom" })
    for (const part of parts) {
      const trace = { ...part }
      for (const attribute of PRIVATE) delete trace[attribute]
      if (!trace.declared && !(trace.z ? trace.z[0]?.length : trace.y?.some((value) => value !== null))) continue
      if (trace.legendgroup) {
        trace.showlegend = !inLegend.has(trace.legendgroup) // one entry for each kind of mark
        inLegend.add(trace.legendgroup)
      }
      traces.push(scale ? enlargedTrace(trace, scale) : trace)
    }
  }
  return traces
}

// The ticks of a y axis over places: declared ones, or the names of a map's sites.
const rowTicks = (rows, traces, declaredAxis) => {
  if (rows) return { ...placeTicks(rows), ...declaredAxis }
  const map = traces.find((trace) => trace.z && trace.names)
  if (!map) return {}
  const indices = spacedIndices(map.names.length, 6)
  return {
    ...namedTicks(map.names, indices, 18),
    tickvals: indices.map((i) => map.y[i]),
    title: { ...declaredAxis.title, text: declaredAxis.title.text + map.titleSuffix },
  }
}
