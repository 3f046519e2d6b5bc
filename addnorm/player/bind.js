// Fills numbers from logs into a declared figure. Pure: it does not touch the page.

import { shorten } from "./names.js"
import { brief } from "./number.js"
import { colourAt, enlargedLayout, enlargedTrace, hues, inkOn, styledTrace } from "./style.js"
import { depthAxis, mapRows, placeTicks, rowTicks, spacedIndices } from "./ticks.js"
import { legendEntry, powers, TOP_RIGHT, tickText, Y_AXES } from "./y_axis.js"

/** @import { Moment } from "./playhead.js" */

const MAX_POINTS = 300 // on a line
const MAX_MAP_STEPS = 150 // columns of a map
const NOTE_REACH = 0.15 // from the middle of an empty chart's note to the next guide, as a share of the plot's height
// Bounds of the absolute values drawn; beyond them the ends of an axis would underflow or overflow.
const MIN_SIZE = 1e-300
const MAX_SIZE = 1e300
// Lines in plotly's layout that cross the whole plot
const ENTIRE_WIDTH = { type: "line", xref: "paper", x0: 0, x1: 1 }
const ENTIRE_HEIGHT = { type: "line", yref: "paper", y0: 0, y1: 1 }

/**
 * A moment with properties of the chart: whether its page is dark, the names of a map's rows, and whether it marks the step.
 * @typedef {Moment & { dark?: boolean, rows?: string[], marked?: boolean }} ChartMoment
 */

const finite = Number.isFinite
const roundTo4 = (value) => Number(value.toPrecision(4)) // significant digits
const NON_FINITE = { nan: NaN, inf: Infinity, "-inf": -Infinity }
// A number from JSON; undefined if it was not measured.
const decodeNumber = (json) => {
  if (json === null) return undefined
  return typeof json === "string" ? NON_FINITE[json] : json
}
const clampSize = (value) => {
  const size = Math.abs(value)
  if (size > MAX_SIZE && finite(value)) return Math.sign(value) * MAX_SIZE
  return size < MIN_SIZE && size > 0 ? Math.sign(value) * MIN_SIZE : value
}
const round3 = (value) => Math.round(value * 1000) / 1000

// Returns indices that preserve the shape of a long line: both ends, and the minimum and maximum of every bucket.
export const decimate = (values, points = MAX_POINTS) => {
  const count = values.length
  if (count <= points) return Array.from(values, (_, i) => i)
  const indices = new Set([0, count - 1])
  const buckets = Math.floor(points / 2) - 1
  for (let bucket = 0; bucket < buckets; bucket++) {
    const start = Math.floor((bucket * count) / buckets)
    const end = Math.floor(((bucket + 1) * count) / buckets)
    let least = start
    let greatest = start
    for (let i = start; i < end; i++) {
      if (values[i] < values[least] || Number.isNaN(values[least])) least = i
      if (values[i] > values[greatest] || Number.isNaN(values[greatest])) greatest = i
    }
    indices.add(least).add(greatest)
  }
  return [...indices].sort((a, b) => a - b)
}

// The ticks of a colour bar over rows of logarithms.
const colourTicks = (rows) => {
  const logs = rows.flat().filter((value) => value !== null)
  if (!logs.length) return {}
  const low = logs.reduce((least, value) => Math.min(least, value))
  const high = logs.reduce((greatest, value) => Math.max(greatest, value))
  if (high - low >= 1) return { tickvals: powers(low, high), ticktext: powers(low, high).map(tickText) }
  const ends = [...new Set([low, (low + high) / 2, high].map(round3))].sort((a, b) => a - b)
  return { tickvals: ends, ticktext: ends.map((end) => brief(10 ** end, 2)) }
}

// How to fold the sorted finite values of all seeds into one. `log`: take the median of logarithms.
const FOLDS = {
  median: (values, log) => {
    const lower = values[(values.length - 1) >> 1]
    const upper = values[values.length >> 1]
    if (lower === upper) return lower
    return log ? Math.sqrt(lower * upper) : (lower + upper) / 2
  },
  least: (values) => values[0],
  greatest: (values) => values.at(-1),
}
const foldValues = (values, { fold, log }) => {
  const sorted = values.filter(finite).sort((a, b) => a - b)
  return sorted.length ? FOLDS[fold](sorted, log) : NaN
}
// Returns the track of one seed, or the element-wise fold of the tracks of all seeds. `trackOf(seed)` returns a track.
const foldSeeds = (bind, { seeds }, trackOf) => {
  if (!bind.fold) return trackOf(bind.seed)
  const tracks = Array.from({ length: seeds }, (_, seed) => trackOf(seed))
  const valuesAt = (index) => tracks.map((track) => track[index])
  return Float64Array.from(tracks[0], (_, index) => foldValues(valuesAt(index), bind))
}
// Maps the steps of the frames seen so far to a scalar: that of one seed, or the fold over all seeds that have one there.
/** @param {ChartMoment} moment */
const valuesOfFrames = (bind, log, moment) => {
  const { track, fold, seed } = bind
  const valuesByStep = new Map()
  if (!log?.length || !hasStarted(moment)) return valuesByStep
  const frames = fold ? log.frames.flat() : (log.frames[seed] ?? [])
  for (const frame of frames) {
    if (frame.step > moment.furthest || frame[track] === null) continue
    const values = valuesByStep.get(frame.step) ?? []
    valuesByStep.set(frame.step, [...values, frame[track]])
  }
  const entries = [...valuesByStep].sort(([a], [b]) => a - b)
  return new Map(entries.map(([step, values]) => [step, fold ? foldValues(values, bind) : values[0]]))
}
// Applies an operation element by element, up to the end of the shorter vector; returns `values` if there are no others.
const combine = (values, others, operation) =>
  others ? Float64Array.from(values.slice(0, others.length), (value, i) => operation(value, others[i])) : values

