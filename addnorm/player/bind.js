// Turns a declared figure and the logs into the figure to draw. Pure: nothing here touches the page.

import { sharedPrefix, shortened } from "./names.js"
import { brief, power } from "./number.js"
import { colourAt, enlargedLayout, hues, inkOn, looked, thicker } from "./style.js"

/** @import { Moment } from "./playhead.js" */

const MAX_POINTS = 300
const [MAP_STEPS, MAP_SITES] = [150, 150]
const MIN_RANGE = 1e-6 // of a linear axis whose values are all the same
const FAR = 2 // decades beyond a log axis, from which on the previous profile is left out
const SHARE = [-0.03, 1.05] // the range of a linear axis with no value but 0, and of shares
const [SMALLEST, LARGEST] = [1e-300, 1e300] // drawn: beyond them plotly and the ends of an axis leave what numbers can be
const CROSSED = 0.97 // the height of crosses, as a share of the top of the axis
const [ENTIRE_WIDTH, ENTIRE_HEIGHT] = [
  { type: "line", xref: "paper", x0: 0, x1: 1 },
  { type: "line", yref: "paper", y0: 0, y1: 1 },
]
const TOP_RIGHT = { x: 1, xref: "paper", xanchor: "right", y: 1, yref: "paper", showarrow: false, font: { size: 12 } }

/** @typedef {Moment & { dark?: boolean, rows?: string[], marked?: boolean }} ChartMoment with what `filled` knows of the chart */

const finite = Number.isFinite
const four = (value) => Number(value.toPrecision(4)) // significant digits
const WORDS = { nan: NaN, inf: Infinity, "-inf": -Infinity }
const number = (sent) => (sent === null ? undefined : typeof sent === "string" ? WORDS[sent] : sent) // undefined: not measured
const drawable = (value) => {
  const size = Math.abs(value)
  if (size > LARGEST && finite(value)) return Math.sign(value) * LARGEST
  return size < SMALLEST && size > 0 ? Math.sign(value) * SMALLEST : value
}
const orGap = (values) => Array.from(values, (value) => (finite(value) ? value : null))
const round3 = (value) => Math.round(value * 1000) / 1000

// Indices that keep the shape of a long line: both ends, and the least and the greatest value of every bucket.
export const decimate = (values, points = MAX_POINTS) => {
  const count = values.length
  if (count <= points) return Array.from(values, (_, at) => at)
  const indices = new Set([0, count - 1])
  const buckets = Math.floor(points / 2) - 1
  for (let bucket = 0; bucket < buckets; bucket++) {
    const start = Math.floor((bucket * count) / buckets)
    const end = Math.floor(((bucket + 1) * count) / buckets)
    let [least, greatest] = [start, start]
    for (let at = start; at < end; at++) {
      if (values[at] < values[least] || Number.isNaN(values[least])) least = at
      if (values[at] > values[greatest] || Number.isNaN(values[greatest])) greatest = at
    }
    indices.add(least).add(greatest)
  }
  return [...indices].sort((a, b) => a - b)
}

// The log10 bounds of an axis over all finite positive values: at least two decades, and never less than before.
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

const tick = (exponent) => (exponent ? power(exponent) : "1")

// At most seven evenly spaced exponents of ten.
export const powers = (low, high) => {
  const every = Math.max(1, Math.ceil((high - low) / 6))
  const exponents = []
  for (let exponent = Math.ceil(low); exponent <= Math.floor(high); exponent += every) exponents.push(exponent)
  return exponents
}

const colourTicks = (logs) => {
  let [low, high] = [Infinity, -Infinity]
  for (const row of logs)
    for (const value of row) if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)]
  if (low > high) return {}
  if (high - low >= 1) return { tickvals: powers(low, high), ticktext: powers(low, high).map(tick) }
  const ends = [...new Set([low, (low + high) / 2, high].map(round3))].sort((a, b) => a - b)
  return { tickvals: ends, ticktext: ends.map((end) => brief(10 ** end, 2)) }
}

