// A chart of the player: its sentence, its figure drawn by plotly, and its table.

import { filled, spelled, started } from "./bind.js"
import { described } from "./describe.js"
import { translated, write } from "./dom.js"
import { labelled } from "./label.js"
import { hues, luminance } from "./style.js"
import { tableOf } from "./table.js"

/** @import { Moment } from "./playhead.js" */

const HTML = `
<p class="player-sentence"></p>
<div class="player-place"><div class="player-chart" role="figure"></div><p class="player-alt" hidden></p>
<div class="player-table" role="region" tabindex="0" hidden></div>
<button type="button" class="player-switch" aria-expanded="false">Table</button></div>`
const THEME = ["text-color", "border-color", "font"]
const TABLE_SECONDS = 0.5 // between two tables of a moving chart
const MAP_SECONDS = 0.5 // between two pictures of a moving map
const touch = matchMedia("(pointer: coarse)").matches // dragging scrolls the page, never a chart
const hovers = matchMedia("(hover: hover)").matches && !touch // else plotly's buttons would stand there all the time
const CONFIG = {
  displaylogo: false,
  showSendToCloud: false,
  doubleClick: false, // plotly would go back to the axes of the first drawing, and at the second time to none of ours
  // What a drag does without a button is left out: beside the title of a narrow chart's axis there is room for four.
  modeBarButtonsToRemove: ["zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d", "select2d", "lasso2d"],
}

export const AGAIN = "again" // what `draw` returns if it has to be called again

const pen = document.createElement("canvas").getContext("2d") // measures text

let charts = 0 // of this page: numbers the ids of their descriptions
let plotly // one promise for all charts of a page

// Loads plotly, which puts itself on the window, from its address.
export const load = (address) => {
  const page = /** @type {any} */ (window)
  if (page.Plotly) return Promise.resolve(page.Plotly)
  plotly ??= import(address).then(() => {
    if (!page.Plotly) throw new Error("plotly did not announce itself")
    return page.Plotly
  })
  return plotly
}

// Takes the hues of a page, for its scripts and its styles.
export const setHues = (pageHues) => {
  Object.assign(hues, pageHues)
  for (const [name, hue] of Object.entries(hues)) document.documentElement.style.setProperty(`--hue-${name}`, hue)
}

// A chart's title in the language of the page, within its markup: "<b><span ...>■</span> Loss</b>".
const entitled = (title) =>
  title.endsWith("</b>")
    ? title.replace(/ ([^<>]+)<\/b>$/, (_, words) => ` ${translated(words)}</b>`)
    : translated(title)

// What the y axis means is written horizontally, beside the chart's title.
const upright = (layout) => {
  const [title, unit] = [layout.title?.text, layout.yaxis?.title?.text]
  if (!title || !unit) return title ? { ...layout, title: { ...layout.title, text: entitled(title) } } : layout
  return {
    ...layout,
    title: { ...layout.title, text: `${entitled(title)}  ↑ ${translated(unit)}` },
    yaxis: { ...layout.yaxis, title: { text: "" } },
  }
}

const themed = (declared, theme, size) => {
  const layout = upright(declared)
  const grid = theme["border-color"] || "#8884"
  const type = layout.font?.size ?? 12
  const numbers = { exponentformat: "power", minexponent: 5 } // of ticks and where the pointer is: 10⁶, as in sentences
  const axis = (axisLayout) => ({
    gridcolor: grid,
    linecolor: grid,
    ...numbers,
    ...axisLayout,
    title: { font: { size: type }, ...axisLayout?.title, text: translated(axisLayout?.title?.text ?? "") },
    ...(axisLayout?.ticktext && { ticktext: axisLayout.ticktext.map(translated) }),
  })
  const clear = "rgba(0,0,0,0)"
  return {
    ...layout,
    ...(touch && { dragmode: false }),
    annotations: layout.annotations?.map((annotation) => ({ ...annotation, text: translated(annotation.text ?? "") })),
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
    ...size, // else plotly would measure its place, for which the browser lays out the page
    paper_bgcolor: clear,
    plot_bgcolor: clear,
    font: {
      color: theme["text-color"] || "#555",
      family: theme.font || "sans-serif",
      size: type,
    },
    legend: { ...layout.legend, bgcolor: clear },
  }
}

