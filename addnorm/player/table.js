// The table of a chart's numbers, built when the viewer opens it.

import { brief } from "./number.js"

// The text without its markup.
export const plainText = (text) =>
  String(text ?? "")
    .replace(/<br>/g, " ")
    .replace(/<[^>]*>/g, "")

const rowElement = (tag, header, values) => {
  const row = document.createElement("tr")
  row.append(
    ...[header, ...values].map((value, column) => {
      const cell = document.createElement(column ? tag : "th")
      cell.textContent = Number.isFinite(value) ? brief(value, 4) : (value ?? "")
      return cell
    }),
  )
  return row
}

// The values of a line or of bars: y, or x in a chart on its side.
export const valuesOf = ({ orientation, x, y }) => Array.from((orientation === "h" ? x : y) ?? [])

const mapRows = (trace, rowTitle) => {
  const columns = trace.x ?? trace.z[0].map((_, column) => column)
  const body = trace.z.map((cells, row) =>
    rowElement("td", trace.names?.[row] ?? trace.y?.[row] ?? row, trace.customdata?.[row] ?? cells),
  )
  return [rowElement("th", trace.names ? rowTitle : plainText(trace.name), columns), ...body]
}

// One row per point: name, place, value.
const pointRows = (trace) => {
  const name = plainText(trace.mode === "markers" ? (trace.meta ?? trace.name) : trace.name)
  return valuesOf(trace).flatMap((value, i) => {
    if (value === null) return []
    const place = plainText(trace.names?.[i] ?? trace.text?.[i] ?? trace.x[i])
    return [rowElement("td", name, [place, trace.customdata?.[i] ?? value])]
  })
}

export const tableElement = ({ data, layout }, title) => {
  const table = document.createElement("table")
  table.createCaption().textContent = title
  const axis = (name) => plainText(layout[name]?.title?.text)
  if (data.some((trace) => !trace.z))
    table.append(rowElement("th", "line", [axis("xaxis") || "at", axis("yaxis") || "value"]))
  for (const trace of data) {
    if (trace.visible === false || trace.type === "contour") continue // a contour repeats a map
    table.append(...(trace.z ? mapRows(trace, axis("yaxis")) : pointRows(trace)))
  }
  return table
}
