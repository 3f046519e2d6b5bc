// A block as a drawing, made by the page; what a net lacks is drawn faintly.

import { made, node as svg, write } from "./dom.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const TRIP_SECONDS = 4 // of a digit through a block
const SUM = 0.75 // of that time: where the ways through the branch and past it meet
const DOT = 6 // pixels: the radius of a digit at size 1
const dot = (size) => Math.min(Math.max(DOT * Math.sqrt(size), 1.5), 2.5 * DOT)

// A run's name, and what became of it once that is known.
export class RunHeading {
  constructor(place) {
    const el = made(place, "div", "player-outcome")
    this.heading = made(el, "h3", "player-heading")
    this.outcome = made(el, "p")
    this.outcome.setAttribute("aria-live", "polite")
  }

  declare(panel) {
    this.panel = panel
    write(this.heading, panel.title)
    this.showOutcome(panel.outcome)
  }

  showOutcome(outcome) {
    write(this.outcome, outcome && `it ${outcome}`)
  }

  /** @param {Moment} now */
  draw(now) {
    const { run, outcome, divergence } = this.panel
    const log = now.logs[run]
    this.showOutcome(outcome || (log?.lost && now.furthest >= log.outcome.step ? divergence : ""))
  }
}

// A block of a run, large: the size of the stream on its wires, and a digit that passes through it once.
export class BlockPicture {
  constructor(place) {
    this.picture = made(place, "div", "player-block large")
    this.caption = made(place, "p", "player-block-caption")
  }

  declare(panel) {
    const same = JSON.stringify(panel) === JSON.stringify(this.panel)
    this.panel = panel
    if (same) return
    this.picture.innerHTML = panel.diagram
    write(this.caption, `block ${panel.block} of ${panel.depth}: RMS over a batch`)
    this.drawn = this.picture.firstElementChild
    this.name = this.drawn.getAttribute("aria-label")
    this.gone = false
  }

  /** @param {Moment} now */
  draw(now) {
    const { run, block, title } = this.panel
    const log = now.logs[run]
    if (!log?.length) return
    const at = log.drawnAt(now)
    const [x, sum] = [block - 1, block].map((site) => log.vector("act_rms", at)[site])
    const branch = log.vector("branch_rms", at)[block - 1]
    const readings = { enters: `x: ${brief(x)}`, made: `F: ${brief(branch)}`, leaves: `out: ${brief(sum)}` }
    for (const [name, text] of Object.entries(readings)) write(this.drawn.querySelector(`.number.${name}`), text)
    this.drawn.setAttribute(
      "aria-label",
      `${title}. ${this.name}: in block ${block} the stream enters with size ${brief(x)}, the branch F makes ${brief(branch)}, and ${brief(sum)} leaves.`,
    )
    if (this.gone || now.calm) return
    this.gone = true
    for (const way of this.drawn.querySelectorAll(".way")) this.send(way, [x, way.matches(".past") ? x : branch, sum])
  }

  // A digit goes one way; its size is that of the stream on each wire.
  send(way, [before, between, after]) {
    const length = way.getTotalLength()
    const meets = 1 - Number(way.dataset.tail) / length
    const timing = { dur: `${TRIP_SECONDS}s`, begin: "indefinite", fill: "freeze", calcMode: "linear" }
    const traveller = svg("circle", { class: "traveller", r: dot(before) })
    traveller.append(
      svg("animateMotion", {
        ...timing,
        path: way.getAttribute("d"),
        keyPoints: [0, meets, 1].join(";"),
        keyTimes: [0, SUM, 1].join(";"),
      }),
      svg("animate", {
        ...timing,
        attributeName: "r",
        values: [before, before, between, between, after, after].map(dot).join(";"),
        keyTimes: [0, 0.15, 0.6, SUM - 0.03, SUM, 1].join(";"),
      }),
    )
    way.parentNode.append(traveller)
    for (const motion of traveller.children) motion.beginElement()
  }
}
