// Names the lines of a figure: up to four at their ends, more in a legend, and makes room for either. Pure.

import { translated } from "./dom.js"
import { atLuminance, hues, looked } from "./style.js"

const MAX_AT_ENDS = 4 // lines that are named at their ends
const MAX_NAME_SHARE = 0.3 // of a chart's width: the longest name that fits beside its plot
const [GAP, LINE] = [10, 1.15] // pixels from a line's end to its name; between two names, of their type
const TABLE_BUTTON = 28 // pixels below a plot that the button for the table covers; names stay above them
const NEAR = 0.3 // of the plot's width, within which two names may touch
const [TITLE_ROOM, LEGEND_ROW, LEGEND_TYPE, LEGEND_SIGN] = [30, 17, 11, 42] // pixels
const ON = { light: 0.15, dark: 0.36 } // luminances of a name in the hue of its line: at least 4.5:1

const isLine = ({ mode, legendgroup }) => mode?.includes("lines") && !legendgroup
const inLegend = ({ showlegend }) => showlegend !== false
const ends = ({ y }) => y?.findLastIndex((value) => value !== null && value !== undefined) ?? -1

// The share of an axis at which a value is, and the value at a share. `values`: makes those of an axis without a range.
const axisOf = ({ type, range, rangemode }, values) => {
  const log = type === "log"
  const on = (value) => (log ? Math.log10(value) : value)
  const known = () => (rangemode === "tozero" ? [0, ...values()] : values())
  const [low, high] = range ?? [Math.min, Math.max].map((end) => end(...known().map(on)))
  const size = high - low || 1
  return {
    share: (value) => Math.min(Math.max((on(value) - low) / size, 0), 1),
    value: (share) => (log ? 10 ** (low + share * size) : low + share * size),
  }
}

// Shares moved apart so that names near each other keep a distance, in their order and within the plot.
export const apart = (places, distance) => {
  const order = [...places.keys()].sort((a, b) => places[a].y - places[b].y)
  const y = places.map((place) => place.y)
  const near = (a, b) => Math.abs(places[a].x - places[b].x) < NEAR
  const push = (order, way) => {
    for (const [at, index] of order.entries())
      for (const before of order.slice(0, at))
        if (near(index, before) && way * (y[index] - y[before]) < distance) y[index] = y[before] + way * distance
  }
  push(order, 1)
  for (const index of order) y[index] = Math.min(y[index], 1)
  push(order.reverse(), -1)
  return y
}

// A trace of names at the ends of lines, and of levels at the right: it moves as lines do, for which plotly need not lay
// out the chart again.
const namesOf = (lines, levels, crossed, { xaxis, yaxis, legend, margin }, height, dark) => {
  const across = axisOf(xaxis, () => lines.flatMap(({ x }) => [...x]))
  const up = axisOf(yaxis, () => lines.flatMap(({ y }) => Array.from(y).filter((value) => value !== null)))
  const hue = (color) => atLuminance(color, dark ? ON.dark : ON.light)
  const named = [
    ...lines.map(({ name, x, y, line }, at) => ({
      name,
      x: x[ends(lines[at])],
      y: y[ends(lines[at])],
      hue: line.color,
    })),
    ...levels.map(({ name, at }) => ({ name, x: across.value(1), y: at, hue: hues.grey })),
  ]
  const least = Math.max(0, TABLE_BUTTON - margin.b) / Math.max(1, height)
  const places = named.map(({ x, y }) => ({ x: across.share(x), y: least + (1 - least) * up.share(y) }))
  const shares = apart(places, (LINE * legend.font.size) / Math.max(1, height))
  return {
    type: "scatter",
    mode: "text",
    x: named.map(({ x }) => x),
    y: shares.map(up.value),
    text: named.map(({ name }) => "\u2002".repeat(crossed.has(`${name} diverged`) ? 3 : 1) + translated(name)),
    textposition: "middle right",
    textfont: { size: legend.font.size, color: named.map((entry) => hue(entry.hue)) },
    cliponaxis: false,
    hoverinfo: "skip",
    showlegend: false,
  }
}
const noted = ({ name, at }) => ({
  ...{ x: 1, xref: "paper", xanchor: "right", y: at, yanchor: "bottom" },
  ...{ text: name, showarrow: false, font: { size: 12 } },
})

