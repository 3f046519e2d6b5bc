// Names the lines of a figure, up to four at their ends, more in a legend, and sets the margins for the names. Pure.

import { translate } from "./dom.js"
import { hues, styledTrace, withLuminance } from "./style.js"

const MAX_AT_ENDS = 4 // lines that are named at their ends
const MAX_NAME_SHARE = 0.3 // of a chart's width, for a name beside its plot
const [NAME_GAP, NAME_SPACING] = [10, 1.15] // pixels from a line to its name; font sizes between two names
const TABLE_BUTTON_HEIGHT = 28 // pixels below a plot; names stay above the button
const NEAR_SHARE = 0.3 // of the plot's width: names farther apart cannot touch
const [TITLE_HEIGHT, LEGEND_ROW_HEIGHT, LEGEND_FONT, LEGEND_SYMBOL] = [30, 17, 11, 42] // pixels
const NAME_LUMINANCES = { light: 0.15, dark: 0.36 } // of names in the hue of their line; contrast at least 4.5:1

const isLine = ({ mode, legendgroup }) => mode?.includes("lines") && !legendgroup
const isInLegend = ({ showlegend }) => showlegend !== false
const lastIndex = ({ y }) => y?.findLastIndex((value) => value !== null && value !== undefined) ?? -1

// Converts values of an axis to shares of it and back. `values()` returns the values on an axis without a range.
const axisOf = ({ type, range, rangemode }, values) => {
  const log = type === "log"
  const toAxis = (value) => (log ? Math.log10(value) : value)
  const axisValues = () => (rangemode === "tozero" ? [0, ...values()] : values())
  const [low, high] = range ?? [Math.min, Math.max].map((end) => end(...axisValues().map(toAxis)))
  const size = high - low || 1
  return {
    share: (value) => Math.min(Math.max((toAxis(value) - low) / size, 0), 1),
    value: (share) => (log ? 10 ** (low + share * size) : low + share * size),
  }
}

// The y shares of `places`, spread so that names near each other keep `distance`, in their order and within the plot.
export const spread = (places, distance) => {
  const order = [...places.keys()].sort((a, b) => places[a].y - places[b].y)
  const y = places.map((place) => place.y)
  const isNear = (a, b) => Math.abs(places[a].x - places[b].x) < NEAR_SHARE
  const push = (order, sign) => {
    for (const [rank, index] of order.entries())
      for (const before of order.slice(0, rank))
        if (isNear(index, before) && sign * (y[index] - y[before]) < distance) y[index] = y[before] + sign * distance
  }
  push(order, 1)
  for (const index of order) y[index] = Math.min(y[index], 1)
  push(order.reverse(), -1)
  return y
}

// A trace of the names at the ends of lines and of levels. As a trace it moves without a new layout of the chart.
const namesTrace = (lines, levels, crossed, { xaxis, yaxis, legend, margin }, height, dark) => {
  const across = axisOf(xaxis, () => lines.flatMap(({ x }) => [...x]))
  const up = axisOf(yaxis, () => lines.flatMap(({ y }) => Array.from(y).filter((value) => value !== null)))
  const hue = (color) => withLuminance(color, dark ? NAME_LUMINANCES.dark : NAME_LUMINANCES.light)
  const endOf = (trace) => {
    const last = lastIndex(trace)
    return { name: trace.name, x: trace.x[last], y: trace.y[last], hue: trace.line.color }
  }
  const levelEnds = levels.map(({ name, at }) => ({ name, x: across.value(1), y: at, hue: hues.grey }))
  const ends = [...lines.map(endOf), ...levelEnds]
  const lowest = Math.max(0, TABLE_BUTTON_HEIGHT - margin.b) / Math.max(1, height)
  const places = ends.map(({ x, y }) => ({ x: across.share(x), y: lowest + (1 - lowest) * up.share(y) }))
  const shares = spread(places, (NAME_SPACING * legend.font.size) / Math.max(1, height))
  return {
    type: "scatter",
    mode: "text",
    x: ends.map(({ x }) => x),
    y: shares.map(up.value),
    text: ends.map(({ name }) => "\u2002".repeat(crossed.has(`${name} diverged`) ? 3 : 1) + translate(name)),
    textposition: "middle right",
    textfont: { size: legend.font.size, color: ends.map((entry) => hue(entry.hue)) },
    cliponaxis: false,
    hoverinfo: "skip",
    showlegend: false,
  }
}
const levelAnnotation = ({ name, at }) => ({
  ...{ x: 1, xref: "paper", xanchor: "right", y: at, yanchor: "bottom" },
  ...{ text: name, showarrow: false, font: { size: 12 } },
})

