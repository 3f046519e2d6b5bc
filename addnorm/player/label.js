// Names the lines of a figure: up to four at their ends, more in a legend. Sets the margins for the names. Pure.

import { hues, styledTrace, withLuminance } from "./style.js"

const MAX_AT_ENDS = 4 // lines that are named at their ends
const MAX_NAME_SHARE = 0.3 // of a chart's width, for a name beside its plot
const NAME_GAP = 10 // pixels from a line to its name
const NAME_SPACING = 1.15 // between two names, in font sizes
const TABLE_BUTTON_HEIGHT = 28 // pixels below a plot; names stay above the button
const NEAR_SHARE = 0.3 // of the plot's width: names farther apart cannot touch
// Pixels, at a font size of LEGEND_FONT_SIZE
const TITLE_HEIGHT = 30
const LEGEND_ROW_HEIGHT = 17
const LEGEND_FONT_SIZE = 11
const LEGEND_SYMBOL_WIDTH = 42 // pixels at any font size
const NAME_LUMINANCES = { light: 0.15, dark: 0.36 } // by page; names have the hue of their line and a contrast of 4.5:1

const isLine = ({ mode, legendgroup }) => mode?.includes("lines") && !legendgroup
const isInLegend = ({ showlegend }) => showlegend !== false
const lastIndex = ({ y }) => y?.findLastIndex((value) => value !== null && value !== undefined) ?? -1

// The range of an axis of plotly, in decades on a log axis. `drawnValues()` returns the values on an axis without a range.
const rangeOf = ({ type, range, rangemode }, drawnValues) => {
  if (range) return range
  const values = rangemode === "tozero" ? [0, ...drawnValues()] : drawnValues()
  const positions = type === "log" ? values.map(Math.log10) : values
  return [Math.min(...positions), Math.max(...positions)]
}

// Returns functions that convert values to shares of an axis and back.
const axisScale = (axis, drawnValues) => {
  const isLog = axis.type === "log"
  const [low, high] = rangeOf(axis, drawnValues)
  const length = high - low || 1
  return {
    toShare: (value) => Math.min(Math.max(((isLog ? Math.log10(value) : value) - low) / length, 0), 1),
    toValue: (share) => (isLog ? 10 ** (low + share * length) : low + share * length),
  }
}

// Returns the y shares of `places`, spread so that names near each other keep `distance`, in their order, within the plot.
export const spread = (places, distance) => {
  const y = places.map((place) => place.y)
  const upwards = [...places.keys()].sort((a, b) => places[a].y - places[b].y)
  const isNear = (a, b) => Math.abs(places[a].x - places[b].x) < NEAR_SHARE
  // Moves each name away from those before it in the order; `sign`: 1 for up, -1 for down.
  const pushApart = (order, sign) => {
    for (const [rank, index] of order.entries())
      for (const earlier of order.slice(0, rank)) {
        const gap = sign * (y[index] - y[earlier])
        if (isNear(index, earlier) && gap < distance) y[index] = y[earlier] + sign * distance
      }
  }
  pushApart(upwards, 1)
  for (const index of upwards) y[index] = Math.min(y[index], 1)
  pushApart(upwards.toReversed(), -1)
  return y
}

