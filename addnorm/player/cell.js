// Two small panels of a cell of an experiment: a digit with the net's answer, and a loss curve.

import { appendElement, setText, svg } from "./dom.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const SIDE = 8 // pixels of a digit
const MARGINS = { left: 46, right: 6, top: 16, bottom: 14 } // pixels around a curve's plot, at a font size of 12
const INKS = 17 // levels of a pixel; each is a digit in this base

// A digit as an SVG with a square for every pixel that is not empty, in the text colour.
const digitSvg = (image) => {
  const picture = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true", "shape-rendering": "crispEdges" })
  for (const [pixel, letter] of [...image].entries()) {
    const ink = Number.parseInt(letter, INKS) / (INKS - 1)
    const square = { x: pixel % SIDE, y: Math.floor(pixel / SIDE), width: 1, height: 1 }
    if (ink) picture.append(svg("rect", { ...square, fill: "currentColor", "fill-opacity": ink }))
  }
  return picture
}

const answerText = (answer) => (answer === null ? "no answer" : `read as ${answer}`)

export class Digit {
  constructor(place) {
    const el = appendElement(place, "div", "player-digit")
    this.image = appendElement(el, "div")
    this.answer = appendElement(el, "p")
  }

  declare(panel) {
    this.panel = panel
  }

  /** @param {Moment} moment */
  draw(moment) {
    const ten = moment.logs[this.panel.run]?.frame(moment.shown)?.ten
    if (!ten) return
    const { which } = this.panel
    if (!this.image.firstChild) this.image.append(digitSvg(ten.images[which]))
    const answer = ten.answers[which]
    const allAlike = ten.answers.every((other) => other === answer)
    const note = answer === null ? ": no number is left" : allAlike ? ", like every other digit" : ""
    const mark = answer !== which ? "✗" : allAlike ? "" : "✓"
    setText(this.answer, `A ${which}, ${answerText(answer)}${note} ${mark}`.trim())
  }
}

export class Curve {
  /** @type {number | undefined} of its place; the player sets it */
  width

  /** @type {{ width: number, height: number, em: number } | undefined} the player resets it when the place changes size */
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

  // Sizes in pixels, read once per size of the place; `em`: font size over 12.
  measure() {
    return {
      width: this.width ?? this.place.clientWidth,
      height: this.el.clientHeight || this.panel.height, // a phone's style makes it lower
      em: Number.parseFloat(getComputedStyle(this.el).fontSize) / 12,
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
    const until = Math.min(moment.furthest, log.length - 1)
    this.el.replaceChildren(...this.axes(plot, log.last), ...this.line(plot, log, until, shown, loss))
    this.el.setAttribute("viewBox", `0 0 ${width} ${height}`)
    if (!moment.playing)
      this.el.setAttribute("aria-label", `${title}: ${brief(loss)} at step ${shown}, chance ${brief(level)}`)
  }

  // The edges of the plot in pixels, and functions from step and loss to pixels.
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

  axes({ left, right, y }, last) {
    const { top, level } = this.panel
    const { height, em } = this.measured
    const label = (loss, text) => svg("text", { x: left - 4, y: y(loss) + 4 * em, "text-anchor": "end" }, text)
    return [
      svg("line", { class: "axis", x1: left, x2: right, y1: y(0), y2: y(0) }),
      svg("line", { class: "axis", x1: left, x2: left, y1: y(top), y2: y(0) }),
      svg("line", { class: "level", x1: left, x2: right, y1: y(level), y2: y(level) }),
      label(top, top),
      label(level, "chance"),
      label(0, 0),
      svg("text", { x: right, y: height - 2, "text-anchor": "end" }, `step ${last}`),
    ]
  }

  line({ left, top: edge, x, y }, log, until, shown, shownLoss) {
    const { top } = this.panel
    const path = []
    const beyond = []
    for (let step = 0, penDown = false; step <= until; step++) {
      const loss = log.number("loss", step)
      if (loss <= top) path.push(`${penDown ? "L" : "M"}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`)
      else beyond.push([step, loss])
      penDown = loss <= top
    }
    const parts = [
      svg("path", { class: "line", d: path.join("") }),
      svg("text", { x: left, y: this.measured.height - 2 }, `loss ${brief(shownLoss)}`),
    ]
    if (shownLoss <= top) parts.push(svg("circle", { class: "now", cx: x(shown), cy: y(shownLoss), r: 3.5 }))
    if (beyond.length) parts.push(...this.edge(beyond, x, edge))
    return parts
  }

  // Marks of losses above the axis: arrows, crosses for non-finite losses, and the last one in words.
  edge(beyond, x, y) {
    const marks = beyond.map(([step, loss]) => {
      if (Number.isFinite(loss)) return svg("path", { class: "beyond", d: `M${x(step)} ${y - 4}l4 -8l4 8z` })
      return svg("path", { class: "lost", d: `M${x(step)} ${y - 12}l8 8m0 -8l-8 8` })
    })
    const [step, loss] = beyond.at(-1)
    const label = Number.isFinite(loss) ? `${brief(loss)} at step ${step}` : `overflow at step ${step}`
    return [...marks, svg("text", { x: x(step) + 12, y: y - 4 }, label)]
  }
}