// Of the finite values of all seeds, in order.
const FOLDS = {
  median: (values, log) => {
    const [left, right] = [values[(values.length - 1) >> 1], values[values.length >> 1]]
    return left === right ? left : log ? Math.sqrt(left * right) : (left + right) / 2
  },
  least: (values) => values[0],
  greatest: (values) => values.at(-1),
}
const foldOf = (all, { fold, log }) => {
  const values = all.filter(finite).sort((a, b) => a - b)
  return values.length ? FOLDS[fold](values, log) : NaN
}
// A track of one seed, or element by element the fold of all seeds; `trackOf`: gives the track of a seed.
const folded = (bind, { seeds }, trackOf) => {
  if (!bind.fold) return trackOf(bind.seed)
  const all = Array.from({ length: seeds }, (_, each) => trackOf(each))
  const at = (place) => all.map((track) => track[place])
  return Float64Array.from(all[0], (_, place) => foldOf(at(place), bind))
}
// What the frames say that were seen, by step, of one seed or of all; a seed without a number there is left out.
/** @param {ChartMoment} now */
const atFrames = (bind, log, now) => {
  const { track, fold, seed } = bind
  const byStep = new Map()
  if (!log?.length || !started(now)) return byStep
  for (const member of fold ? log.frames.keys() : [seed])
    for (const frame of log.frames[member] ?? [])
      if (frame.step <= now.furthest && frame[track] !== null)
        byStep.set(frame.step, [...(byStep.get(frame.step) ?? []), frame[track]])
  const steps = [...byStep.keys()].sort((a, b) => a - b)
  return new Map(steps.map((step) => [step, fold ? foldOf(byStep.get(step), bind) : byStep.get(step)[0]]))
}
const against = (values, others, operation) =>
  others ? Float64Array.from(values.slice(0, others.length), (value, at) => operation(value, others[at])) : values

// Marks at one height over the values of a trace that are lost; undefined is not lost but was not measured. Those of a line
// to compare with are open and larger, in its colour.
const marks = (name, symbol, trace, lost, y) => {
  const { values } = trace
  const places = [...values.keys()].filter((at) => values[at] !== undefined && lost(values[at], at))
  if (!places.length) return []
  const beside = trace.bind.kind === "fixed" && trace.role !== "now"
  const mark = {
    type: "scatter",
    name,
    meta: trace.meta ?? trace.name,
    mode: "markers",
    x: places,
    y: places.map((at) => (typeof y === "function" ? y(at) : y)),
    text: places.map((at) => trace.text?.[at] ?? String(trace.x?.[at] ?? at)),
    names: trace.names && places.map((at) => trace.names[at]),
    customdata: places.map((at) => brief(values[at], 4)),
    marker: beside
      ? { color: trace.line.color, symbol: `${symbol}-open`, size: 14, line: { width: 2 } }
      : { color: hues.red, symbol, size: 9 },
    cliponaxis: false,
    legendgroup: name,
    hovertemplate: "%{text}: %{customdata}<extra>%{meta}</extra>",
  }
  return [mark]
}

// Cells as colours: their logarithms where `log`, from -most to most where `signed`.
const coloured = (trace, cells, { log = true, signed = false } = {}) => {
  const colour = (value) =>
    !finite(value) || (log && value <= 0) ? null : log ? round3(Math.log10(value)) : four(value)
  const z = cells.map((row) => row.map(colour))
  const most = signed && (Math.max(0, ...z.flat().map(Math.abs)) || 1)
  const range = signed ? { zmin: -most, zmax: most } : {}
  const ends = trace.zmin === undefined ? z : [[trace.zmin, trace.zmax]]
  return {
    ...trace,
    ...range,
    ...(trace.texttemplate && written({ ...trace, ...range, z })),
    z,
    customdata: cells.map((row) => row.map((value) => (finite(value) ? four(value) : null))),
    cells,
    log,
    values: [],
    ...(trace.colorbar && { colorbar: { ...trace.colorbar, ...(log && colourTicks(ends)) } }),
    showscale: Boolean(trace.colorbar) && z.flat().some((value) => value !== null),
  }
}

