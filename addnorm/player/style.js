// The styles of lines and maps. Each role has a shade of the chart's hue, a dash and a marker, so that a chart can be read
// without its colours. Pure.

/** @type {Record<string, string>} #rrggbb by name; `setHues` fills it in */
export const hues = {}
const NEGATIVE_HUE = "#7d5f2c" // negative values on a signed scale
// Relative luminances; null keeps that of the hue.
const SHADE_LUMINANCES = [null, 0.135, 0.29, 0.18] // shades 0 to 3 of a line, visible on light and on dark pages
const SCALE_LUMINANCES = [0.8, null, 0.045] // a map's minimum, middle and maximum on a light page
const SIGNED_LUMINANCES = [0.09, 0.8, 0.09] // minimum, 0 and maximum on a signed scale
// On a dark page the middle is dim too, and nothing is as bright as a page of paper.
const DARK_PAGE_LUMINANCES = { 0.8: 0.025, null: 0.13, 0.045: 0.4, 0.09: 0.32 }
const CHANNEL_LUMINANCES = [0.2126, 0.7152, 0.0722] // pure red, green and blue (WCAG 2.2)
const FONT_SIZE = 12 // plotly's default

const ROLE_STYLES = {
  now: { width: 3, symbol: "circle", size: 5, shade: 0 },
  previous: { width: 2, dash: "dot" }, // grey
  pinned: { width: 2, dash: "dash", shade: 1 },
  other: { width: 2, dash: "dash", symbol: "square", size: 5, shade: 1 },
  formula: { width: 2, dash: "dashdot", shade: 2 },
  initial: { width: 2, dash: "longdash", shade: 2 },
  "held-out": { width: 2, dash: "dash", symbol: "diamond", size: 6, shade: 0 },
}
const RUN_STYLES = [
  ["solid", "circle"],
  ["dash", "square"],
  ["dot", "diamond"],
  ["dashdot", "triangle-up"],
  ["longdash", "circle-open"], // shades begin again, and a line over steps has no markers
  ["longdashdot", "square-open"],
  ["6px,2px,2px,2px,2px,2px", "diamond-open"],
  ["14px,2px", "triangle-up-open"],
]

const toLinear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
const toSrgb = (part) => (part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055)

export const rgbOf = (colour) => [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16))
const hexOf = (parts) => `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`
// Relative luminance (WCAG 2.2) of #rrggbb, from 0 to 1.
export const luminance = (colour) =>
  rgbOf(colour).reduce((sum, part, i) => sum + toLinear(part / 255) * CHANNEL_LUMINANCES[i], 0)

// The hue mixed with black or white, in linear light, to a relative luminance.
export const withLuminance = (hue, target) => {
  const source = luminance(hue)
  const mix = (part) =>
    target < source ? (part * target) / source : part + ((1 - part) * (target - source)) / (1 - source)
  return hexOf(rgbOf(hue).map((part) => 255 * toSrgb(mix(toLinear(part / 255)))))
}
// Shade 0 is the hue; 1, 2 and 3 are dark, pale and in between; undefined gives grey.
export const shadeOf = (hue, shade) => {
  if (shade === undefined) return hues.grey
  return SHADE_LUMINANCES[shade] ? withLuminance(hue, SHADE_LUMINANCES[shade]) : hue
}

// The colour scale of a map. Larger values contrast more with the page: darker on a light page, lighter on a dark one.
// `signed`: whether the scale is symmetric about 0.
export const colourScale = (hue, dark, signed) => {
  const colours = signed ? [NEGATIVE_HUE, hues.grey, hue] : [hue, hue, hue]
  const luminances = signed ? SIGNED_LUMINANCES : SCALE_LUMINANCES
  return colours.map((colour, i) => {
    const target = dark ? DARK_PAGE_LUMINANCES[luminances[i]] : luminances[i]
    return [i / 2, target === null ? colour : withLuminance(colour, target)]
  })
}
// The colour at a share of a scale, interpolated as in plotly.
export const colourAt = (scale, share) => {
  const next = scale.findIndex(([position]) => position >= share)
  const [[low, lowColour], [high, highColour]] = scale.slice(Math.max(1, next) - 1)
  const highRgb = rgbOf(highColour)
  return hexOf(rgbOf(lowColour).map((part, i) => part + ((highRgb[i] - part) * (share - low)) / (high - low)))
}
// Black or white text for a background; the contrast is at least 4.58.
export const inkOn = (colour) => (luminance(colour) > 0.1791 ? "#000000" : "#ffffff")

