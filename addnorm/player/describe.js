// The description of a chart for screen readers: the ends and the extremes of every line. Pure.

import { brief } from "./number.js"
import { along, bare } from "./table.js"

const MOST = 6 // traces that are described
const PLACES = 3 // of marks that are listed

const formatted = (value) => (typeof value === "number" ? brief(value) : bare(value))
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`

const extremes = (points) =>
  points.reduce(
    ([least, greatest], point) => [
      point.value < least.value ? point : least,
      point.value > greatest.value ? point : greatest,
    ],
    [points[0], points[0]],
  )
const placed = ({ value, at }) => `${formatted(value)} at ${at}`

const line = (trace, name) => {
  const all = along(trace).map((value, at) => ({
    value,
    at: bare(trace.names?.[at] ?? trace.text?.[at] ?? trace.x?.[at] ?? at),
  }))
  const points = all.filter(({ value }) => Number.isFinite(value))
  if (!points.length) return ""
  const [least, greatest] = extremes(points)
  if (least.value === greatest.value) return `${name}: ${formatted(least.value)} at ${counted(points.length, "place")}.`
  const ends = `from ${placed(points[0])} to ${placed(points.at(-1))}`
  const inside = [least, greatest].filter((point) => point !== points[0] && point !== points.at(-1))
  const words = inside.map((point) => `${point === least ? "least" : "greatest"} ${placed(point)}`)
  return `${[`${name}: ${ends}`, ...words].join(", ")}.`
}

const marks = (trace, name) => {
  const places = Array.from(trace.x ?? [], (x, at) => bare(trace.names?.[at] ?? trace.text?.[at] ?? x))
  if (!places.length) return ""
  const more = places.length > PLACES ? ` and ${places.length - PLACES} more` : ""
  const kind = bare(trace.name)
  return `${kind === name ? name : `${name}, ${kind}`}: marked at ${places.slice(0, PLACES).join(", ")}${more}.`
}

const map = (trace, name) => {
  const cells = trace.z.flatMap((row, down) =>
    Array.from(row, (z, right) => {
      const value = trace.customdata?.[down]?.[right] ?? z
      return {
        value,
        at: `${bare(trace.names?.[down] ?? trace.y?.[down] ?? down)}, ${bare(trace.x?.[right] ?? right)}`,
      }
    }),
  )
  const there = cells.filter(({ value }) => Number.isFinite(value))
  if (!there.length) return ""
  const [least, greatest] = extremes(there)
  return `${name}: a map of ${counted(there.length, "cell")}, least ${placed(least)}, greatest ${placed(greatest)}.`
}

const sentence = (trace) => {
  const name = bare(trace.meta ?? trace.name)
  if (trace.type === "contour") return "" // drawn over a map
  return trace.z ? map(trace, name) : (trace.mode === "markers" ? marks : line)(trace, name)
}

export const described = ({ data, layout }) => {
  const axis = (name) => bare(layout[name]?.title?.text)
  const words = data
    .filter(({ visible }) => visible !== false)
    .map(sentence)
    .filter(Boolean)
  if (!words.length) return "Nothing is drawn yet."
  const more = words.length > MOST ? [`And ${words.length - MOST} more.`] : []
  const axes = [axis("yaxis"), axis("xaxis")].filter(Boolean).join(" over ")
  return [...(axes ? [`${axes}.`] : []), ...words.slice(0, MOST), ...more].join(" ")
}