// The texts of cells, each in black or white, whichever its colour carries; what the pointer is told stays plain.
const written = ({ z, zmin, zmax, colorscale, text, hovertext, hovertemplate }) => {
  const ink = (value) => inkOn(colourAt(colorscale, Math.min(Math.max((value - zmin) / (zmax - zmin), 0), 1)))
  const on = (value, label) => (value === null || !label ? label : `<span style="color:${ink(value)}">${label}</span>`)
  return {
    text: text.map((row, y) => row.map((label, x) => on(z[y][x], label))),
    hovertext: hovertext ?? text,
    hovertemplate: hovertemplate.replace("%{text}", "%{hovertext}"),
  }
}

// By the kind of a binding: from a trace, its log and the playhead, the trace with its numbers in `values`.
/** @type {Record<string, (trace: any, log: any, now: ChartMoment) => any>} */
const FILL = {
  fixed: (trace) => ({ ...trace, values: trace.bind.values.map(number) }),
  cells: (trace) => {
    const cells = trace.bind.values.map((row) => row.map(number))
    return coloured(trace, cells, trace.bind)
  },
  row(trace, log, now) {
    const { bind } = trace
    const place = (runLog) => (bind.first ? 0 : runLog.drawnAt(now))
    const vectorOf = (runLog, track) =>
      runLog?.length ? folded(bind, runLog, (seed) => runLog.vector(track, place(runLog), seed)) : []
    const over = bind.over ? log : now.logs[bind.against]
    const other = over ? vectorOf(over, bind.over || bind.track) : null
    const all = against(vectorOf(log, bind.track), other, (value, base) => value / base)
    const values = all.filter((_, at) => at % (bind.every ?? 1) === (bind.start ?? 0))
    const step = now.playing ? null : log.steps[log.until(now.shown) - 1]
    return { ...trace, ...named(trace, log, step), values }
  },
  frame(trace, log, now) {
    const frame = log.frame(trace.bind.first ? 0 : now.shown, trace.bind.seed, trace.bind.track)
    const values = (frame?.[trace.bind.track] ?? []).map((value) => value ?? NaN)
    return { ...trace, ...named(trace, log, frame?.step ?? 0), values }
  },
  past(trace, log, now) {
    const { bind } = trace
    const end = (runLog) => runLog.until(now.furthest)
    if (!end(log) || !started(now)) return { ...trace, x: [], y: [], values: [] }
    const columnOf = (runLog) => folded(bind, runLog, (seed) => runLog.column(bind.track, end(runLog), seed))
    const other = bind.against === null ? null : columnOf(now.logs[bind.against])
    const values = against(columnOf(log), other, (value, base) => value - base)
    const indices = new Set(decimate(values))
    if (now.marked) indices.add(Math.min(log.until(now.shown), values.length) - 1)
    const rows = [...indices].sort((a, b) => a - b).filter((row) => finite(values[row]))
    const x = rows.map((row) => log.steps[row])
    return { ...trace, ...named(trace, log), x, values: rows.map((row) => values[row]), whole: values }
  },
  frames(trace, log, now) {
    const { bind } = trace
    const seen = atFrames(bind, log, now)
    const other = bind.against === null ? null : atFrames(bind, now.logs[bind.against], now)
    const x = [...seen.keys()].filter((step) => !other || other.has(step))
    return { ...trace, x, values: x.map((step) => seen.get(step) - (other?.get(step) ?? 0)) }
  },
  crosses(trace, log, now) {
    const { track, seed } = trace.bind
    const [steps, words] = [[], []]
    const ended = log.state.outcomes[seed]?.step ?? Infinity // other seeds may go on
    if (log.length && started(now)) {
      for (let row = 0; row < log.until(Math.min(now.furthest, ended)); row++) {
        const step = log.steps[row]
        const value = log.number(track, step, seed)
        if (value === undefined || (finite(value) && step !== ended)) continue
        steps.push(step)
        words.push(brief(value, 4))
      }
    }
    return { ...trace, x: steps, values: [], customdata: words }
  },
  map(trace, log, now) {
    const steps = evenly(started(now) ? log.until(now.furthest) : 0, MAP_STEPS).map((row) => log.steps[row])
    const rows = steps.map((step) => log.vector(trace.bind.track, step, trace.bind.seed))
    const { whole, ...siteRows } = rowsOfMap(log.isRecording ? log.names(trace.bind.track) : now.rows)
    const cells = siteRows.y.map((site) => rows.map((row) => row[site]))
    return { ...coloured(trace, cells), ...siteRows, text: whole.map((name) => steps.map(() => name)), x: steps }
  },
  bins(trace, log, now) {
    const { track, ends, seed } = trace.bind
    const frame = log.frame(now.shown, seed, track)
    const count = frame ? log.header.about.bins : 0
    const x = Array.from({ length: count }, (_, bin) => ends * ((2 * bin + 1) / count - 1)) // their middles
    const { whole, ...own } = rowsOfMap(count ? log.names("act_rms") : [])
    const cells = own.y.map((site) => frame[track].slice(site * count, (site + 1) * count).map((one) => one ?? NaN))
    const map = coloured(trace, cells)
    const { title } = map.colorbar
    const bar = { ...map.colorbar, title: { ...title, text: `${title.text}<br>step ${frame?.step}` } }
    return { ...map, colorbar: bar, ...own, text: whole.map((name) => x.map(() => name)), x }
  },
}

