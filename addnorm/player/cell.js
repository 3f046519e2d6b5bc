// The two small panels in a cell of an experiment: a digit with the net's answer, and a loss curve.

import { appendElement, setText, svg } from "./dom.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const DIGIT_SIDE = 8 // pixels of the data set's images
const INK_LEVELS = 17 // an image holds a digit in this base for every pixel
const FONT_SIZE = 12 // pixels; sizes and distances in a curve are declared for it
const MARGINS = { left: 46, right: 6, top: 16, bottom: 14 } // pixels around a curve's plot
const LABEL_GAP = 4 // pixels from an axis to its labels
const TEXT_FLOOR = 2 // pixels from the lower edge to the labels there
const DOT_RADIUS = 3.5 // pixels: the loss at the playhead

// Draws a digit in the text colour, a square for every pixel that is not empty. Returns an SVG.
const digitSvg = (image) => {
  const picture = svg("svg", {
    viewBox: `0 0 ${DIGIT_SIDE} ${DIGIT_SIDE}`,
    "aria-hidden": "true",
    "shape-rendering": "crispEdges",
  })
  for (const [pixel, letter] of [...image].entries()) {
    const ink = Number.parseInt(letter, INK_LEVELS) / (INK_LEVELS - 1)
    const square = { x: pixel % DIGIT_SIDE, y: Math.floor(pixel / DIGIT_SIDE), width: 1, height: 1 }
    if (ink) picture.append(svg("rect", { ...square, fill: "currentColor", "fill-opacity": ink }))
  }
  return picture
}

const lossText = (loss) => (Number.isFinite(loss) ? brief(loss) : "not finite")
const answerText = (answer) => (answer === null ? "no answer" : `read as ${answer}`)

export class Digit {
  constructor(place) {
    this.el = appendElement(place, "div", "player-digits")
  }

  declare(panel) {
    this.panel = panel
    if (this.digits?.length === panel.which.length) return
    this.el.replaceChildren()
    const isAlone = panel.which.length === 1
    if (!isAlone) setText(appendElement(this.el, "h3", "player-heading"), panel.title)
    this.digits = panel.which.map(() => {
      const el = appendElement(this.el, "div", "player-digit")
      if (!isAlone) el.setAttribute("role", "img")
      return { el, image: appendElement(el, "div"), answer: appendElement(el, "p") }
    })
  }

  /** @param {Moment} moment */
  draw(moment) {
    const ten = moment.logs[this.panel.run]?.frame(moment.shown)?.ten
    if (!ten) return
    const allAlike = ten.answers.every((other) => other === ten.answers[0])
    for (const [index, which] of this.panel.which.entries()) {
      const { el, image, answer } = this.digits[index]
      if (!image.firstChild) image.append(digitSvg(ten.images[which]))
      const read = ten.answers[which]
      let note = allAlike ? ", like every other digit" : ""
      if (read === null) note = ": no number is left"
      let mark = allAlike ? "" : "✓"
      if (read !== which) mark = "✗"
      const text = `A ${which}, ${answerText(read)}${note} ${mark}`.trim()
      const isAlone = this.digits.length === 1
      setText(answer, isAlone ? text : `${read ?? "–"} ${mark}`.trim())
      if (!isAlone) el.setAttribute("aria-label", text)
    }
  }
}

export class Curve {
  /** @type {number | undefined} width of the panel in pixels, set by the player */
  width

  // The result of `measure`; the player clears it when the panel is resized.
  /** @type {{ width: number, height: number, em: number } | undefined} */
  measured

  constructor(place) {
    this.place = place
    this.el = place.appendChild(svg("svg", { class: "player-curve", role: "img" }))
  }

  declare(panel) {
    this.panel = panel
    this.measured = undefined
    this.el.style.setProperty("--height", `${panel.height}px`)
    if (!this.el.hasAttribute("aria-label")) this.el.setAttribute("aria-label", `${panel.title}: not measured yet`)
  }

  // Reads the size of the drawing in pixels. `em` is the font size relative to FONT_SIZE.
  measure() {
    return {
      width: this.width ?? this.place.clientWidth,
      height: this.el.clientHeight || this.panel.height, // a phone's style makes it lower
      em: Number.parseFloat(getComputedStyle(this.el).fontSize) / FONT_SIZE,
    }
  }

