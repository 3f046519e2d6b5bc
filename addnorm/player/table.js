// The table of a chart's numbers, made when it is opened.

import { brief } from "./number.js"

export const bare = (text) =>
  String(text ?? "")
    .replace(/<br>/g, " ")
    .replace(/<[^>]*>/g, "")

const rowOf = (kind, first, rest) => {
  const row = document.createElement("tr")
  row.append(
    ...[first, ...rest].map((value, at) => {
      const cell = document.createElement(at ? kind : "th")
      cell.textContent = Number.isFinite(value) ? brief(value, 4) : (value ?? "")
      return cell
    }),
  )
  return row
}

// The values of a line or of bars, which lie along x where a chart lies on its side.
export const along = ({ orientation, x, y }) => Array.from((orientation === "h" ? x : y) ?? [])

// The rows of a map are its grid; any other trace has a row per point, a mark with its `meta`, `text` and `customdata`.
const rowsOf = (trace, side) => {
  if (trace.z) {
    const head = rowOf("th", trace.names ? side : bare(trace.name), trace.x ?? trace.z[0].map((_, at) => at))
    return [
      head,
      ...trace.z.map((cells, at) =>
        rowOf("td", trace.names?.[at] ?? trace.y?.[at] ?? at, trace.customdata?.[at] ?? cells),
      ),
    ]
  }
  const name = bare(trace.mode === "markers" ? (trace.meta ?? trace.name) : trace.name)
  const point = (value, at) =>
    rowOf("td", name, [bare(trace.names?.[at] ?? trace.text?.[at] ?? trace.x[at]), trace.customdata?.[at] ?? value])
  return along(trace).flatMap((value, at) => (value === null ? [] : [point(value, at)]))
}

export const tableOf = ({ data, layout }, title) => {
  const table = document.createElement("table")
  table.createCaption().textContent = title
  const axis = (name) => bare(layout[name]?.title?.text)
  if (data.some((trace) => !trace.z))
    table.append(rowOf("th", "line", [axis("xaxis") || "at", axis("yaxis") || "value"]))
  const shown = data.filter(({ visible, type }) => visible !== false && type !== "contour") // which is drawn over a map
  table.append(...shown.flatMap((trace) => rowsOf(trace, axis("yaxis"))))
  return table
}