// By the kind of a y axis: the traces with their `y`, and the range of the axis. `layoutState` keeps what must never shrink.
const AXES = {
  ""(traces, { top }) {
    const heights = ({ bind, x, y, values }) =>
      bind?.kind === "crosses" ? x.map(() => top * CROSSED) : (y ?? orGap(values))
    return { traces: traces.map((trace) => ({ ...trace, y: heights(trace) })) }
  },
  log(traces, { zero }, layoutState) {
    const lost = (value) => (zero ? finite(value) && value <= 0 : value === 0)
    const numbers = (shown) => shown.map((trace) => trace.values ?? trace.y)
    const drawn = numbers(traces.filter((trace) => !trace.bind?.previous))
    const range = logRange(layoutState.y, ...drawn)
    if (drawn.some((values) => values.length)) layoutState.y = range
    const [least, greatest] = [10 ** (range[0] - FAR), 10 ** (range[1] + FAR)]
    const near = (trace) => !trace.bind?.previous || trace.values.every((value) => value >= least && value <= greatest)
    const [low, high] = logRange(range, ...numbers(traces.filter(near)))
    const inside = 0.002 * (high - low) // plotly drops a mark that rounding has pushed over the edge
    const all = traces.flatMap((trace) => {
      const { values } = trace
      if (!values) return [trace]
      if (!near(trace)) return [leftOut(trace, "far off this axis")]
      const line = { ...trace, y: Array.from(values, (value) => (value > 0 && finite(value) ? value : null)) }
      if (trace.showlegend === false && trace.bind.fold) return [line] // an edge of a band
      return [
        line,
        ...marks(zero ?? "exactly 0", "triangle-down", trace, lost, 10 ** (low + inside)),
        ...marks("not finite", "triangle-up", trace, (value) => !finite(value), 10 ** (high - inside)),
      ]
    })
    const ticks = powers(low, high)
    const tickvals = ticks.map((exponent) => 10 ** exponent)
    return {
      traces: all,
      yaxis: { type: "log", range: [low, high], tickmode: "array", tickvals, ticktext: ticks.map(tick) },
    }
  },
  // Covers all finite values and guides, with some room, if it has no `bounds`.
  linear(traces, { bounds, guides = [], lost = "no value" }, layoutState) {
    let [least, greatest] = layoutState.y ?? [Infinity, -Infinity]
    for (const values of [guides, ...traces.map((trace) => trace.values ?? trace.y)])
      for (const value of values)
        if (finite(value)) [least, greatest] = [Math.min(least, value), Math.max(greatest, value)]
    if (least <= greatest) layoutState.y = [least, greatest]
    const size = Math.max(Math.abs(least), Math.abs(greatest))
    const room = 0.06 * Math.max(greatest - least, MIN_RANGE, 0.01 * size)
    const [low, high] = bounds ?? (finite(size) && size ? [least - room, greatest + room] : SHARE)
    return { traces: withGaps(traces, lost, low), yaxis: { range: [low, high] } }
  },
  cosine(traces) {
    const drawn = traces.filter((trace) => !trace.values || trace.values.some(finite))
    let low = -0.25
    for (const trace of drawn)
      for (const value of trace.values ?? trace.y) if (finite(value)) low = Math.min(low, value - 0.1)
    // One cross where a line breaks off, at its last value: what follows has no direction either.
    const all = drawn.flatMap((trace) => {
      const { values } = trace
      const breaks = (value, at) => at > 0 && !finite(value) && finite(values[at - 1])
      if (!values) return [trace]
      return [
        { ...trace, y: orGap(values) },
        ...marks("no direction from here", "x", trace, breaks, (at) => values[at - 1]),
      ]
    })
    return { traces: all, yaxis: { range: [low, 1.08] } }
  },
  // The top is at most four times the larger of guessing (`chance`) and the first loss; larger losses leave the plot.
  loss(traces, { chance = 0 }, layoutState) {
    const losses = traces.flatMap((trace) => Array.from(trace.whole ?? []))
    if (losses.some((value) => value < 0)) return AXES.linear(traces, { bounds: undefined, guides: [0] }, layoutState)
    const largest = losses.reduce((most, value) => (finite(value) ? Math.max(most, value) : most), -Infinity)
    const first = losses.find(finite)
    const top = finite(largest)
      ? 1.08 * Math.max(chance * 1.2, Math.min(largest, 4 * Math.max(chance, first)))
      : 1.3 * chance
    const all = traces.flatMap((trace) => {
      if (!trace.values) return trace
      if (trace.bind.kind === "crosses") return { ...trace, y: trace.x.map(() => top * CROSSED) }
      if (trace.bind.kind !== "past" || !(largest > top)) return { ...trace, y: trace.values }
      const line = {
        ...trace,
        y: trace.values.map((value) => Math.min(value, 1.5 * top)),
        customdata: trace.values,
        hovertemplate: trace.hovertemplate?.replace("%{y:", "%{customdata:"),
      }
      const beyond = marks("beyond the axis", "triangle-up", trace, (value) => value > top, top * CROSSED)
      return [line, ...beyond.map((mark) => ({ ...mark, x: mark.x.map((at) => trace.x[at]) }))]
    })
    const beyond = { ...TOP_RIGHT, text: `up to ${brief(largest)}`, yanchor: "top" }
    return { traces: all, yaxis: { range: [0, top] }, annotations: largest > top ? [beyond] : [] }
  },
}

