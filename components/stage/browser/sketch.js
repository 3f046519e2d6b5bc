// A figure as plain lines in an SVG, shown until plotly is loaded and where it cannot be.

const [LEFT, RIGHT, BOTTOM] = [58, 8, 36]
const MAP = "a map: its numbers are in the table until plotly is there"
const NS = "http://www.w3.org/2000/svg"
const DASHES = { dot: "2 4", dash: "7 5", dashdot: "7 4 2 4", longdash: "12 5" }

export const node = (name, attributes, text) => {
  const made = document.createElementNS(NS, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  if (text !== undefined) made.textContent = text
  return made
}
// The parts of a text like "10<sup>-3</sup>".
const raised = (text) => {
  const [all, base, exponent] = String(text).match(/^(.*?)<sup>(.*)<\/sup>$/) ?? []
  return all ? { base, exponent } : { base: String(text).replace(/<[^>]*>/g, "") }
}

const rangeOf = (axis, lines, name) => {
  if (axis?.range) return axis.range
  const there = lines.flatMap((trace) => trace[name]).filter(Number.isFinite)
  return there.length ? [Math.min(...there), Math.max(Math.max(...there), Math.min(...there) + 1)] : [0, 1]
}

export const sketch = (place, { data, layout }) => {
  const [width, height] = [place.clientWidth || 320, place.clientHeight || 240]
  const top = layout.margin?.t ?? 30
  const lines = data.filter((trace) => trace.type === "scatter")
  const log = layout.yaxis?.type === "log"
  const [xLow, xHigh] = rangeOf(layout.xaxis, lines, "x")
  const [yLow, yHigh] = rangeOf(layout.yaxis, lines, "y")
  const x = (value) => LEFT + ((value - xLow) / (xHigh - xLow || 1)) * (width - LEFT - RIGHT)
  const y = (value) =>
    top + (1 - ((log ? Math.log10(value) : value) - yLow) / (yHigh - yLow || 1)) * (height - top - BOTTOM)
  const svg = node("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    class: "stage-sketch",
    "aria-hidden": "true",
  })
  svg.append(node("text", { x: 0, y: 14, class: "title" }, raised(layout.title?.text ?? "").base))
  const clip = `clip-${Math.random().toString(36).slice(2)}`
  const inner = {
    x: LEFT,
    y: top,
    width: Math.max(0, width - LEFT - RIGHT),
    height: Math.max(0, height - top - BOTTOM),
  }
  const path = node("clipPath", { id: clip })
  path.append(node("rect", inner))
  svg.append(path, node("rect", { ...inner, class: "frame" }))
  place.replaceChildren(svg)
  const middle = LEFT + inner.width / 2
  const centred = (x, y, text) => svg.append(node("text", { x, y, "text-anchor": "middle" }, text))
  const words = (text) => centred(middle, top + inner.height / 2, text)
  if (!lines.length && data.length) return words(MAP)
  const ticks = layout.yaxis?.tickvals ?? [yLow, (yLow + yHigh) / 2, yHigh].map((one) => Number(one.toPrecision(3)))
  ticks.forEach((value, at) => {
    if (typeof value !== "number") return
    const { base, exponent } = raised(layout.yaxis?.ticktext?.[at] ?? value)
    const label = node("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, base)
    if (exponent !== undefined) label.append(node("tspan", { dy: -5, "font-size": 9 }, exponent))
    svg.append(node("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "grid" }), label)
  })
  const places = layout.xaxis?.tickvals ?? [xLow, (xLow + xHigh) / 2, xHigh].map(Math.round)
  places.forEach((value, at) => {
    if (typeof value !== "number") return
    centred(x(value), height - BOTTOM + 15, layout.xaxis?.ticktext?.[at] ?? value)
  })
  centred(middle, height - 4, layout.xaxis?.title?.text ?? "")
  const drawn = node("g", { "clip-path": `url(#${clip})` })
  for (const { line = {}, marker = {}, x: xs, y: ys, mode = "lines" } of lines) {
    const points = ys.flatMap((value, at) => (value === null ? [] : [[x(xs[at]), y(value)]]))
    const colour = line.color ?? marker.color ?? "currentColor"
    if (mode.includes("lines") && line.width !== 0) {
      const polyline = {
        points: points.map((point) => point.map((one) => one.toFixed(1)).join(",")).join(" "),
        stroke: colour,
        "stroke-width": line.width ?? 2,
        "stroke-dasharray": DASHES[line.dash] ?? "none",
        fill: "none",
      }
      drawn.append(node("polyline", polyline))
    }
    const fill = marker.color ?? colour
    if (mode === "markers") for (const [cx, cy] of points) drawn.append(node("circle", { cx, cy, r: 4, fill }))
  }
  for (const { x0, x1, y0, y1, xref, yref, line } of layout.shapes ?? []) {
    const [left, right] = xref === "paper" ? [LEFT, width - RIGHT] : [x(x0), x(x1)]
    const [from, to] = yref === "paper" ? [top, height - BOTTOM] : [y(y0), y(y1)]
    const place = { x1: left, x2: right, y1: from, y2: to }
    drawn.append(node("line", { ...place, stroke: line.color, "stroke-dasharray": DASHES[line.dash] ?? "none" }))
  }
  svg.append(drawn)
  const empty = data.length ? "" : (layout.annotations?.at(-1)?.text ?? "")
  if (empty) words(empty)
}