// Returns a trace of the names at the ends of lines and levels. As a trace it moves without a new layout of the chart.
// `crossed`: texts of the crosses drawn; a name makes room for the cross at the end of its line. `height`: of the plot.
const namesTrace = (lines, levels, crossed, { xaxis, yaxis, legend, margin }, height, dark) => {
  const xScale = axisScale(xaxis, () => lines.flatMap(({ x }) => [...x]))
  const yScale = axisScale(yaxis, () => lines.flatMap(({ y }) => Array.from(y).filter((value) => value !== null)))
  const nameHue = (color) => withLuminance(color, dark ? NAME_LUMINANCES.dark : NAME_LUMINANCES.light)
  const endOf = (trace) => {
    const last = lastIndex(trace)
    return { name: trace.name, x: trace.x[last], y: trace.y[last], hue: trace.line.color }
  }
  const levelEnds = levels.map(({ name, at }) => ({ name, x: xScale.toValue(1), y: at, hue: hues.grey }))
  const ends = [...lines.map(endOf), ...levelEnds]
  const lowest = Math.max(0, TABLE_BUTTON_HEIGHT - margin.b) / Math.max(1, height)
  const places = ends.map(({ x, y }) => ({ x: xScale.toShare(x), y: lowest + (1 - lowest) * yScale.toShare(y) }))
  const shares = spread(places, (NAME_SPACING * legend.font.size) / Math.max(1, height))
  return {
    type: "scatter",
    mode: "text",
    x: ends.map(({ x }) => x),
    y: shares.map(yScale.toValue),
    text: ends.map(({ name }) => "\u2002".repeat(crossed.has(`${name} diverged`) ? 3 : 1) + name),
    textposition: "middle right",
    textfont: { size: legend.font.size, color: ends.map(({ hue }) => nameHue(hue)) },
    cliponaxis: false,
    hoverinfo: "skip",
    showlegend: false,
  }
}
const levelAnnotation = ({ name, at }) => ({
  ...{ x: 1, xref: "paper", xanchor: "right", y: at, yanchor: "bottom" },
  ...{ text: name, showarrow: false, font: { size: 12 } },
})

// Counts the rows of a legend: one if all names fit side by side, else as many as columns of the longest name's width need.
const legendRowCount = (names, availableWidth, fontSize, measure) => {
  if (!names.length) return 0
  const widths = names.map((name) => LEGEND_SYMBOL_WIDTH + measure(name, fontSize))
  if (widths.reduce((sum, width) => sum + width, 0) <= availableWidth) return 1
  const columns = Math.max(1, Math.floor(availableWidth / Math.max(...widths)))
  return Math.ceil(names.length / columns)
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

// Returns the pixels above the plot for the title and a legend of these names. `width`: of the chart; `reserved` and
// `measure` as in `labelFigure`.
const topMargin = (names, { legend, margin, title }, width, reserved, measure) => {
  const fontSize = legend.font.size
  if (reserved.width !== width) Object.assign(reserved, { width, rows: 0, right: margin.r })
  const rows = legendRowCount([...names], width - margin.l - margin.r, fontSize, measure)
  reserved.rows = Math.max(reserved.rows, rows)
  if (!title?.text) return margin.t
  return Math.round((fontSize / LEGEND_FONT_SIZE) * (TITLE_HEIGHT + LEGEND_ROW_HEIGHT * reserved.rows))
}

// Returns the figure with names at the ends of its lines and levels; its legend names the marks.
const withNamesAtEnds = ({ data, layout }, lines, levels, height, dark) => {
  const { margin } = layout
  const crossed = new Set(data.filter(({ legendgroup, x }) => legendgroup && x?.length).map(({ meta }) => meta))
  const traces = data.map((trace) => (lines.includes(trace) ? { ...trace, showlegend: false } : trace))
  return {
    data: [...traces, namesTrace(lines, levels, crossed, layout, height - margin.t - margin.b, dark)],
    layout: { ...layout, showlegend: traces.some(isInLegend) },
  }
}

// Names the lines of a drawn figure and its `levels` ({ name, at }) at the ends of up to four lines, else in a legend.
// `reserved` keeps the rows of the legend and the right margin between calls: they only grow until the width changes.
// `measure(text, fontSize)` returns a width in pixels.
export const labelFigure = (declared, { data, layout }, { width, height }, reserved, measure, dark) => {
  if (!layout.showlegend) return { data, layout }
  const { levels = [] } = declared.layout.bind ?? {}
  const { nameable, lines, marks } = namedParts(declared, data)
  const widths = [...nameable, ...lines, ...levels].map(({ name }) => measure(name, layout.legend.font.size))
  const widest = Math.max(0, ...widths)
  const fewLines = nameable.length > 0 && nameable.length <= MAX_AT_ENDS && nameable.every(isLine)
  const namesAtEnds = fewLines && widest <= MAX_NAME_SHARE * width
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