// The legend's entry of a line that is not drawn; `declared`: its name there until then.
const leftOut = ({ bind: _, values: __, name, ...trace }, why) => ({
  ...trace,
  name: `${name}: ${why}`,
  declared: name,
  hoverinfo: "skip",
  x: [null],
  y: [null],
})

// Lines with gaps where a value is not finite, and marks there at the lower edge.
const withGaps = (traces, name, low) =>
  traces.flatMap((trace) => {
    if (!trace.values) return [trace]
    return [{ ...trace, y: orGap(trace.values) }, ...marks(name, "x", trace, (value) => !finite(value), low)]
  })

// Whether this viewer has seen anything of the training: before that a chart shows none of it, whoever trained the run.
/** @param {Pick<Moment, "furthest" | "playing">} moment */
export const started = ({ furthest, playing }) => Boolean(furthest || playing)

// At most so many whole numbers below a count, evenly spaced, with both ends.
const evenly = (count, most) => {
  const points = Math.min(count, most)
  return Array.from({ length: points }, (_, at) => Math.round((at * (count - 1)) / Math.max(1, points - 1)))
}

// A name with its step, or without one (null) while the steps fly past: a legend that changes has to be laid out again.
const atStep = (text, step) => (step === null ? text.replace("step {step}", "now") : text.replace("{step}", step))
// The name of a trace with its file and step filled in; in a recording the places have the model's own names.
const named = (trace, log, step) => {
  if (!log.isRecording) return step === undefined || trace.bind.kind === "row" ? {} : { name: atStep(trace.name, step) }
  const name = atStep(trace.name.replace("{name}", shortened(log.name, 30)), step)
  return { name, meta: name, ...(trace.bind.kind !== "past" && { text: log.names(trace.bind.track) }) }
}
const rowsOfMap = (names) => {
  const y = evenly(names.length, MAP_SITES)
  const [inside, [short]] = withoutPrefix([names])
  return { y, inside, whole: y.map((at) => names[at]), names: y.map((at) => short[at]) }
}
// The prefix of lists of names in words, and the names without it.
const withoutPrefix = (lists) => {
  const prefix = sharedPrefix(lists)
  const all = lists.flat().every((name) => name.startsWith(prefix))
  const inside = prefix && `${all ? "" : ", mostly"} in ${shortened(prefix.slice(0, -1), 40)}`
  return [
    inside,
    lists.map((names) => names.map((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name))),
  ]
}

