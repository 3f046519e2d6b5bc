"""The numbers of a chart as a table in its place, made in the browser when somebody asks: the server is not asked.

`HTML` holds the chart's place, the button and the table's; `JS` defines `keepTable`, which is to be called at every new figure.
"""

HTML = """<div class="live-place"><div class="live-chart"></div>
<div class="live-table" role="region" tabindex="0" hidden></div>
<button type="button" class="live-switch" aria-expanded="false">Table</button></div>"""

CSS = """
.live-place { position: relative; }
.live-table {
  position: absolute; inset: 0 0 24px 0; overflow: auto; z-index: 1002;
  background: var(--st-background-color); color: var(--st-text-color); font: 12px var(--st-font, sans-serif);
}
.live-table[hidden] { display: none; }
.live-table caption { text-align: left; font-weight: bold; }
.live-table th, .live-table td { padding: 2px 10px 2px 0; text-align: left; white-space: nowrap; font-weight: normal; }
.live-switch {
  position: absolute; right: 0; bottom: 0; min-height: 24px; min-width: 24px; padding: 0 4px 1px; border: none; z-index: 1002;
  display: flex; align-items: flex-end; background: none; color: var(--st-text-color); font: 11px var(--st-font, sans-serif);
  text-decoration: underline; cursor: pointer;
}
.live-switch:focus-visible, .live-table:focus-visible { outline: 2px solid var(--st-text-color); outline-offset: -2px; }
"""

# A map gives its grid, every other trace a row a point: what a mark stands for is in `meta`, `text` and `customdata`.
JS = """
const rowOf = (kind, first, rest) => {
  const row = document.createElement("tr")
  const cells = [first, ...rest].map((value, at) => {
    const cell = document.createElement(at ? kind : "th")
    cell.textContent = value ?? ""
    return cell
  })
  row.append(...cells)
  return row
}
const bare = (text) => String(text ?? "").replace(/<br>/g, " ").replace(/<[^>]*>/g, "")
const rowsOf = (trace) => trace.z
  ? [rowOf("th", bare(trace.name), trace.x ?? trace.z[0].map((_, at) => at)),
     ...trace.z.map((cells, at) => rowOf("td", trace.y?.[at] ?? at, trace.customdata?.[at] ?? cells))]
  : trace.y.flatMap((y, at) => y === null ? []
    : [rowOf("td", bare(trace.meta ?? trace.name), [bare(trace.text?.[at] ?? trace.x[at]), trace.customdata?.[at] ?? y])])
const filled = ({ data, layout }, title) => {
  const table = document.createElement("table")
  table.createCaption().textContent = title
  const axis = (name) => bare(layout[name]?.title?.text)
  if (data.some((trace) => !trace.z)) table.append(rowOf("th", "line", [axis("xaxis") || "at", axis("yaxis") || "value"]))
  table.append(...data.filter((trace) => trace.visible !== false).flatMap(rowsOf))
  return table
}
const keepTable = (place, { figure, alt }) => {
  const [button, region] = [place.querySelector(".live-switch"), place.querySelector(".live-table")]
  const title = alt.replace(/, chart$/, "")
  region.setAttribute("aria-label", `${title}, table`)
  const show = () => {
    button.textContent = region.hidden ? "Table" : "Chart"
    button.setAttribute("aria-label", `${button.textContent} of ${title}`)
    button.setAttribute("aria-expanded", String(!region.hidden))
    region.replaceChildren(...(region.hidden ? [] : [filled(figure, title)]))
  }
  button.onclick = () => { region.hidden = !region.hidden; show() }
  show()
}
"""
