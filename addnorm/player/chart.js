// A chart of the player: a sentence, a figure drawn by plotly, and a table.

import { fillFigure, withSpelledNumbers } from "./bind.js"
import { describeFigure } from "./describe.js"
import { setText } from "./dom.js"
import { labelFigure } from "./label.js"
import { hues, luminance } from "./style.js"
import { tableElement } from "./table.js"

/** @import { Moment } from "./playhead.js" */

const HTML = `
<p class="player-sentence"></p>
<div class="player-place"><div class="player-chart" role="figure"></div><p class="player-alt" hidden></p>
<div class="player-table" role="region" tabindex="0" hidden></div>
<button type="button" class="player-switch" aria-expanded="false">Table</button></div>`
const THEME_VARIABLES = ["text-color", "border-color", "font"]
const TABLE_SECONDS = 0.5 // between two updates of the table of a moving chart
const MAP_SECONDS = 0.5 // between two drawings of a moving map
const isTouch = matchMedia("(pointer: coarse)").matches // dragging must scroll the page, not a chart
const canHover = matchMedia("(hover: hover)").matches && !isTouch // without hover plotly's buttons would always show
const CONFIG = {
  displaylogo: false,
  showSendToCloud: false,
  doubleClick: false, // plotly would restore the axes of the first drawing
  // A narrow chart has room for four buttons; these are the ones that a drag replaces.
  modeBarButtonsToRemove: ["zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d", "select2d", "lasso2d"],
}

export const AGAIN = "again" // `draw` returns it to be called again in the next frame

const MIN_TITLE_SIZE = 9 // pixels
const pen = document.createElement("canvas").getContext("2d") // measures text

let chartCount = 0 // numbers the descriptions of the charts on this page
let plotlyPromise // shared by all charts of a page

// Loads plotly, which defines window.Plotly.
export const loadPlotly = (address) => {
  const page = /** @type {any} */ (window)
  if (page.Plotly) return Promise.resolve(page.Plotly)
  plotlyPromise ??= import(address).then(() => {
    if (!page.Plotly) throw new Error("plotly did not announce itself")
    return page.Plotly
  })
  return plotlyPromise
}

// Fetches plotly while the browser has nothing else to do: the next page may have charts.
export const prefetchPlotly = (href) => {
  const link = { rel: "prefetch", as: "script", crossOrigin: "anonymous", href }
  if (href && !plotlyPromise) document.head.append(Object.assign(document.createElement("link"), link))
}

// Sets the hues of the page, for scripts and for styles.
export const setHues = (pageHues) => {
  Object.assign(hues, pageHues)
  for (const [name, hue] of Object.entries(hues)) document.documentElement.style.setProperty(`--hue-${name}`, hue)
}

// Moves the title of the y axis, which would be vertical, into the title of the chart.
const withUnitInTitle = (layout) => {
  const title = layout.title?.text
  const unit = layout.yaxis?.title?.text
  if (!title || !unit) return layout
  return {
    ...layout,
    title: { ...layout.title, text: `${title}  ↑ ${unit}` },
    yaxis: { ...layout.yaxis, title: { text: "" } },
  }
}

// Returns the title, smaller if it would be cut off at the end of its chart. Text does not shrink exactly as its size does.
const fittingTitle = (title, font, width) => {
  const text = title.text.replace(/<[^>]*>/g, "")
  let { size } = title.font
  const isTooWide = () => {
    pen.font = `bold ${size}px ${font}`
    return pen.measureText(text).width > width
  }
  while (size > MIN_TITLE_SIZE && isTooWide()) size -= 0.5
  return { ...title, font: { ...title.font, size } }
}

// Returns the layout in the colours and the font of the page. `size`: width and height in pixels.
const withTheme = (declared, theme, size) => {
  const layout = withUnitInTitle(declared)
  const grid = theme["border-color"] || "#8884"
  const fontSize = layout.font?.size ?? 12
  const numbers = { exponentformat: "power", minexponent: 5 } // ticks and hover texts read 10⁶, as in sentences
  const axis = (axisLayout) => ({
    gridcolor: grid,
    linecolor: grid,
    ...numbers,
    ...axisLayout,
    title: { font: { size: fontSize }, ...axisLayout?.title, text: axisLayout?.title?.text ?? "" },
  })
  const clear = "rgba(0,0,0,0)"
  return {
    ...layout,
    autotypenumbers: "strict", // names of places such as "-0.25" are names
    ...(isTouch && { dragmode: false }),
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
    ...size, // without it plotly would measure its place, which forces a layout of the page
    paper_bgcolor: clear,
    plot_bgcolor: clear,
    font: {
      color: theme["text-color"] || "#555",
      family: theme.font || "sans-serif",
      size: fontSize,
    },
    legend: { ...layout.legend, bgcolor: clear },
  }
}