// An x axis over depth: a few names of places, or, if the logs have other places, shares of the depth. Traces of
// recordings get `names` without the prefix that all share.
const overDepth = (traces, logs, declared) => {
  const drawn = traces.filter((trace) => trace.values?.length)
  const recorded = drawn.filter((trace) => logs[trace.bind.run]?.isRecording)
  const [inside, short] = withoutPrefix(recorded.map((trace) => trace.text))
  for (const [at, trace] of recorded.entries()) trace.names = short[at]
  const title = { ...declared.title, text: declared.title.text + inside }
  const names = recorded[0]?.names ?? []
  const same =
    drawn.every((trace) => trace.values.length === drawn[0].values.length) &&
    recorded.every((trace) => String(trace.names) === String(names))
  if (same) return { title, ...horizontal(names) }
  for (const trace of drawn) trace.x = trace.x.map((at) => at / Math.max(1, trace.x.length - 1))
  return { title, tickvals: [0, 0.5, 1], ticktext: ["first", "middle", "last"], tickmode: "array" }
}
// Horizontal names of some places: of five while they are short, else of three whose outer ones lie off the ends, each a
// block's rather than its part's next to it: 0, 2, 5 and not 0.attn, 2, 5.attn.
const horizontal = (names) => {
  if (names.every((name) => name.length < 5)) return ticks(names, evenly(names.length, 5), 4)
  const whole = (at) => [at + 1, at - 1].find((near) => names[at].startsWith(`${names[near]}.`)) ?? at
  const places = [0.12, 0.5, 0.88].map((share) => whole(Math.round(share * (names.length - 1))))
  return ticks(names, [...new Set(places)], 12)
}
const ticks = (names, places, length) => ({
  tickmode: "array",
  tickvals: places,
  ticktext: places.map((at) => shortened(names[at], length)),
})

// Guides at the limits of number formats that a log axis reaches.
const limitsWithin = (limits, { range: [low, high] }) => {
  const seen = limits.filter(({ at }) => Math.log10(at) > low && Math.log10(at) < high)
  const line = { color: hues.grey, width: 1, dash: "dot" }
  const hovertext = "The limit of a number format. Single numbers lie well above and below their RMS."
  const place = { ...TOP_RIGHT, yref: "y", yanchor: "bottom", font: { size: 12 }, hovertext }
  return {
    shapes: seen.map(({ at }) => ({ ...ENTIRE_WIDTH, y0: at, y1: at, line })),
    annotations: seen.map(({ at, name }) => ({ ...place, text: name, y: Math.log10(at) })),
  }
}

