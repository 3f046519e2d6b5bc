// The description of a chart for screen readers: the ends and the extremes of every line. Pure.

import { brief } from "./number.js"
import { plainText, valuesOf } from "./table.js"

const MAX_TRACES = 6 // that are described
const MAX_PLACES = 3 // of marks that are listed

const format = (value) => (typeof value === "number" ? brief(value) : plainText(value))
const countOf = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`

const extremes = (points) =>
  points.reduce(
    ([least, greatest], point) => [
      point.value < least.value ? point : least,
      point.value > greatest.value ? point : greatest,
    ],
    [points[0], points[0]],
  )
const valueAtPlace = ({ value, place }) => `${format(value)} at ${place}`

const describeLine = (trace, name) => {
  const points = valuesOf(trace)
    .map((value, i) => ({ value, place: plainText(trace.names?.[i] ?? trace.text?.[i] ?? trace.x?.[i] ?? i) }))
    .filter(({ value }) => Number.isFinite(value))
  if (!points.length) return ""
  const [least, greatest] = extremes(points)
  if (least.value === greatest.value) return `${name}: ${format(least.value)} at ${countOf(points.length, "place")}.`
  const ends = `from ${valueAtPlace(points[0])} to ${valueAtPlace(points.at(-1))}`
  const inside = [least, greatest].filter((point) => point !== points[0] && point !== points.at(-1))
  const words = inside.map((point) => `${point === least ? "least" : "greatest"} ${valueAtPlace(point)}`)
  return `${[`${name}: ${ends}`, ...words].join(", ")}.`
}

const describeMarks = (trace, name) => {
  const places = Array.from(trace.x ?? [], (x, i) => plainText(trace.names?.[i] ?? trace.text?.[i] ?? x))
  if (!places.length) return ""
  const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more` : ""
  const kind = plainText(trace.name)
  return `${kind === name ? name : `${name}, ${kind}`}: marked at ${places.slice(0, MAX_PLACES).join(", ")}${more}.`
}

const describeMap = (trace, name) => {
  const cells = trace.z.flatMap((zs, row) =>
    Array.from(zs, (z, column) => {
      const rowName = plainText(trace.names?.[row] ?? trace.y?.[row] ?? row)
      const columnName = plainText(trace.x?.[column] ?? column)
      return { value: trace.customdata?.[row]?.[column] ?? z, place: `${rowName}, ${columnName}` }
    }),
  )
  const points = cells.filter(({ value }) => Number.isFinite(value))
  if (!points.length) return ""
  const [least, greatest] = extremes(points).map(valueAtPlace)
  return `${name}: a map of ${countOf(points.length, "cell")}, least ${least}, greatest ${greatest}.`
}

const describeTrace = (trace) => {
  const name = plainText(trace.meta ?? trace.name)
  if (trace.type === "contour") return "" // drawn over a map
  if (trace.z) return describeMap(trace, name)
  return trace.mode === "markers" ? describeMarks(trace, name) : describeLine(trace, name)
}

export const describeFigure = ({ data, layout }) => {
  const axis = (name) => plainText(layout[name]?.title?.text)
  const sentences = data
    .filter(({ visible }) => visible !== false)
    .map(describeTrace)
    .filter(Boolean)
  if (!sentences.length) return "Nothing is drawn yet."
  const more = sentences.length > MAX_TRACES ? [`And ${sentences.length - MAX_TRACES} more.`] : []
  const axes = [axis("yaxis"), axis("xaxis")].filter(Boolean).join(" over ")
  return [...(axes ? [`${axes}.`] : []), ...sentences.slice(0, MAX_TRACES), ...more].join(" ")
}