// The rows of a legend in a width: one if all names fit side by side, else in columns as wide as the longest name.
const legendRows = (names, available, fontSize, measure) => {
  const widths = names.map((name) => LEGEND_SYMBOL + measure(name, fontSize))
  if (widths.reduce((sum, width) => sum + width, 0) <= available) return names.length ? 1 : 0
  return Math.ceil(names.length / Math.max(1, Math.floor(available / Math.max(...widths))))
}

// The parts of a figure that get names: its `nameable` declared traces, its drawn `lines` with a value, and `marks`, which
// only a legend names.
const namedParts = (declared, data) => {
  const undrawn = data.filter((trace) => trace.declared) // see `legendEntry` in y_axis.js
  const nameable = declared.data
    .map((trace) => styledTrace(trace, hues.grey))
    .filter((trace) => isInLegend(trace) && trace.bind?.kind !== "crosses")
    .filter(({ name }) => !undrawn.some((trace) => trace.declared === name))
  const lines = data.filter((trace) => isLine(trace) && isInLegend(trace) && !trace.declared && lastIndex(trace) >= 0)
  const marks = [...undrawn, ...data.filter((trace) => isInLegend(trace) && trace.mode === "markers")]
  return { nameable, lines, marks }
}

// Pixels above the plot for the title and a legend of these names.
const topMargin = (names, { legend, margin, title }, width, reserved, measure) => {
  const fontSize = legend.font.size
  if (reserved.width !== width) Object.assign(reserved, { width, rows: 0, right: margin.r })
  reserved.rows = Math.max(reserved.rows, legendRows([...names], width - margin.l - margin.r, fontSize, measure))
  return title?.text
    ? Math.round((fontSize / LEGEND_FONT) * (TITLE_HEIGHT + LEGEND_ROW_HEIGHT * reserved.rows))
    : margin.t
}

// The figure with names at the ends of its lines and levels; its legend names the marks.
const withNamesAtEnds = ({ data, layout }, lines, levels, height, dark) => {
  const { margin } = layout
  const crossed = new Set(data.filter(({ legendgroup, x }) => legendgroup && x?.length).map(({ meta }) => meta))
  const traces = data.map((trace) => (lines.includes(trace) ? { ...trace, showlegend: false } : trace))
  return {
    data: [...traces, namesTrace(lines, levels, crossed, layout, height - margin.t - margin.b, dark)],
    layout: { ...layout, showlegend: traces.some(isInLegend) },
  }
}

// Names the lines of a drawn figure and its `levels` ({ name, at }): at the ends of up to four lines, else in a legend; the
// binding `legend` forces a legend, for lines that end close together. `reserved` keeps rows and right (pixels) between calls: they only
// grow until the width changes. `measure(text, fontSize)` returns a width in pixels.
export const labelFigure = (declared, { data, layout }, { width, height }, reserved, measure, dark) => {
  if (!layout.showlegend) return { data, layout }
  const { levels = [], legend: legendOnly = false } = declared.layout.bind ?? {}
  const { nameable, lines, marks } = namedParts(declared, data)
  const widths = [...nameable, ...lines, ...levels].map(({ name }) => measure(name, layout.legend.font.size))
  const widest = Math.max(0, ...widths)
  const fewLines = nameable.length > 0 && nameable.length <= MAX_AT_ENDS && nameable.every(isLine)
  const namesAtEnds = !legendOnly && fewLines && widest <= MAX_NAME_SHARE * width
  const names = new Set([...(namesAtEnds ? [] : nameable), ...marks].map(({ name }) => name))
  const margin = { ...layout.margin, t: topMargin(names, layout, width, reserved, measure) }
  if (!namesAtEnds) {
    const annotations = [...(layout.annotations ?? []), ...levels.map(levelAnnotation)]
    return { data, layout: { ...layout, annotations, margin } }
  }
  reserved.right = Math.max(reserved.right, Math.ceil(widest) + NAME_GAP)
  const widerLayout = { ...layout, margin: { ...margin, r: reserved.right } }
  return withNamesAtEnds({ data, layout: widerLayout }, lines, levels, height, dark)
}