// How many rows a legend of these names needs in a width: one if all fit side by side, else columns as wide as the longest.
const rowsOf = (names, there, type, measure) => {
  const widths = names.map((name) => LEGEND_SIGN + measure(name, type))
  if (widths.reduce((sum, width) => sum + width, 0) <= there) return names.length ? 1 : 0
  return Math.ceil(names.length / Math.max(1, Math.floor(there / Math.max(...widths))))
}

// What a figure names: `nameable` of its declared lines and maps, the drawn `lines` with a value, and `marks`, which only a
// legend names.
const namedParts = (declared, data) => {
  const undrawn = data.filter((trace) => trace.declared) // named with the reason; see `leftOut` in bind.js
  const nameable = declared.data
    .map((trace) => looked(trace, hues.grey))
    .filter((trace) => inLegend(trace) && trace.bind?.kind !== "crosses")
    .filter(({ name }) => !undrawn.some((trace) => trace.declared === name))
  const lines = data.filter((trace) => isLine(trace) && inLegend(trace) && !trace.declared && ends(trace) >= 0)
  const marks = [...undrawn, ...data.filter((trace) => inLegend(trace) && trace.mode === "markers")]
  return { nameable, lines, marks }
}

// Pixels above the plot for the title and a legend of these names.
const topMargin = (names, { legend, margin, title }, width, room, measure) => {
  const type = legend.font.size
  if (room.width !== width) Object.assign(room, { width, rows: 0, right: margin.r })
  room.rows = Math.max(room.rows, rowsOf([...names], width - margin.l - margin.r, type, measure))
  return title?.text ? Math.round((type / LEGEND_TYPE) * (TITLE_ROOM + LEGEND_ROW * room.rows)) : margin.t
}

// The figure with the names of its lines and levels at their ends; the legend has those of marks.
const withNamesAtEnds = ({ data, layout }, lines, levels, height, dark) => {
  const { margin } = layout
  const crossed = new Set(data.filter(({ legendgroup, x }) => legendgroup && x?.length).map(({ meta }) => meta))
  const traces = data.map((trace) => (lines.includes(trace) ? { ...trace, showlegend: false } : trace))
  return {
    data: [...traces, namesOf(lines, levels, crossed, layout, height - margin.t - margin.b, dark)],
    layout: { ...layout, showlegend: traces.some(inLegend) },
  }
}

// Adds names to a drawn figure, at the ends of up to four lines or in a legend, and makes room for them. Named too are its
// `levels` ({ name, at }); lines that meet at their ends have a `legend`. `room` keeps rows and right (pixels) between calls:
// they only grow until the width changes. `measure`: (text, pixels of type) => its width in pixels.
export const labelled = (declared, { data, layout }, { width, height }, room, measure, dark) => {
  if (!layout.showlegend) return { data, layout }
  const { levels = [], legend: legendOnly = false } = declared.layout.bind ?? {}
  const { nameable, lines, marks } = namedParts(declared, data)
  const widths = [...nameable, ...lines, ...levels].map(({ name }) => measure(name, layout.legend.font.size))
  const widest = Math.max(0, ...widths)
  const fewLines = nameable.length > 0 && nameable.length <= MAX_AT_ENDS && nameable.every(isLine)
  const namesAtEnds = !legendOnly && fewLines && widest <= MAX_NAME_SHARE * width
  const names = new Set([...(namesAtEnds ? [] : nameable), ...marks].map(({ name }) => name))
  const margin = { ...layout.margin, t: topMargin(names, layout, width, room, measure) }
  if (!namesAtEnds) {
    const annotations = [...(layout.annotations ?? []), ...levels.map(noted)]
    return { data, layout: { ...layout, annotations, margin } }
  }
  room.right = Math.max(room.right, Math.ceil(widest) + GAP)
  const roomy = { ...layout, margin: { ...margin, r: room.right } }
  return withNamesAtEnds({ data, layout: roomy }, lines, levels, height, dark)
}
