// The panels of one cell of an experiment besides its stack: a digit with the net's answer, a small loss curve.

import { made, node as svg, write } from "./dom.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const SIDE = 8 // pixels of a digit
const AROUND = [46, 6, 16, 14] // pixels around a curve's plot at a type of 12: left, right, top, bottom
const INKS = 17 // darknesses of a pixel, each a digit to this base

// A digit as an SVG with a square for each pixel that is not empty, in the colour of the text.
const picture = (image) => {
  const drawn = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true", "shape-rendering": "crispEdges" })
  for (const [at, letter] of [...image].entries()) {
    const ink = Number.parseInt(letter, INKS) / (INKS - 1)
    const place = { x: at % SIDE, y: Math.floor(at / SIDE), width: 1, height: 1 }
    if (ink) drawn.append(svg("rect", { ...place, fill: "currentColor", "fill-opacity": ink }))
  }
  return drawn
}

const answerOf = (answer) => (answer === null ? "no answer" : `read as ${answer}`)

export class Digit {
  constructor(place) {
    const el = made(place, "div", "player-digit")
    this.image = made(el, "div")
    this.answer = made(el, "p")
  }

  declare(panel) {
    this.panel = panel
  }

  /** @param {Moment} now */
  draw(now) {
    const ten = now.logs[this.panel.run]?.frame(now.shown)?.ten
    if (!ten) return
    const { which } = this.panel
    if (!this.image.firstChild) this.image.append(picture(ten.images[which]))
    const answer = ten.answers[which]
    const same = ten.answers.every((other) => other === answer)
    const why = answer === null ? ": no number is left" : same ? ", like every other digit" : ""
    write(this.answer, `A ${which}, ${answerOf(answer)}${why} ${answer !== which ? "✗" : same ? "" : "✓"}`.trim())
  }
}

export class Curve {
  /** @type {number | undefined} of its place, told by the player */
  width

  /** @type {{ width: number, height: number, em: number } | undefined} set back by the player when its place changes */
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

  // Sizes in pixels, read once for each size of the place.
  measure() {
    return {
      width: this.width ?? this.place.clientWidth,
      height: this.el.clientHeight || this.panel.height, // a phone's style makes it lower
      em: Number.parseFloat(getComputedStyle(this.el).fontSize) / 12,
    }
  }

  /** @param {Moment} now */
  draw(now) {
    const { run, top, level, title } = this.panel
    const log = now.logs[run]
    if (!log?.length) return
    const { width, height, em } = (this.measured ??= this.measure())
    const [left, right, over, under] = AROUND.map((pixels) => pixels * em)
    const x = (step) => left + (step / log.last) * (width - left - right)
    const y = (loss) => over + (1 - loss / top) * (height - over - under)
    const until = Math.min(now.furthest, log.length - 1)
    const parts = [
      svg("line", { class: "axis", x1: left, x2: width - right, y1: y(0), y2: y(0) }),
      svg("line", { class: "axis", x1: left, x2: left, y1: y(top), y2: y(0) }),
      svg("line", { class: "level", x1: left, x2: width - right, y1: y(level), y2: y(level) }),
      svg("text", { x: left - 4, y: y(top) + 4 * em, "text-anchor": "end" }, top),
      svg("text", { x: left - 4, y: y(level) + 4 * em, "text-anchor": "end" }, "chance"),
      svg("text", { x: left - 4, y: y(0) + 4 * em, "text-anchor": "end" }, 0),
      svg("text", { x: width - right, y: height - 2, "text-anchor": "end" }, `step ${log.last}`),
    ]
    const [path, beyond] = [[], []]
    for (let step = 0, down = false; step <= until; step++) {
      const loss = log.number("loss", step)
      if (loss <= top) path.push(`${down ? "L" : "M"}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`)
      else beyond.push([step, loss])
      down = loss <= top
    }
    parts.push(svg("path", { class: "line", d: path.join("") }))
    const shown = Math.floor(log.drawnAt(now))
    const loss = log.number("loss", shown)
    parts.push(svg("text", { x: left, y: height - 2 }, `loss ${brief(loss)}`))
    if (loss <= top) parts.push(svg("circle", { class: "now", cx: x(shown), cy: y(loss), r: 3.5 }))
    if (beyond.length) parts.push(...this.edge(beyond, x, over))
    this.el.replaceChildren(...parts)
    this.el.setAttribute("viewBox", `0 0 ${width} ${height}`)
    if (!now.playing)
      this.el.setAttribute("aria-label", `${title}: ${brief(loss)} at step ${shown}, chance ${brief(level)}`)
  }

  // Losses above the axis: an arrow at each such step, a cross where the loss is not finite, and the last one in words.
  edge(beyond, x, y) {
    const marks = beyond.map(([step, loss]) => {
      const lost = !Number.isFinite(loss)
      const shape = lost ? `M${x(step)} ${y - 12}l8 8m0 -8l-8 8` : `M${x(step)} ${y - 4}l4 -8l4 8z`
      return svg("path", { class: lost ? "lost" : "beyond", d: shape })
    })
    const [step, loss] = beyond.at(-1)
    const label = Number.isFinite(loss) ? `${brief(loss)} at step ${step}` : `overflow at step ${step}`
    return [...marks, svg("text", { x: x(step) + 12, y: y - 4 }, label)]
  }
}
