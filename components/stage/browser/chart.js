// One chart of the stage: its sentence, its picture by plotly or as a sketch, its table.

import { filled, roomAbove } from "./bind.js"
import { described } from "./describe.js"
import { sketch } from "./sketch.js"
import { tableOf } from "./table.js"

const HTML = `
<p class="stage-sentence"></p>
<div class="stage-place"><div class="stage-chart" role="figure"></div><p class="stage-alt" hidden></p>
<div class="stage-table" role="region" tabindex="0" hidden></div>
<button type="button" class="stage-switch" aria-expanded="false">Table</button></div>`
// "Reset axes" would be a second button of that first word on the page; a double click resets them too.
const CONFIG = { responsive: true, displaylogo: false, showSendToCloud: false, displayModeBar: "hover" }
const THEME = ["text-color", "border-color", "font"]
const TABLE_SECONDS = 0.5 // between two tables of a chart that moves
const MAP_SECONDS = 0.5 // between two pictures of a map that paints itself
const finger = matchMedia("(pointer: coarse)").matches // it scrolls the page: a chart keeps nothing of that to itself
if (finger) CONFIG.displayModeBar = false
CONFIG.modeBarButtonsToRemove = ["resetScale2d", "select2d", "lasso2d"]

export const AGAIN = "again" // what a drawing says that could not be made now

const pen = document.createElement("canvas").getContext("2d") // measures text

let made = 0 // charts of this page, each with the name of its own description
let plotly // one promise for all charts of a page

// Streamlit's own plotly, which announces itself on the window.
export const load = (chunk, script) => {
  if (window.Plotly) return Promise.resolve(window.Plotly)
  if (!chunk || !script) return Promise.reject(new Error("no plotly beside Streamlit"))
  plotly ??= import(new URL(chunk, script).href).then(() => {
    if (!window.Plotly) throw new Error("plotly did not announce itself")
    return window.Plotly
  })
  return plotly
}

const themed = (layout, theme) => {
  const grid = theme["border-color"] || "#8884"
  const axis = (one) => ({ gridcolor: grid, linecolor: grid, ...one })
  const font = {
    color: theme["text-color"] || "#555",
    family: theme.font || "sans-serif",
    size: layout.font?.size ?? 12,
  }
  const clear = "rgba(0,0,0,0)"
  const axes = { xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis) }
  const legend = { ...layout.legend, bgcolor: clear }
  return {
    ...layout,
    ...(finger && { dragmode: false }),
    ...axes,
    autosize: true,
    paper_bgcolor: clear,
    plot_bgcolor: clear,
    font,
    legend,
  }
}

// What Streamlit's theme says where an element stands.
export const themeOf = (el) => {
  const style = getComputedStyle(el)
  return Object.fromEntries(THEME.map((name) => [name, style.getPropertyValue(`--st-${name}`).trim()]))
}

export class Chart {
  constructor(place) {
    place.innerHTML = HTML
    const find = (name) => place.querySelector(name)
    Object.assign(this, {
      place,
      sentence: find("p"),
      el: find(".stage-chart"),
      alt: find(".stage-alt"),
      table: find(".stage-table"),
      button: find("button"),
    })
    this.held = {}
    this.alt.id = `stage-alt-${++made}`
    this.el.setAttribute("aria-describedby", this.alt.id)
    this.button.onclick = () => {
      this.table.hidden = !this.table.hidden
      this.name()
      this.tabulate()
    }
  }

  declare(panel) {
    if (this.panel?.fit !== panel.fit) this.held = {}
    Object.assign(this, { panel, stood: "" })
    this.paints = panel.figure?.data.some((trace) => trace.bind?.of === "map")
    this.rests = !panel.figure || panel.figure.data.every((trace) => !trace.bind || trace.bind.of === "frame")
    this.el.style.height = `${panel.height}px`
    this.el.setAttribute("aria-label", `${panel.title}, chart`)
    this.table.setAttribute("aria-label", `${panel.title}, table`)
    this.sentence.hidden = !panel.says
    this.name()
  }

  name() {
    const word = this.table.hidden ? "Table" : "Chart"
    this.button.textContent = word
    this.button.setAttribute("aria-label", `${word} of ${this.panel.title}`)
    this.button.setAttribute("aria-expanded", String(!this.table.hidden))
  }

  tabulate() {
    if (this.table.hidden) this.table.replaceChildren()
    else if (this.figure) this.table.replaceChildren(tableOf(this.figure, this.panel.title))
  }

  // Draws where `now` is. `Plotly`: null until it is there; `theme`: its variables.
  draw(now, Plotly, theme) {
    const { panel } = this
    if (panel.says) {
      const tape = now.tapes[panel.run]
      const end = panel.ends ? tape?.end(now.row) : ""
      const text = end || tape?.sentence(panel.says, now.row) || panel.before
      if (this.sentence.textContent !== text) this.sentence.textContent = text
      this.sentence.classList.toggle("lost", Boolean(end))
    }
    // What the net says is asked while it trains: before that there is nothing to show, whoever else has trained it.
    const asked = now.furthest || now.playing
    const figure = panel.figure ?? (asked && now.tapes[panel.run]?.frame(now.shown)?.picture)
    // Another net, whose first row is still awaited or was refused: the picture of the one before stays, and pales.
    const awaited = Boolean(this.figure) && now.tapes.length > 0 && !now.tapes.some((tape) => tape.length)
    this.place.classList.toggle("awaited", awaited)
    if (awaited) return
    if (!figure?.data) return this.clear(Plotly)
    if (this.paints && now.playing && now.time - (this.painted ?? 0) < MAP_SECONDS) return
    this.painted = now.time
    this.figure = filled(figure, now, this.held)
    const measure = (text, size) => {
      pen.font = `${size}px ${theme.font}`
      return pen.measureText(text).width
    }
    const t = roomAbove(figure, this.figure, this.width ?? this.place.clientWidth, this.held, measure)
    this.figure.layout.margin = { ...figure.layout.margin, t }
    if (!now.playing || now.time - (this.tabulated ?? 0) > TABLE_SECONDS) {
      this.tabulated = now.time
      this.tabulate()
    }
    if (!now.playing) {
      const words = described(this.figure)
      if (this.alt.textContent !== words) this.alt.textContent = words
    }
    if (!Plotly) return sketch(this.el, this.figure)
    if (this.el._dragging) return AGAIN // new data must not end a drag
    // What moves with the frames alone is the same picture most of the time, and plotly would not see that.
    const stands = this.rests && JSON.stringify([this.figure, theme, this.width])
    if (stands && stands === this.stood) return
    this.stood = stands
    if (!this.live) this.el.replaceChildren()
    const layout = structuredClone(themed(this.figure.layout, theme)) // plotly writes the zoom into what it is given
    this.live = true
    // A drawing ends a moment later; by then the chart may have been cleared, and plotly stumbles over what is gone.
    Plotly.react(this.el, this.figure.data, layout, CONFIG).catch((error) => {
      if (this.live) throw error
    })
  }

  clear(Plotly) {
    if (this.live) Plotly?.purge(this.el)
    Object.assign(this, { live: false, stood: "", figure: undefined })
    this.alt.textContent = ""
    this.el.replaceChildren("The net has not been asked yet: press Train or Step.")
  }
}