const copied = (axis) => (axis.range ? { ...axis, range: [...axis.range] } : { ...axis })
// What plotly is given; `before` itself where that is what it has drawn. Copies, because plotly writes the zoom into them.
// Where nothing but lines and points has moved, the arrays inside are the very same, and the new figure is a transition
// without a duration: plotly then redraws the lines alone, without axes, legend and titles. What the pointer is told changes
// inside its array, in which plotly looks when it tells it.
const given = (before, data, layout) => {
  const frame = JSON.stringify([data.map(({ x: _, y: __, customdata: ___, ...rest }) => rest), layout])
  const lines = JSON.stringify(data.map(({ x, y }) => [x, y]))
  const same = before?.frame === frame
  if (same)
    for (const [at, { customdata = [] }] of data.entries())
      before.figure.data[at].customdata?.splice(0, Infinity, ...customdata)
  if (same && before.lines === lines) return before
  const figure = same ? before.figure : { data, layout: structuredClone(layout) } // which plotly never writes into
  const { xaxis, yaxis, ...rest } = figure.layout
  return {
    ...{ frame, lines, figure },
    data: data.map(({ x, y }, at) => ({ ...figure.data[at], x, y })),
    layout: { ...rest, xaxis: copied(xaxis), yaxis: copied(yaxis), ...(same && { transition: { duration: 0 } }) },
  }
}

// The variables of Streamlit's theme at an element, and whether its page is dark.
export const themeOf = (el) => {
  const style = getComputedStyle(el)
  const theme = Object.fromEntries(THEME.map((name) => [name, style.getPropertyValue(`--st-${name}`).trim()]))
  pen.fillStyle = theme["text-color"] || "#555" // of which it makes #rrggbb
  return { ...theme, dark: luminance(pen.fillStyle) > 0.5 }
}

export class Chart {
  /** @type {object | undefined} of plotly's buttons */
  config

  constructor(place, { pointed = (_run) => {} } = {}) {
    place.innerHTML = HTML
    this.pointed = pointed
    const find = (name) => place.querySelector(name)
    this.place = place
    this.drawing = find(".player-place")
    this.sentence = find("p")
    this.el = find(".player-chart")
    this.alt = find(".player-alt")
    this.table = find(".player-table")
    this.button = find("button")
    this.layoutState = {}
    this.undone = 0
    this.alt.id = `player-alt-${++charts}`
    this.el.setAttribute("aria-describedby", this.alt.id)
    this.button.onclick = () => {
      this.table.hidden = !this.table.hidden
      this.name()
      this.tabulate()
    }
  }

  declare(panel) {
    if (this.panel?.fit !== panel.fit) this.layoutState = {}
    this.panel = panel
    this.given = undefined
    this.measured = undefined
    this.isMap = panel.figure?.data.some((trace) => ["map", "bins"].includes(trace.bind?.kind))
    this.el.style.setProperty("--height", `${panel.height}px`)
    this.el.setAttribute("aria-label", translated(`${panel.title}, chart`))
    this.table.setAttribute("aria-label", translated(`${panel.title}, table`))
    this.sentence.hidden = !panel.says
    this.name()
  }

  name() {
    const word = this.table.hidden ? "Table" : "Chart"
    this.drawing.classList.toggle("tabled", !this.table.hidden)
    this.button.textContent = translated(word)
    this.button.setAttribute("aria-label", translated(`${word} of ${this.panel.title}`))
    this.button.setAttribute("aria-expanded", String(!this.table.hidden))
  }

  tabulate() {
    if (this.table.hidden) this.table.replaceChildren()
    else if (this.figure) this.table.replaceChildren(tableOf(this.figure, translated(this.panel.title)))
  }