// Returns a heatmap trace of `cells`, coloured by their logarithms if `log`, on a scale symmetric about 0 if `signed`.
const colourCells = (trace, cells, { log = true, signed = false } = {}) => {
  const colourValue = (value) => {
    if (!finite(value) || (log && value <= 0)) return null
    return log ? round3(Math.log10(value)) : roundTo4(value)
  }
  const z = cells.map((row) => row.map(colourValue))
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

// Returns the attributes for texts of cells in black or white, whichever contrasts with the cell; hover texts stay plain.
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

// For each kind of binding, a function that returns the trace with its numbers in `values`, read from its log at a moment.
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
    const divergence = log.state.outcomes[seed]?.step ?? Infinity // other seeds may go on
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

// Whether this viewer has seen any training. Before, charts show none, even if the run has been trained.
/** @param {Pick<Moment, "furthest" | "playing">} moment */
const hasStarted = ({ furthest, playing }) => Boolean(furthest || playing)

// Fills the step into a name. With null, for a moving playhead, it fills in "now": plotly would lay out a changing legend
// in every frame.
const fillStep = (text, step) => (step === null ? text.replace("step {step}", "now") : text.replace("{step}", step))
// Returns the name of a trace with file and step filled in, and for a recording the model's names of the places.
const traceNames = (trace, log, step) => {
  if (!log.isRecording)
    return step === undefined || trace.bind.kind === "row" ? {} : { name: fillStep(trace.name, step) }
  const name = fillStep(trace.name.replace("{name}", shorten(log.name, 30)), step)
  return { name, meta: name, ...(trace.bind.kind !== "past" && { text: log.placeNames(trace.bind.track) }) }
}
// Returns the guides at the limits of number formats that lie within the range of a log axis.
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
// Values of cells in the map of cells without a colour
const ZERO_MARK = 0
const NON_FINITE_MARK = 1

const LINES = {
  "": () => [],
  line: (step) => [stepLine(step, hues.grey, 1.5)],
  map: (step) => [stepLine(step, "#111111", 4), stepLine(step, "#ffffff", 2)], // visible on every colour
}

// Covers the cells of a map that have no colour with a second map: zeros grey, non-finite ones red. Returns the maps, and
// the counts of these cells in words.
const splitLostCells = (trace) => {
  if (!trace.cells || trace.type === "contour" || trace.bind.bare) return { traces: [trace], words: [] }
  const markOf = (value) => {
    if (value === 0 && trace.log) return ZERO_MARK
    return value === undefined || finite(value) ? null : NON_FINITE_MARK
  }
  const z = trace.cells.map((row) => row.map(markOf))
  const countOf = (mark) => z.flat().filter((cell) => cell === mark).length
  const zeros = countOf(ZERO_MARK)
  const nonFinite = countOf(NON_FINITE_MARK)
  if (!zeros && !nonFinite) return { traces: [trace], words: [] }
  const { type, x, y, text, names, hoverongaps } = trace
  const lost = {
    ...{ type, x, y, text, names, hoverongaps, z },
    name: trace.log ? "zero or not finite" : "not finite",
    customdata: trace.cells.map((row, y) => row.map((value, x) => (z[y][x] === null ? null : brief(value, 4)))),
    hovertemplate: trace.hovertemplate.replace(":.4g", ""),
    zmin: ZERO_MARK,
    zmax: NON_FINITE_MARK,
    colorscale: [
      [ZERO_MARK, hues.grey],
      [NON_FINITE_MARK, hues.red],
    ],
    showscale: false,
  }
  const words = []
  if (zeros) words.push(`${zeros} exactly 0 (grey)`)
  if (nonFinite) words.push(`${nonFinite} not finite (red)`)
  return { traces: [trace, lost], words }
}

// Returns the trace with hover numbers in the notation of sentences; plotly would write 6.900e-7.
const FORMATTED = /%\{(customdata|x|y):\.4g\}/
export const withSpelledNumbers = (trace) => {
  const [placeholder, attribute] = trace.hovertemplate?.match(FORMATTED) ?? []
  if (!placeholder) return trace
  const spell = (value) => (Array.isArray(value) ? value.map(spell) : finite(value) ? brief(value, 4) : value)
  const hovertemplate = trace.hovertemplate.replace(placeholder, "%{customdata}")
  return { ...trace, customdata: Array.from(trace[attribute], spell), hovertemplate }
}

const STEP_BINDINGS = ["past", "frames", "crosses"] // kinds of bindings whose x are steps; others have places
const AT_STEP = ", step {step}" // at the end of a line's name
const DECLARED_BINDINGS = ["fixed", "cells"] // kinds of bindings whose numbers are declared, not in a log

const modelOf = (log) => log.header?.about?.model // undefined for runs of the playground

// Returns a declared trace with its style and its numbers.
/** @param {ChartMoment} moment */
const fillTrace = (declared, { hue, places }, moment) => {
  const trace = styledTrace(declared, hue, moment.dark)
  const { bind } = trace
  if (!bind?.kind) return trace
  const log = moment.logs[bind.run]
  if (!log?.header && !DECLARED_BINDINGS.includes(bind.kind)) return { ...trace, x: trace.x ?? [], values: [] }
  if (bind.same_model && modelOf(log) !== modelOf(moment.logs[0])) {
    const entry = legendEntry(trace, "another task")
    return { ...entry, name: entry.name.replace("{name}", shorten(log.name, 30)) }
  }
  const ended = log?.beside && !STEP_BINDINGS.includes(bind.kind) && moment.shown >= log.length
  if (ended) {
    const name = trace.name.replace(AT_STEP, "")
    return { ...legendEntry({ ...trace, name }, `ended at step ${log.length - 1}`), mode: "markers" } // no line
  }
  const filled = { ...FILL[bind.kind](trace, log, moment), beside: log?.beside }
  const { values } = filled
  if (!STEP_BINDINGS.includes(bind.kind) && !filled.cells) {
    filled.x ??= [...values.keys()]
    const hasNames = places && (bind.kind !== "fixed" || places.names.length === values.length)
    filled.text ??= hasNames ? places.names : Array.from(values, (_, i) => `site ${i}`)
  }
  if (filled.beside && !values.every(finite))
    return legendEntry({ ...filled, name: trace.name.replace(AT_STEP, "") }, "not finite")
  const withStep = (text) => text && fillStep(text, moment.playing ? null : moment.shown)
  return {
    ...filled,
    values: values.map(clampSize),
    ...(filled.column && { column: filled.column.map(clampSize) }),
    name: withStep(filled.name),
    ...(filled.meta && { meta: withStep(filled.meta) }),
  }
}
// Replaces a line over several seeds by their median on a band from minimum to maximum.
const bandTraces = (trace) => {
  if (trace.bind?.fold !== "median") return [trace]
  return ["least", "greatest", "median"].map((fold) => ({ ...trace, bind: { ...trace.bind, fold } }))
}

// Attributes of our own, which plotly does not know.
const PRIVATE = ["bind", "beside", "values", "column", "cells", "log", "titleSuffix", "role", "hue", "shade", "thin"]

// The height, as a share of the plot, of a note that no guide may strike through.
const clearHeight = (guides, [low, high] = [0, 1]) => {
  const isClear = (height) => guides.every((guide) => Math.abs((guide - low) / (high - low) - height) > NOTE_REACH)
  return [0.5, 0.3, 0.7].find(isClear) ?? 0.5
}

// Returns the figure to draw. `layoutState` is an object that lives as long as the chart.
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
  const axis = Y_AXES[bind.axis ?? ""](bound, bind, layoutState)
  if (bind.all_steps) xaxis.range = [0, Math.max(1, ...moment.logs.map((log) => log.last))]
  const limits = formatLimits(bind.limits ?? [], axis.yaxis ?? { range: [0, 0] })
  const annotations = [...(declared.annotations ?? []), ...(axis.annotations ?? []), ...limits.annotations]
  const traces = plotlyTraces(axis.traces, bind.scale, annotations)
  const yaxis = { ...declared.yaxis, ...axis.yaxis, ...rowTicks(bind.rows, axis.traces, declared.yaxis) }
  if (!traces.length) {
    const y = clearHeight(bind.guides ?? [], yaxis.range)
    const centre = { x: 0.5, xref: "paper", y, yref: "paper", showarrow: false, font: { size: 14 } }
    annotations.push({ ...centre, text: bind.empty ?? "not trained yet" })
  }
  const marksStep = traces.length && (bind.line === "map" || hasStarted(moment) || moment.shown)
  const stepLines = marksStep ? LINES[bind.line ?? ""](moment.shown) : []
  const line = { color: hues.grey, width: 1.5, dash: "dot" }
  const guides = (bind.guides ?? []).map((y) => ({ ...ENTIRE_WIDTH, y0: y, y1: y, line }))
  const shapes = [...(declared.shapes ?? []), ...guides, ...limits.shapes, ...stepLines]
  const filled = { ...declared, yaxis, xaxis, shapes, annotations }
  return { data: traces, layout: bind.scale ? enlargedLayout(filled, bind.scale) : filled }
}

// Returns the traces that have something to draw, for plotly, and adds the counts of lost cells to `annotations`.
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
