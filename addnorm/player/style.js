// How lines and maps look: a hue and its shades, and by role a dash, a marker and a shade of the hue, so that a chart can
// be read without its colours. Pure.

/** @type {Record<string, string>} by name, as the page tells them */
export const hues = {}
const NEGATIVE = "#7d5f2c" // beside a hue, which is then of the positive
const SHADES = [null, 0.135, 0.29, 0.18] // luminances; beyond these a line is lost on one of the pages
const SCALE = [0.8, null, 0.045] // luminances of a map's least, middle and greatest value on a light page
const SIGNED = [0.09, 0.8, 0.09] // of -most, 0 and most
const ON_DARK = { 0.8: 0.045, 0.045: 0.8, 0.09: 0.32 } // the same on a dark page
const OF_WHITE = [0.2126, 0.7152, 0.0722]
const TYPE_SIZE = 12 // plotly's own, for text without a size

// By name; a number is that of a run among several.
const ROLES = {
  now: { width: 3, symbol: "circle", size: 5, shade: 0 },
  previous: { width: 2, dash: "dot" }, // grey
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

export const partsOf = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
const hexOf = (parts) => `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`
// Relative luminance (WCAG 2.2) of #rrggbb, from 0 to 1.
export const luminance = (colour) =>
  partsOf(colour).reduce((sum, part, at) => sum + light(part / 255) * OF_WHITE[at], 0)

// A hue mixed with black or white, in linear light, to a relative luminance.
export const atLuminance = (hue, wanted) => {
  const from = luminance(hue)
  const mix = (part) => (wanted < from ? (part * wanted) / from : part + ((1 - part) * (wanted - from)) / (1 - from))
  return hexOf(partsOf(hue).map((part) => 255 * coded(mix(light(part / 255)))))
}
// A hue, and a dark, a pale and a middle shade of it, as far apart in lightness as both pages allow.
export const shade = (hue, at) => (at === undefined ? hues.grey : SHADES[at] ? atLuminance(hue, SHADES[at]) : hue)

// The colours of a map from its least to its greatest value. More is more ink: darker on a light page, lighter on a dark one.
// `signed`: from -most to most, with as much ink on both sides of 0.
export const scale = (hue, dark, signed) =>
  (signed ? SIGNED : SCALE).map((wanted, at) => {
    const colour = signed ? [NEGATIVE, hues.grey, hue][at] : hue
    return [at / 2, wanted === null ? colour : atLuminance(colour, dark ? ON_DARK[wanted] : wanted)]
  })
// The colour at a share of a scale, mixed as plotly mixes it.
export const colourAt = (scale, share) => {
  const after = Math.max(
    1,
    scale.findIndex(([at]) => at >= share),
  )
  const [[from, low], [to, high]] = [scale[after - 1], scale[after]]
  const [lower, upper] = [partsOf(low), partsOf(high)]
  return hexOf(lower.map((part, at) => part + ((upper[at] - part) * (share - from)) / (to - from)))
}
// The colour of text on a cell: its contrast is at least 4.58.
export const inkOn = (colour) => (luminance(colour) > 0.1791 ? "#000000" : "#ffffff")

// A name cut in the middle to fit the legend of a narrow chart; its end often is the step.
const short = (name) => (name.length <= 30 ? name : `${name.slice(0, 16).trimEnd()}…${name.slice(-13)}`)

/** @param {{ name: string, role: number | string, bind?: { kind?: string, fold?: string }, thin?: boolean }} declared */
const lineOf = ({ name, role, bind = {}, thin, ...rest }, hue) => {
  const run = typeof role === "number"
  const style = run
    ? { width: 2, dash: RUNS[role][0], symbol: RUNS[role][1], size: 4, shade: role % SHADES.length }
    : ROLES[role]
  const color = shade(hue, style.shade)
  const mode =
    bind.kind === "crosses" ? "markers" : style.symbol && bind.kind !== "past" && !thin ? "lines+markers" : "lines"
  const value = bind.kind === "crosses" ? "%{customdata}" : "%{y:.4g}"
  const trace = {
    type: "scatter",
    name: run ? name : short(name),
    meta: name,
    mode,
    line: { color, width: thin ? 1 : style.width, dash: style.dash ?? "solid" },
    marker: { color, symbol: style.symbol, size: style.size },
    connectgaps: false,
    hovertemplate: `${["past", "frames", "crosses"].includes(bind.kind) ? "step %{x}" : "%{text}"}: ${value}<extra>%{meta}</extra>`,
    ...(thin && { opacity: 0.7, showlegend: false }),
  }
  if (bind.kind === "crosses") trace.marker = { color: run ? color : hues.red, symbol: "x", size: 9 }
  if (bind.fold === "least" || bind.fold === "greatest") {
    const edge = { mode: "lines", line: { width: 0 }, showlegend: false, hoverinfo: "skip", hovertemplate: undefined }
    Object.assign(trace, edge, { name: `${name}, ${bind.fold === "least" ? "lowest" : "highest"} seed` })
    if (bind.fold === "greatest") Object.assign(trace, { fill: "tonexty", fillcolor: `${color}33` })
  }
  return { ...trace, ...rest, role, bind }
}

// A declared trace with its look on a light or a dark page; what it declares of that itself stays. `hue`: that of the chart.
export const looked = (trace, hue, dark) => {
  const traceHue = trace.hue ?? hue
  if (trace.role !== undefined) return lineOf(trace, traceHue)
  if (trace.type === "contour") return { ...trace, line: { color: dark ? "#ffffff" : "#111111", ...trace.line } }
  if (!trace.hue) return trace
  if (trace.type === "heatmap") return { colorscale: scale(traceHue, dark, trace.bind?.signed), ...trace }
  const color = shade(traceHue, trace.shade ?? 0)
  const line = trace.type === "bar" ? {} : { line: { color, ...trace.line } }
  return { ...trace, ...line, marker: { color, ...trace.marker } }
}

// With type, margins, lines and markers scaled by a factor, for a projector.
const font = (base, factor) => ({ ...base, size: (base?.size ?? TYPE_SIZE) * factor })
export const enlargedLayout = (layout, factor) => ({
  ...layout,
  font: font({}, factor),
  title: { ...layout.title, font: font(layout.title?.font, factor) },
  legend: { ...layout.legend, font: font(layout.legend?.font, factor) },
  margin: Object.fromEntries(Object.entries(layout.margin).map(([side, size]) => [side, Math.round(size * factor)])),
  annotations: layout.annotations.map((annotation) => ({ ...annotation, font: font(annotation.font, factor) })),
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