const copyAxis = (axis) => (axis.range ? { ...axis, range: [...axis.range] } : { ...axis })
const withoutNumbers = ({ x: _x, y: _y, customdata: _customdata, ...others }) => others
// Returns the input of Plotly.react; `previous` itself if nothing has changed. The axes are copies because plotly writes the
// zoom into them. If only x and y have changed, all other arrays are those of `previous` and the layout has a transition of
// duration 0: plotly then redraws the lines alone, without axes, legend and titles. Hover texts change in place.
const plotlyInput = (previous, data, layout) => {
  const frame = JSON.stringify([data.map(withoutNumbers), layout])
  const lines = JSON.stringify(data.map(({ x, y }) => [x, y]))
  const isSameFrame = previous?.frame === frame
  if (isSameFrame)
    for (const [i, { customdata = [] }] of data.entries())
      previous.figure.data[i].customdata?.splice(0, Infinity, ...customdata)
  if (isSameFrame && previous.lines === lines) return previous
  const figure = isSameFrame ? previous.figure : { data, layout: structuredClone(layout) } // plotly never writes into it
  const { xaxis, yaxis, ...others } = figure.layout
  const axes = { xaxis: copyAxis(xaxis), yaxis: copyAxis(yaxis) }
  return {
    ...{ frame, lines, figure },
    data: data.map(({ x, y }, i) => ({ ...figure.data[i], x, y })),
    layout: { ...others, ...axes, ...(isSameFrame && { transition: { duration: 0 } }) },
  }
}

// The variables of Streamlit's theme at an element, and whether its page is dark.
export const themeOf = (el) => {
  const style = getComputedStyle(el)
  const theme = Object.fromEntries(THEME_VARIABLES.map((name) => [name, style.getPropertyValue(`--st-${name}`).trim()]))
  pen.fillStyle = theme["text-color"] || "#555" // converts the colour to #rrggbb
  return { ...theme, dark: luminance(pen.fillStyle) > 0.5 }
}

export class Chart {
  /** @type {object | undefined} plotly's configuration, which declares its buttons */
  config
  clearings = 0 // how often the chart was cleared

  // `plotted(margins)` is called once a chart that the slider covers is drawn, with the pixels around its plot.
  constructor(place, { plotted = (_margins) => {} } = {}) {
    place.innerHTML = HTML
    this.plotted = plotted
    const find = (name) => place.querySelector(name)
    this.place = place
    this.drawing = find(".player-place")
    this.sentence = find("p")
    this.el = find(".player-chart")
    this.alt = find(".player-alt")
    this.table = find(".player-table")
    this.button = find("button")
    this.layoutState = {}
    this.undoCount = 0
    this.alt.id = `player-alt-${++chartCount}`
    this.el.setAttribute("aria-describedby", this.alt.id)
    this.button.onclick = () => {
      this.table.hidden = !this.table.hidden
      this.updateSwitch()
      this.tabulate()
    }
  }

  declare(panel) {
    if (this.panel?.fit !== panel.fit) this.layoutState = {}
    this.panel = panel
    this.input = undefined
    this.measured = undefined
    this.isMap = panel.figure?.data.some((trace) => ["map", "bins"].includes(trace.bind?.kind))
    this.el.style.setProperty("--height", `${panel.height}px`)
    this.el.setAttribute("aria-label", `${panel.title}, chart`)
    this.table.setAttribute("aria-label", `${panel.title}, table`)
    this.sentence.hidden = !panel.sentence
    this.updateSwitch()
  }

  // Makes the next `draw` read the size of the place again.
  remeasure() {
    this.measured = undefined
  }

  updateSwitch() {
    const word = this.table.hidden ? "Table" : "Chart"
    this.drawing.classList.toggle("tabled", !this.table.hidden)
    this.button.textContent = word
    this.button.setAttribute("aria-label", `${word} of ${this.panel.title}`)
    this.button.setAttribute("aria-expanded", String(!this.table.hidden))
  }

  tabulate() {
    if (this.table.hidden) this.table.replaceChildren()
    else if (this.figure) this.table.replaceChildren(tableElement(this.figure, this.panel.title))
  }