// A name cut in the middle for the legend of a narrow chart; its end is often the step.
const shortName = (name) =>
  name.replace("{step}", "999").length <= 30 ? name : `${name.slice(0, 16).trimEnd()}…${name.slice(-13)}`

// Returns the trace of a line or of crosses in the style of its role; attributes that it declares itself win.
/** @param {{ name: string, role: number | string, bind?: { kind?: string, fold?: string }, thin?: boolean }} declared */
const lineOf = ({ name, role, bind = {}, thin, ...rest }, hue) => {
  const isRun = typeof role === "number" // the index of a run among several
  const style = isRun
    ? {
        width: 2,
        dash: RUN_STYLES[role][0],
        symbol: RUN_STYLES[role][1],
        size: 4,
        shade: role % SHADE_LUMINANCES.length,
      }
    : ROLE_STYLES[role]
  const color = shadeOf(hue, style.shade)
  const isCrosses = bind.kind === "crosses"
  const hasMarkers = style.symbol && bind.kind !== "past" && !thin
  const lineMode = hasMarkers ? "lines+markers" : "lines"
  const place = ["past", "frames", "crosses"].includes(bind.kind) ? "step %{x}" : "%{text}"
  const value = isCrosses ? "%{customdata}" : "%{y:.4g}"
  const trace = {
    type: "scatter",
    name: isRun ? name : shortName(name),
    meta: name,
    mode: isCrosses ? "markers" : lineMode,
    line: { color, width: thin ? 1 : style.width, dash: style.dash ?? "solid" },
    marker: { color, symbol: style.symbol, size: style.size },
    connectgaps: false,
    hovertemplate: `${place}: ${value}<extra>%{meta}</extra>`,
    ...(thin && { opacity: 0.7, showlegend: false }),
  }
  if (isCrosses) trace.marker = { color: isRun ? color : hues.red, symbol: "x", size: 9 }
  if (bind.fold === "least" || bind.fold === "greatest") {
    const edge = { mode: "lines", line: { width: 0 }, showlegend: false, hoverinfo: "skip", hovertemplate: undefined }
    Object.assign(trace, edge, { name: `${name}, ${bind.fold === "least" ? "lowest" : "highest"} seed` })
    if (bind.fold === "greatest") Object.assign(trace, { fill: "tonexty", fillcolor: `${color}33` })
  }
  return { ...trace, ...rest, role, bind }
}

// Returns a declared trace with its style on a light or a dark page; styles that it declares itself win. `hue` is that of
// the chart.
export const styledTrace = (trace, hue, dark) => {
  const traceHue = trace.hue ?? hue
  if (trace.role !== undefined) return lineOf(trace, traceHue)
  if (trace.type === "contour") return { ...trace, line: { color: dark ? "#ffffff" : "#111111", ...trace.line } }
  if (!trace.hue) return trace
  if (trace.type === "heatmap") return { colorscale: colourScale(traceHue, dark, trace.bind?.signed), ...trace }
  const color = shadeOf(traceHue, trace.shade ?? 0)
  const line = trace.type === "bar" ? {} : { line: { color, ...trace.line } }
  return { ...trace, ...line, marker: { color, ...trace.marker } }
}

// For projectors: fonts and margins, lines and markers scaled by a factor.
const enlargedFont = (font, factor) => ({ ...font, size: (font?.size ?? FONT_SIZE) * factor })
export const enlargedLayout = (layout, factor) => ({
  ...layout,
  font: enlargedFont({}, factor),
  title: { ...layout.title, font: enlargedFont(layout.title?.font, factor) },
  legend: { ...layout.legend, font: enlargedFont(layout.legend?.font, factor) },
  margin: Object.fromEntries(Object.entries(layout.margin).map(([side, size]) => [side, Math.round(size * factor)])),
  annotations: layout.annotations.map((annotation) => ({ ...annotation, font: enlargedFont(annotation.font, factor) })),
})
export const enlargedTrace = (trace, factor) => {
  const enlarged = { ...trace }
  const { line, marker } = trace
  if (typeof line?.width === "number") enlarged.line = { ...line, width: line.width * factor }
  if (typeof marker?.size === "number") enlarged.marker = { ...marker, size: marker.size * factor }
  return enlarged
}
