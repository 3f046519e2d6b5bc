// The panels of a cell of an experiment that show its outcome and one of its blocks.

import { appendElement, setText, svg } from "./dom.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const TRIP_SECONDS = 4 // for a digit to pass a block
const SUM_SHARE = 0.75 // share of the trip after which branch and skip meet
// Shares of the trip at which the size stops and starts changing: before, inside and after the block it is constant.
const SIZE_TIMES = [0, 0.15, 0.6, SUM_SHARE - 0.03, SUM_SHARE, 1]
const DOT_RADIUS = 6 // pixels, at RMS 1
const radiusOf = (rms) => Math.min(Math.max(DOT_RADIUS * Math.sqrt(rms), 1.5), 2.5 * DOT_RADIUS)

// A run's name, and its outcome once it is known.
export class RunHeading {
  constructor(place) {
    const el = appendElement(place, "div", "player-outcome")
    this.heading = appendElement(el, "h3", "player-heading")
    this.outcome = appendElement(el, "p")
    this.outcome.setAttribute("aria-live", "polite")
  }

  declare(panel) {
    this.panel = panel
    setText(this.heading, panel.title)
    this.showOutcome(panel.outcome)
  }

  showOutcome(outcome) {
    setText(this.outcome, outcome && `it ${outcome}`)
  }

  /** @param {Moment} moment */
  draw(moment) {
    const { run, outcome, divergence } = this.panel
    const log = moment.logs[run]
    this.showOutcome(outcome || (log?.hasDiverged && moment.furthest >= log.outcome.step ? divergence : ""))
  }
}

// One block of a run, drawn large: the RMS on each wire, and a digit that passes through it once.
export class BlockPicture {
  constructor(place) {
    this.picture = appendElement(place, "div", "player-block large")
    this.caption = appendElement(place, "p", "player-block-caption")
  }

  declare(panel) {
    const isSame = JSON.stringify(panel) === JSON.stringify(this.panel)
    this.panel = panel
    if (isSame) return
    this.picture.innerHTML = panel.diagram
    setText(this.caption, `block ${panel.block} of ${panel.depth}: RMS over a batch`)
    this.diagram = this.picture.firstElementChild
    this.name = this.diagram.getAttribute("aria-label")
    this.hasSent = false // whether the digit has started
  }

  /** @param {Moment} moment */
  draw(moment) {
    const { run, block, title } = this.panel
    const log = moment.logs[run]
    if (!log?.length) return
    const position = log.drawnPosition(moment)
    const [x, sum] = [block - 1, block].map((site) => log.vector("act_rms", position)[site])
    const branch = log.vector("branch_rms", position)[block - 1]
    const readings = { enters: `x: ${brief(x)}`, made: `F: ${brief(branch)}`, leaves: `out: ${brief(sum)}` }
    for (const [name, text] of Object.entries(readings)) setText(this.diagram.querySelector(`.number.${name}`), text)
    this.diagram.setAttribute(
      "aria-label",
      `${title}. ${this.name}: in block ${block} the stream enters with size ${brief(x)}, the branch F makes ${brief(branch)}, and ${brief(sum)} leaves.`,
    )
    if (this.hasSent || moment.calm) return
    this.hasSent = true
    for (const path of this.diagram.querySelectorAll(".way"))
      this.sendDigit(path, [x, path.matches(".past") ? x : branch, sum])
  }

  // Sends a digit along a path; its size follows the RMS of the wire before, inside and after the block.
  sendDigit(path, [before, inside, after]) {
    const meetingPoint = 1 - Number(path.dataset.tail) / path.getTotalLength()
    const timing = { dur: `${TRIP_SECONDS}s`, begin: "indefinite", fill: "freeze", calcMode: "linear" }
    const digit = svg("circle", { class: "traveller", r: radiusOf(before) })
    digit.append(
      svg("animateMotion", {
        ...timing,
        path: path.getAttribute("d"),
        keyPoints: [0, meetingPoint, 1].join(";"),
        keyTimes: [0, SUM_SHARE, 1].join(";"),
      }),
      svg("animate", {
        ...timing,
        attributeName: "r",
        values: [before, before, inside, inside, after, after].map(radiusOf).join(";"),
        keyTimes: SIZE_TIMES.join(";"),
      }),
    )
    path.parentNode.append(digit)
    for (const animation of digit.children) animation.beginElement()
  }
}
