// How lines and maps look: a hue and its shades, and by role a dash, a marker and a shade of the hue, so that a chart can
// be read without its colours. Pure.

export const [RED, GREY] = ["#d84a3a", "#80858f"]
const SHADES = [null, 0.135, 0.29, 0.18] // luminances; beyond these a line is lost on one of the pages
const [DARKEST, PALEST] = [0.045, 0.8] // luminances at the ends of a map's scale
const OF_WHITE = [0.2126, 0.7152, 0.0722]
const TYPE_SIZE = 12 // plotly's own, for text without a size

// By name; a number is that of a run among several.
const ROLES = {
  now: { width: 3, symbol: "circle", size: 5, shade: 0 },
  ghost: { width: 2, dash: "dot" }, // grey
  pinned: { width: 2, dash: "dash", shade: 1 },
  other: { width: 2, dash: "dash", symbol: "square", size: 5, shade: 1 },
  formula: { width: 2, dash: "dashdot", shade: 2 },
  initial: { width: 2, dash: "longdash", shade: 2 },
  "held-out": { width: 2, dash: "dash", symbol: "diamond", size: 6, shade: 0 },
}
const RUNS = [
  ["solid", "circle"],
  ["dash", "square"],
  ["dot", "diamond"],
  ["dashdot", "triangle-up"],
  ["solid", "circle-open"],
  ["dash", "square-open"],
  ["dot", "diamond-open"],
  ["dashdot", "triangle-up-open"],
]

const light = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
const coded = (part) => (part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055)

// A hue mixed with black or white, in linear light, to a relative luminance (WCAG 2.2) from 0 to 1.
export const atLuminance = (hue, luminance) => {
  const parts = [1, 3, 5].map((at) => light(Number.parseInt(hue.slice(at, at + 2), 16) / 255))
  const own = parts.reduce((sum, part, at) => sum + part * OF_WHITE[at], 0)
  const mix = (part) =>
    luminance < own ? (part * luminance) / own : part + ((1 - part) * (luminance - own)) / (1 - own)
  const hex = (part) =>
    Math.round(255 * coded(mix(part)))
      .toString(16)
      .padStart(2, "0")
  return `#${parts.map(hex).join("")}`
}
// A hue, and a dark, a pale and a middle shade of it, as far apart in lightness as both pages allow.
export const shade = (hue, at) => (at === undefined ? GREY : SHADES[at] ? atLuminance(hue, SHADES[at]) : hue)
// From the least to the greatest value of a map.
export const scale = (hue) => [
  [0, atLuminance(hue, DARKEST)],
  [0.5, hue],
  [1, atLuminance(hue, PALEST)],
]

// A name cut in the middle to fit the legend of a narrow chart; its end often is the step.
const short = (name) => (name.length <= 30 ? name : `${name.slice(0, 16).trimEnd()}…${name.slice(-13)}`)

const lineOf = ({ name, role, bind = {}, thin, ...rest }, hue) => {
  const run = typeof role === "number"
  const own = run
    ? { width: 2, dash: RUNS[role][0], symbol: RUNS[role][1], size: 4, shade: role % SHADES.length }
    : ROLES[role]
  const color = shade(hue, own.shade)
  const mode = bind.of === "crosses" ? "markers" : own.symbol && bind.of !== "past" && !thin ? "lines+markers" : "lines"
  const value = bind.of === "crosses" ? "%{customdata}" : "%{y:.4g}"
  const trace = {
    type: "scatter",
    name: run ? name : short(name),
    meta: name,
    mode,
    line: { color, width: thin ? 1 : own.width, dash: own.dash ?? "solid" },
    marker: { color, symbol: own.symbol, size: own.size },
    connectgaps: false,
    hovertemplate: `${["past", "frames", "crosses"].includes(bind.of) ? "step %{x}" : "%{text}"}: ${value}<extra>%{meta}</extra>`,
    ...(thin && { opacity: 0.7, showlegend: false }),
  }
  if (bind.of === "crosses") trace.marker = { color: run ? color : RED, symbol: "x", size: 9 }
  if (bind.fold === "least" || bind.fold === "greatest") {
    const edge = { mode: "lines", line: { width: 0 }, showlegend: false, hoverinfo: "skip", hovertemplate: undefined }
    Object.assign(trace, edge, { name: `${name}, ${bind.fold === "least" ? "lowest" : "highest"} seed` })
    if (bind.fold === "greatest") Object.assign(trace, { fill: "tonexty", fillcolor: `${color}33` })
  }
  return { ...trace, ...rest, role, bind }
}

// A declared trace with its look; what it declares of that itself stays. `hue`: that of the chart.
export const looked = (trace, hue) => {
  const own = trace.hue ?? hue
  if (trace.role !== undefined) return lineOf(trace, own)
  if (!trace.hue) return trace
  if (trace.type === "heatmap") return { colorscale: scale(own), ...trace }
  const color = shade(own, trace.shade ?? 0)
  const line = trace.type === "bar" ? {} : { line: { color, ...trace.line } }
  return { ...trace, ...line, marker: { color, ...trace.marker } }
}

// With type, margins, lines and markers scaled by a factor, for a projector.
const font = (one, factor) => ({ ...one, size: (one?.size ?? TYPE_SIZE) * factor })
export const enlargedLayout = (layout, factor) => ({
  ...layout,
  font: font({}, factor),
  title: { ...layout.title, font: font(layout.title?.font, factor) },
  legend: { ...layout.legend, font: font(layout.legend?.font, factor) },
  margin: Object.fromEntries(Object.entries(layout.margin).map(([side, size]) => [side, Math.round(size * factor)])),
  annotations: layout.annotations.map((one) => ({ ...one, font: font(one.font, factor) })),
})
export const thicker = (trace, factor) => {
  const larger = { ...trace }
  for (const [part, name] of [
    ["line", "width"],
    ["marker", "size"],
  ])
    if (typeof trace[part]?.[name] === "number") larger[part] = { ...trace[part], [name]: trace[part][name] * factor }
  return larger
}