const guide = (step, color, width) => ({ ...ENTIRE_HEIGHT, x0: step, x1: step, line: { color, width } })
const LINES = {
  "": () => [],
  line: (step) => [guide(step, hues.grey, 1.5)],
  map: (step) => [guide(step, "#111111", 4), guide(step, "#ffffff", 2)], // visible on every colour
}

// A map, a second one of its cells without a colour (grey for zero, red for not finite), and their counts in words.
const lostCells = (trace) => {
  if (!trace.cells || trace.type === "contour" || trace.bind.bare) return { traces: [trace], words: [] }
  const kind = (value) => (value === 0 && trace.log ? 0 : value === undefined || finite(value) ? null : 1)
  const z = trace.cells.map((row) => row.map(kind))
  const count = [0, 1].map((cellKind) => z.flat().filter((cell) => cell === cellKind).length)
  if (!count[0] && !count[1]) return { traces: [trace], words: [] }
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
  const kinds = ["exactly 0 (grey)", "not finite (red)"]
  return { traces: [trace, lost], words: count.flatMap((cells, at) => (cells ? [`${cells} ${kinds[at]}`] : [])) }
}

// What the pointer is told of a trace, in the notation of sentences: plotly's own is 6.900e-7.
const FOUR = /%\{(customdata|x|y):\.4g\}/
export const spelled = (trace) => {
  const [sign, attribute] = trace.hovertemplate?.match(FOUR) ?? []
  if (!sign) return trace
  const formatted = (value) => (Array.isArray(value) ? value.map(formatted) : finite(value) ? brief(value, 4) : value)
  const hovertemplate = trace.hovertemplate.replace(sign, "%{customdata}")
  return { ...trace, customdata: Array.from(trace[attribute], formatted), hovertemplate }
}

// Ticks at a few places, with both ends: a label that repeats stands at its last place, and blocks are counted in quarters.
const ticksAt = ({ labels, blocks, max_ticks: maxTicks = 5 }) => {
  const ends = new Map(labels.map((label, at) => [label, at]))
  const texts = [...ends.keys()]
  const quarters = blocks && evenly(5, 5).map((at) => String(Math.round((at / 4) * Number(texts.at(-1)))))
  const ticktext = quarters
    ? texts.filter((text, at) => !at || quarters.includes(text))
    : evenly(texts.length, maxTicks).map((at) => texts[at])
  return { tickmode: "array", tickvals: ticktext.map((text) => ends.get(text)), ticktext }
}

const OVER_STEPS = ["past", "frames", "crosses"] // kinds of bindings; all others are over places
const AT_ONCE = ["fixed", "cells"] // kinds whose numbers are declared

const modelOf = (log) => log.header?.about?.model // of a recording; nets of the playground have none

// A declared trace with its look and its numbers.
/** @param {ChartMoment} now */
const full = (declared, { hue, places }, now) => {
  const trace = looked(declared, hue, now.dark)
  const { bind } = trace
  if (!bind?.kind) return trace
  const log = now.logs[bind.run]
  if (!log?.header && !AT_ONCE.includes(bind.kind)) return { ...trace, x: trace.x ?? [], values: [] }
  if (bind.alike && modelOf(log) !== modelOf(now.logs[0])) {
    const entry = leftOut(trace, "another task")
    return { ...entry, name: entry.name.replace("{name}", shortened(log.name, 30)) }
  }
  const filledTrace = FILL[bind.kind](trace, log, now)
  const { values } = filledTrace
  if (!OVER_STEPS.includes(bind.kind) && !filledTrace.cells) {
    filledTrace.x ??= [...values.keys()]
    const hasNames = places && (bind.kind !== "still" || places.names.length === values.length)
    filledTrace.text ??= hasNames ? places.names : Array.from(values, (_, at) => `site ${at}`)
  }
  if (bind.previous && !values.every(finite)) return leftOut(filledTrace, "not finite")
  const within = { values: values.map(drawable), ...(filledTrace.whole && { whole: filledTrace.whole.map(drawable) }) }
  const withStep = (text) => text && atStep(text, now.playing ? null : now.shown)
  return {
    ...filledTrace,
    ...within,
    name: withStep(filledTrace.name),
    ...(filledTrace.meta && { meta: withStep(filledTrace.meta) }),
  }
}
// A line of several seeds is their median, over a band from the least to the greatest.
const banded = (trace) => {
  if (trace.bind?.fold !== "median") return [trace]
  return ["least", "greatest", "median"].map((fold) => ({ ...trace, bind: { ...trace.bind, fold } }))
}