  // Draws sentence, figure and table at a moment. `Plotly` is undefined until it is loaded; `theme` is that of `themeOf`.
  // Returns AGAIN during a drag.
  /** @param {Moment} moment */
  draw(moment, Plotly, theme) {
    const { panel } = this
    const log = moment.logs[panel.run]
    if (panel.needs) {
      const isAvailable = Boolean(log?.header?.about?.[panel.needs])
      this.place.closest(".player-panel").hidden = !isAvailable
      if (!isAvailable) return
    }
    if (panel.sentence) this.updateSentence(moment, log)
    const figure = panel.figure ?? log?.frame(moment.shown)?.picture
    // The picture of the last net stays, faded, until the first row of another net arrives.
    const own = moment.logs.filter(({ beside }) => !beside)
    const isAwaited = Boolean(this.figure) && own.length > 0 && own.every(({ length }) => !length)
    this.place.classList.toggle("awaited", isAwaited)
    if (isAwaited) return
    if (!figure?.data) return this.clear(Plotly)
    this.resetAxesOfOtherNets(own)
    if (this.isMap && moment.playing && moment.time - (this.drawnAt ?? 0) < MAP_SECONDS) return
    this.drawnAt = moment.time
    this.figure = fillFigure(figure, { ...moment, dark: theme.dark }, this.layoutState)
    const measureText = (text, size) => {
      pen.font = `${size}px ${theme.font}`
      return pen.measureText(text).width
    }
    const size = (this.measured ??= { width: this.el.clientWidth, height: this.el.clientHeight })
    const labelled = labelFigure(figure, this.figure, size, this.layoutState, measureText, theme.dark)
    if (!moment.playing || moment.time - (this.tabulatedAt ?? 0) > TABLE_SECONDS) {
      this.tabulatedAt = moment.time
      this.tabulate()
    }
    if (!moment.playing) setText(this.alt, describeFigure(this.figure))
    if (!Plotly) return // the place stays empty, the table has the numbers
    if (this.el._dragging) return AGAIN // new data would end the drag
    this.plot(moment, labelled, Plotly, theme, size)
  }

  updateSentence(moment, log) {
    const { sentence, explains_end: explainsEnd, placeholder } = this.panel
    const endReason = explainsEnd && log?.endReason(moment.shown)
    const isTold = this.panel.scrubs && !moment.furthest && !moment.playing // behind "why", beside the verdict
    setText(this.sentence, endReason || (!isTold && log?.sentence(sentence, moment.shown)) || placeholder)
    this.sentence.classList.toggle("lost", Boolean(endReason))
  }

  resetAxesOfOtherNets(logs) {
    const links = logs.map(({ link }) => link).join(" ")
    if (links !== this.links) this.layoutState = {}
    this.links = links
  }

  /** @param {Moment} moment */
  plot(moment, figure, Plotly, theme, size) {
    const { panel } = this
    if (!this.isPlotted) this.el.replaceChildren()
    const layout = withTheme(figure.layout, theme, size)
    if (layout.title?.text) layout.title = fittingTitle(layout.title, theme.font, size.width)
    layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: layout.font.color, activecolor: layout.font.color }
    layout.xaxis.uirevision = layout.yaxis.uirevision = `${panel.fit} ${this.undoCount}` // keeps the zoom while it is equal
    const data = figure.data.map(withSpelledNumbers)
    const previous = this.input
    this.input = plotlyInput(previous, data, layout)
    if (this.input === previous) return
    this.unzoom = () => {
      this.undoCount += 1
      this.drawnAt = 0
      this.draw(moment, Plotly, theme)
    }
    const isFirst = !this.isPlotted
    this.isPlotted = true
    const clearings = this.clearings
    // Plotly draws asynchronously, and fails if the chart has been cleared in the meantime, though drawn again since.
    Plotly.react(this.el, this.input.data, this.input.layout, isFirst ? this.plotlyConfig(Plotly) : undefined).then(
      () => panel.scrubs && clearings === this.clearings && this.plotted(this.el._fullLayout._size),
      (error) => {
        if (clearings === this.clearings) throw error
      },
    )
    if (isFirst) this.listen()
  }

  // Returns the same object in every call: if a function in it were new, plotly would draw the chart from scratch.
  plotlyConfig(Plotly) {
    const undo = { name: "undo", title: "Undo zoom", icon: Plotly.Icons.home, click: () => this.unzoom() }
    const displayModeBar = canHover && !this.panel.scrubs && "hover"
    this.config ??= { ...CONFIG, displayModeBar, modeBarButtonsToAdd: [undo] }
    return this.config
  }

  listen() {
    this.el.on("plotly_doubleclick", () => this.unzoom())
  }

  clear(Plotly) {
    if (this.isPlotted) Plotly?.purge(this.el)
    this.isPlotted = false
    this.clearings++
    this.input = undefined
    this.figure = undefined
    this.alt.textContent = ""
    this.el.replaceChildren("The net has not been asked yet: press Train or Step.")
  }
}