  /** @param {Moment} moment */
  draw(moment) {
    const { run, level, title } = this.panel
    const log = moment.logs[run]
    if (!log?.length) return
    const { width, height } = (this.measured ??= this.measure())
    const plot = this.plotArea(log.last)
    const shown = Math.floor(log.drawnPosition(moment))
    const loss = log.number("loss", shown)
    const lastStep = Math.min(moment.furthest, log.length - 1)
    this.el.replaceChildren(...this.drawAxes(plot, log.last), ...this.drawLine(plot, log, lastStep, shown, loss))
    this.el.setAttribute("viewBox", `0 0 ${width} ${height}`)
    if (!moment.playing)
      this.el.setAttribute("aria-label", `${title}: ${lossText(loss)} at step ${shown}, chance ${brief(level)}`)
  }

  // Returns the edges of the plot in pixels, and functions that convert a step and a loss to pixels.
  plotArea(last) {
    const { width, height, em } = this.measured
    const left = MARGINS.left * em
    const right = width - MARGINS.right * em
    const top = MARGINS.top * em
    const bottom = height - MARGINS.bottom * em
    const x = (step) => left + (step / last) * (right - left)
    const y = (loss) => top + (1 - loss / this.panel.top) * (bottom - top)
    return { left, right, top, x, y }
  }

  // Draws the axes, the level of chance and their labels. Returns SVG elements.
  drawAxes({ left, right, y }, last) {
    const { top, level } = this.panel
    const { height, em } = this.measured
    const label = (loss, text) =>
      svg("text", { x: left - LABEL_GAP, y: y(loss) + LABEL_GAP * em, "text-anchor": "end" }, text)
    return [
      svg("line", { class: "axis", x1: left, x2: right, y1: y(0), y2: y(0) }),
      svg("line", { class: "axis", x1: left, x2: left, y1: y(top), y2: y(0) }),
      svg("line", { class: "level", x1: left, x2: right, y1: y(level), y2: y(level) }),
      label(top, top),
      label(level, "chance"),
      label(0, 0),
      svg("text", { x: right, y: height - TEXT_FLOOR, "text-anchor": "end" }, `step ${last}`),
    ]
  }

  // Draws the losses up to `lastStep`, with a dot and a label at the step shown. Returns SVG elements.
  drawLine({ left, top: edge, x, y }, log, lastStep, shown, shownLoss) {
    const { top } = this.panel
    const path = []
    const beyond = [] // [step, loss] above the axis
    let command = "M" // after a gap
    for (let step = 0; step <= lastStep; step++) {
      const loss = log.number("loss", step)
      const isInside = loss <= top
      if (isInside) path.push(`${command}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`)
      else beyond.push([step, loss])
      command = isInside ? "L" : "M"
    }
    const parts = [
      svg("path", { class: "line", d: path.join("") }),
      svg("text", { x: left, y: this.measured.height - TEXT_FLOOR }, `loss ${lossText(shownLoss)}`),
    ]
    if (shownLoss <= top) parts.push(svg("circle", { class: "now", cx: x(shown), cy: y(shownLoss), r: DOT_RADIUS }))
    if (beyond.length) parts.push(...this.drawBeyond(beyond, x, edge))
    return parts
  }

  // Draws losses above the axis as arrows, non-finite ones as crosses, and the last one in words. Returns SVG elements.
  drawBeyond(beyond, x, y) {
    const marks = beyond.map(([step, loss]) => {
      if (Number.isFinite(loss)) return svg("path", { class: "beyond", d: `M${x(step)} ${y - 4}l4 -8l4 8z` })
      return svg("path", { class: "lost", d: `M${x(step)} ${y - 12}l8 8m0 -8l-8 8` })
    })
    const [step, loss] = beyond.at(-1)
    const label = Number.isFinite(loss) ? `${brief(loss)} at step ${step}` : `overflow at step ${step}`
    return [...marks, svg("text", { x: x(step) + 12, y: y - 4 }, label)]
  }
}