  // Draws the moment `now`. `Plotly`: undefined until it is loaded; `theme`: the variables of `themeOf`.
  /** @param {Moment} now */
  draw(now, Plotly, theme) {
    const { panel } = this
    if (panel.needs) {
      const there = Boolean(now.logs[panel.run]?.header?.about?.[panel.needs])
      this.place.closest(".player-panel").hidden = !there
      if (!there) return
    }
    if (panel.says) {
      const log = now.logs[panel.run]
      const step = log?.sentenceStep(now)
      const text = (panel.explains_end && log?.end(step)) || log?.sentence(panel.says, step) || panel.placeholder
      write(this.sentence, text)
      this.sentence.classList.toggle("lost", Boolean(panel.explains_end && log?.end(step)))
    }
    const figure = panel.figure ?? (started(now) && now.logs[panel.run]?.frame(now.shown)?.picture)
    // Until the first row of another net comes, or if it is refused, the last net's picture stays and turns pale.
    const awaited = Boolean(this.figure) && now.logs.length > 0 && !now.logs.some((log) => log.length)
    this.place.classList.toggle("awaited", awaited)
    if (awaited) return
    if (!figure?.data) return this.clear(Plotly)
    const nets = now.logs.map(({ link }) => link).join(" ")
    if (nets !== this.nets) {
      this.nets = nets
      this.layoutState = {}
    } // the axes are those of the nets shown
    if (this.isMap && now.playing && now.time - (this.painted ?? 0) < MAP_SECONDS) return
    this.painted = now.time
    this.figure = filled(figure, { ...now, dark: theme.dark }, this.layoutState)
    const measure = (text, size) => {
      pen.font = `${size}px ${theme.font}`
      return pen.measureText(text).width
    }
    const size = (this.measured ??= { width: this.el.clientWidth, height: this.el.clientHeight })
    const whole = labelled(figure, this.figure, size, this.layoutState, measure, theme.dark)
    if (!now.playing || now.time - (this.tabulated ?? 0) > TABLE_SECONDS) {
      this.tabulated = now.time
      this.tabulate()
    }
    if (!now.playing) write(this.alt, described(this.figure))
    if (!Plotly) return // its place is kept, and its numbers are in the table
    if (this.el._dragging) return AGAIN // new data must not end a drag
    this.plot(now, whole, Plotly, theme, size)
  }

  /** @param {Moment} now */
  plot(now, whole, Plotly, theme, size) {
    const { panel } = this
    if (!this.live) this.el.replaceChildren()
    const layout = themed(whole.layout, theme, size)
    layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: layout.font.color, activecolor: layout.font.color }
    layout.xaxis.uirevision = layout.yaxis.uirevision = `${panel.fit} ${this.undone}` // which holds the zoom
    const before = this.given
    this.given = given(
      before,
      whole.data.map((trace) => spelled({ ...trace, name: translated(trace.name) })),
      layout,
    )
    if (this.given === before) return
    // Made once: plotly draws a chart with another function in it from scratch.
    const undo = () => ({ name: "undo", title: "Undo zoom", icon: Plotly.Icons.home, click: () => this.unzoom() })
    const displayModeBar = hovers && !panel.scrubs && "hover"
    this.config ??= { ...CONFIG, displayModeBar, modeBarButtonsToAdd: [undo()] }
    this.unzoom = () => {
      this.undone = this.undone + 1
      this.painted = 0
      this.draw(now, Plotly, theme)
    }
    const fresh = !this.live
    this.live = true
    // Plotly draws asynchronously, and fails if the chart has been cleared in the meantime.
    Plotly.react(this.el, this.given.data, this.given.layout, fresh ? this.config : undefined).catch((error) => {
      if (this.live) throw error
    })
    if (fresh) this.el.on("plotly_doubleclick", () => this.unzoom())
    if (fresh && panel.points) {
      this.el.on("plotly_hover", ({ points: [{ data }] }) => {
        const line = this.panel.figure.data.find(({ name }) => name === (data.meta ?? data.name))
        this.pointed(line?.bind.run)
      })
      this.el.on("plotly_unhover", () => this.pointed(undefined))
    }
  }

  clear(Plotly) {
    if (this.live) Plotly?.purge(this.el)
    this.live = false
    this.given = undefined
    this.figure = undefined
    this.alt.textContent = ""
    this.el.replaceChildren(translated("The net has not been asked yet: press Train or Step."))
  }
}