const INNER = ["bind", "values", "whole", "cells", "log", "inside", "role", "hue", "shade", "thin"] // no attributes of plotly's

// The figure to draw. `layoutState`: an object that lives as long as the chart.
/**
 * @param {{ data: any[], layout: any }} declared
 * @param {ChartMoment} now
 */
export const filled = ({ data, layout }, now, layoutState) => {
  const { bind = {}, ...declared } = layout
  const rest = { ...declared, annotations: declared.annotations ?? [] }
  const shown = { ...now, rows: bind.rows?.names, marked: Boolean(bind.line) }
  const bound = data.flatMap(banded).map((trace) => full(trace, bind, shown))
  const xaxis = {
    ...(bind.places && ticksAt(bind.places)),
    ...rest.xaxis,
    ...(bind.depth && overDepth(bound, now.logs, rest.xaxis)),
  }
  const axis = AXES[bind.axis ?? ""](bound, bind, layoutState)
  if (bind.reaches) xaxis.range = [0, Math.max(1, ...now.logs.map((log) => log.last))]
  const limits = limitsWithin(bind.limits ?? [], axis.yaxis ?? { range: [0, 0] })
  const inLegend = new Set()
  const traces = []
  const annotations = [...rest.annotations, ...(axis.annotations ?? []), ...limits.annotations]
  for (const axisTrace of axis.traces) {
    const { traces: parts, words } = lostCells(axisTrace)
    if (words.length) annotations.push({ ...TOP_RIGHT, text: `cells: ${words.join(", ")}`, yanchor: "bottom" })
    for (const part of parts) {
      const trace = { ...part }
      for (const attribute of INNER) delete trace[attribute]
      if (!trace.declared && !(trace.z ? trace.z[0]?.length : trace.y?.some((value) => value !== null))) continue
      if (trace.legendgroup) {
        trace.showlegend = !inLegend.has(trace.legendgroup) // one entry for each kind of mark
        inLegend.add(trace.legendgroup)
      }
      traces.push(bind.scale ? thicker(trace, bind.scale) : trace)
    }
  }
  if (!traces.length) {
    const middle = { x: 0.5, xref: "paper", y: 0.5, yref: "paper", showarrow: false, font: { size: 14 } }
    annotations.push({ ...middle, text: bind.empty ?? "not trained yet" })
  }
  const marksStep = traces.length && (bind.line === "map" || started(now) || now.shown)
  const stepLines = marksStep ? LINES[bind.line ?? ""](now.shown) : []
  const guides = (bind.guides ?? []).map((at) => ({
    ...ENTIRE_WIDTH,
    y0: at,
    y1: at,
    line: { color: hues.grey, width: 1.5, dash: "dot" },
  }))
  const shapes = [...(rest.shapes ?? []), ...guides, ...limits.shapes, ...stepLines]
  const yaxis = { ...rest.yaxis, ...axis.yaxis }
  const map = axis.traces.find((trace) => trace.z && trace.names)
  if (bind.rows) Object.assign(yaxis, { ...ticksAt(bind.rows), ...rest.yaxis })
  else if (map)
    Object.assign(yaxis, ticks(map.names, evenly(map.names.length, 6), 18), {
      tickvals: evenly(map.y.length, 6).map((at) => map.y[at]),
      title: { ...yaxis.title, text: yaxis.title.text + map.inside },
    })
  const whole = { ...rest, yaxis, xaxis, shapes, annotations }
  return { data: traces, layout: bind.scale ? enlargedLayout(whole, bind.scale) : whole }
}
