// The stack: a column per block, its signal in the upper half and its gradient in the lower.

import { logRange, powers } from "./bind.js"
import { translated, write } from "./dom.js"
import { brief, power } from "./number.js"
import { hues, partsOf } from "./style.js"

/** @import { Moment } from "./playhead.js" */

// The ends of the scales around the hues of signal and gradient, from much to little on a light page and from little to
// much on a dark one; both are seen on black and on white.
const SCALES = {
  act: { hue: "signal", most: [40, 84, 170], least: [95, 175, 235] },
  grad: { hue: "gradient", most: [125, 60, 150], least: [220, 135, 200] },
}
const [RIBBON, NORMS] = [16, 14] // pixels, of type of 12: the height of the skip, and below it of the norms
const [TYPE, MIN_TYPE] = [0.78, 11] // of the legend at the right: ems of the page, and pixels
const LEGEND = 6.2 // ems of that type: its width
const LINES = 3.3 // of that type, below which a half has no room for its name and both ends of its scale
// Powers of ten that every scale shows, so that nets are compared by eye; it is wider for a net that leaves them.
const DECADES = { act: [-6, 4], grad: [-8, 2] }
// The scale of a half, in decades, for values before training.
export const scaleOf = (name, ...values) => logRange(DECADES[name], ...values)
const ROOM = 4 // decades that a scale may grow beyond that of the net before training; what is larger is marked
const TRACKS = ["act", "grad"]
const PULSE_SECONDS = 1.2

const mixed = ({ hue, most, least }, share, dark) => {
  const scale = [most, partsOf(hues[hue]), least]
  const within = Math.min(Math.max(share, 0), 1)
  const at = (dark ? within : 1 - within) * (scale.length - 1)
  const [low, high] = [scale[Math.floor(at)], scale[Math.ceil(at)]]
  return `rgb(${low.map((part, place) => Math.round(part + (high[place] - part) * (at - Math.floor(at)))).join(" ")})`
}
const word = (value) => (value === 0 ? "exactly 0" : Number.isFinite(value) ? brief(value) : "not finite")

export class StackPanel {
  /** @type {number | undefined} of its place, told by the player */
  width

  /** @type {{ type: number, width: number, height: number } | undefined} set back by the player when its place changes */
  measured

  // `toggled(block)` is called for a clicked block; `scales` are shared by the stacks of a page.
  constructor(place, { toggled, scales }) {
    place.innerHTML =
      '<div class="player-stack" role="group"><div class="player-opened"></div><div class="player-columns"><canvas aria-hidden="true"></canvas><div class="player-blocks"></div></div><p class="player-readout" aria-live="polite"></p></div>'
    const find = (name) => place.querySelector(name)
    this.place = place
    this.toggled = toggled
    this.scales = scales
    this.chosen = 0
    this.lives = true // drawn in every frame of a run that plays
    this.group = find(".player-stack")
    this.opened = find(".player-opened")
    this.columns = find(".player-columns")
    this.canvas = find("canvas")
    this.legendCanvas = document.createElement("canvas")
    this.row = find(".player-blocks")
    this.readout = find("p")
    this.row.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
      if (!step) return
      event.preventDefault()
      event.stopPropagation()
      this.choose(this.chosen + step)
      this.row.children[this.chosen].focus()
    }
    this.row.onpointerleave = () => this.pointAt(null)
    this.shown = 0 // the block that is opened
  }

  declare(panel) {
    const fits = this.panel?.fit === panel.fit
    this.panel = panel
    this.measured = this.drawnLegend = undefined
    if (!fits) this.rescale()
    this.group.style.setProperty("--height", `${panel.height}px`)
    this.group.setAttribute("aria-label", panel.title)
    this.group.classList.toggle("opens", panel.diagrams.length > 0)
    this.open(Math.min(this.shown, panel.blocks.length - 1))
    if (this.row.children.length === panel.blocks.length) return
    const blocks = panel.blocks.map(({ name }, at) => {
      const button = document.createElement("button")
      button.type = "button"
      button.setAttribute("aria-label", name) // until its numbers are there
      button.onclick = () => this.panel.toggles && this.toggled(this.panel.blocks[at].block)
      button.onpointerenter = button.onfocus = () => this.pointAt(at)
      button.onblur = () => this.pointAt(null)
      return button
    })
    this.row.replaceChildren(...blocks)
    this.choose(0)
  }

  rescale() {
    this.ranges = this.panel.scale === "shared" ? this.scales : {}
    for (const name of TRACKS) delete this.ranges[name]
  }

  choose(at) {
    this.chosen = Math.min(Math.max(at, 0), this.row.children.length - 1)
    for (const [place, button] of [...this.row.children].entries()) button.tabIndex = place === this.chosen ? 0 : -1
  }

  // Shows the diagram of a block, where there are diagrams.
  open(at) {
    this.shown = at
    const { blocks, diagrams } = this.panel
    const diagram = diagrams[blocks[at].diagram] ?? ""
    if (diagram !== this.diagram) {
      this.diagram = diagram
      this.measured = undefined
      this.opened.innerHTML = diagram
    }
    if (this.over === undefined || this.over === null) write(this.readout, this.caption())
  }

  // What stands under the diagram while nothing is pointed at.
  caption() {
    const { blocks, diagrams } = this.panel
    return diagrams.length ? `block ${blocks[this.shown].block} of ${blocks.length}` : ""
  }

  pointAt(at) {
    this.over = at
    if (at !== null && this.panel.diagrams.length) this.open(at)
    write(this.readout, at === null || !this.values ? this.caption() : this.words(at))
  }

  words(at) {
    const { name, skip } = this.panel.blocks[at]
    return `${name}: signal ${word(this.values.act[at])}, gradient ${word(this.values.grad[at])}, ${skip ? "with" : "without"} residual`
  }

  // Type and sizes in pixels, read once for each size of the place: reading them in a frame has the browser lay out the page.
  measure() {
    const style = getComputedStyle(this.group)
    const beside = style.getPropertyValue("--beside").trim() === "1" // whether an opened block stands beside its stack
    return {
      type: Math.max(MIN_TYPE, TYPE * Number.parseFloat(style.fontSize)),
      width: (this.width ?? this.place.clientWidth) - (beside ? this.opened.offsetWidth : 0),
      height: this.columns.clientHeight || this.panel.height, // of which a phone's style leaves less
    }
  }

  // Widens the scales to what the stack shows now, or all stacks that share them.
  /** @param {Moment} now */
  widen(now, log) {
    const scaled = this.panel.scale === "shared" ? now.logs.filter(({ length }) => length) : [log]
    for (const name of TRACKS) {
      const seen = (row) => scaled.map((other) => other.vector(`${name}_rms`, row(other)))
      const first = scaleOf(name, ...seen(() => 0))
      // In a story only this stack moves: the others count as they were before training.
      const stepOf = (other) => (now.alone && other !== log ? 0 : other.drawnAt(now))
      const [low, high] = logRange(this.ranges[name] ?? first, ...seen(stepOf))
      this.ranges[name] = [Math.max(low, first[0] - ROOM), Math.min(high, first[1] + ROOM)]
    }
  }

  /** @param {Moment} now */
  draw(now, _, theme) {
    const log = now.logs[this.panel.run]
    if (!log?.length) return
    if (this.log !== log) this.rescale() // a new net gets a new scale
    this.log = log
    const { blocks, diagrams } = this.panel
    this.measured ??= this.measure()
    const { height } = this.measured
    this.type = this.measured.type
    const position = log.drawnAt(now)
    const vectorOf = (track) => log.vector(track, position)
    const [act, grad, branch] = ["act_rms", "grad_rms", "branch_rms"].map(vectorOf)
    if (blocks.at(-1).site >= act.length) return // the log is still that of a net with fewer blocks
    this.values = { act: blocks.map(({ site }) => act[site]), grad: blocks.map(({ site }) => grad[site]) }
    this.widen(now, log)
    const wide = (this.canvas.width = Math.round(this.measured.width * devicePixelRatio))
    this.canvas.height = Math.round(height * devicePixelRatio)
    const pen = this.canvas.getContext("2d")
    pen.scale(devicePixelRatio, devicePixelRatio)
    const legend = this.type * LEGEND
    this.row.style.right = `${legend}px`
    const width = wide / devicePixelRatio - legend
    const ink = theme["text-color"] || "#555"
    this.dark = theme.dark
    const column = width / blocks.length
    const [ribbon, norms] = [RIBBON, NORMS].map((pixels) => pixels * Math.max(1, this.type / 12))
    const top = ribbon + norms
    const half = (height - top - 2) / 2
    blocks.forEach((block, at) => {
      const left = at * column
      const gap = Math.min(4, column * 0.2)
      const body = Math.max(1, column - gap)
      this.bar(pen, "act", this.values.act[at], left, body, top + half - 1, half - 1, -1)
      this.bar(pen, "grad", this.values.grad[at], left, body, top + half + 1, half - 1, 1)
      if (block.skip) {
        const before = Math.max(0, block.site - 1)
        const carried = block.skip * act[before]
        const share = carried / (carried + branch[before]) || 0 // of the skip, by RMS: the ribbon's thickness
        pen.fillStyle = hues.signal
        const thick = 2 + share * (ribbon - 4)
        pen.fillRect(left, (ribbon - thick) / 2, column + 0.5, thick)
      }
      pen.fillStyle = hues.norm
      for (const slot of block.norms) {
        const x = left + { in: 0.12, mid: 0.4, out: 0.65, add: 0.88 }[slot] * body
        const size = Math.min(7, Math.max(2.5, column / 5))
        pen.beginPath()
        pen.moveTo(x, ribbon + 1)
        pen.lineTo(x + size / 2, ribbon + 1 + size / 2)
        pen.lineTo(x, ribbon + 1 + size)
        pen.lineTo(x - size / 2, ribbon + 1 + size / 2)
        pen.fill()
      }
      const over = this.over === at
      if (over || (diagrams.length && this.shown === at)) {
        pen.strokeStyle = ink
        pen.lineWidth = over ? 2 : 1
        pen.strokeRect(left + 1, top + 1, body - 1, 2 * half - 2)
      }
      const label = `${this.words(at)}${this.panel.toggles ? "; switch the residual" : ""}`
      if (!now.playing) this.row.children[at].setAttribute("aria-label", label)
    })
    pen.strokeStyle = ink
    pen.globalAlpha = 0.5
    pen.strokeRect(0, top + half, width, 0.5)
    pen.globalAlpha = 1
    if (now.playing && !now.calm) this.pulses(pen, now.time, width, top, half)
    this.putLegend(pen, width, ribbon, top, half, ink, theme.font || "sans-serif")
    if (this.over !== null && this.over !== undefined) this.pointAt(this.over)
  }

  // A bar from y = edge, upwards for way -1 and downwards for 1, at most `room` pixels long: the value's share of its log scale.
  // Not finite: full length, red, hatched. Zero: a stub.
  bar(pen, name, value, left, width, edge, room, way) {
    const [low, high] = this.ranges[name]
    const lost = !Number.isFinite(value)
    const share = lost ? 1 : value > 0 ? (Math.log10(value) - low) / (high - low) : 0.06
    const size = Math.max(2, Math.min(1, share) * room)
    const y = way < 0 ? edge - size : edge
    pen.fillStyle = lost ? hues.red : value === 0 ? hues.grey : mixed(SCALES[name], share, this.dark)
    pen.fillRect(left, y, width, size)
    if (share > 1 && !lost) this.beyond(pen, left + width / 2, edge + way * size, Math.min(width, 9), way)
    if (!lost) return
    // Not by colour alone: what is not finite is hatched.
    pen.save()
    pen.beginPath()
    pen.rect(left, y, width, size)
    pen.clip()
    pen.strokeStyle = "#ffffff"
    pen.lineWidth = 1.5
    pen.beginPath()
    for (let x = left - size; x < left + width + size; x += 7) {
      pen.moveTo(x, y)
      pen.lineTo(x + size, y + size)
    }
    pen.stroke()
    pen.restore()
  }

  // An arrow at the edge, for a value beyond the scale.
  beyond(pen, x, tip, size, way) {
    pen.fillStyle = "#ffffff"
    pen.beginPath()
    pen.moveTo(x, tip - 2 * way)
    pen.lineTo(x + size / 2, tip - way * (2 + size))
    pen.lineTo(x - size / 2, tip - way * (2 + size))
    pen.fill()
  }

  pulses(pen, time, width, top, half) {
    const share = (time / PULSE_SECONDS) % 1
    pen.globalCompositeOperation = "source-atop" // light on the columns only
    for (const [x, y] of [
      [share * width, top],
      [(1 - share) * width, top + half],
    ]) {
      const light = pen.createLinearGradient(x - 40, 0, x + 40, 0)
      light.addColorStop(0, "#ffffff00")
      light.addColorStop(0.5, "#ffffffb0")
      light.addColorStop(1, "#ffffff00")
      pen.fillStyle = light
      pen.fillRect(Math.max(0, x - 40), y, Math.min(80, width - x + 40), half)
    }
    pen.globalCompositeOperation = "source-over"
  }

  // Puts the legend at the right, drawn once for each scale and size, on a canvas outside the page: to set the type of one
  // inside, the browser works out the page's styles.
  putLegend(pen, width, ...how) {
    const { width: wide, height } = this.canvas
    const left = Math.floor(width * devicePixelRatio)
    const drawn = JSON.stringify([wide, height, devicePixelRatio, this.type, this.dark, this.ranges, width, how])
    if (this.drawnLegend !== drawn) {
      this.drawnLegend = drawn
      Object.assign(this.legendCanvas, { width: wide - left, height })
      const legendPen = this.legendCanvas.getContext("2d")
      legendPen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, -left, 0)
      this.legend(legendPen, width, ...how)
    }
    pen.setTransform(1, 0, 0, 1, left, 0)
    pen.drawImage(this.legendCanvas, 0, 0)
  }

  // At the right of each row its name, and of signal and gradient the ends of their scale.
  legend(pen, width, ribbon, top, half, ink, family) {
    const { label, blocks } = this.panel
    const left = width + 6
    pen.textBaseline = "middle"
    const putText = (text, y, indent = 12, how = `${this.type}px`) => {
      pen.font = `${how} ${family}`
      pen.fillStyle = ink
      pen.fillText(translated(text), left + indent, y)
    }
    if (label) putText(label, ribbon / 2 + 2, 0, `bold ${1.35 * this.type}px`)
    else {
      if (blocks.some(({ skip }) => skip)) putText("residual", ribbon / 2)
      if (blocks.some(({ norms }) => norms.length)) putText("norm", (ribbon + top) / 2)
    }
    for (const [name, title, y] of [
      ["act", "signal", top],
      ["grad", "gradient", top + half + 2],
    ]) {
      const [low, high] = this.ranges[name]
      for (let step = 0; step < 24; step++) {
        pen.fillStyle = mixed(SCALES[name], step / 23, this.dark)
        const place = name === "act" ? 1 - step / 24 : step / 24
        pen.fillRect(left, y + place * (half - 6), 8, half / 24 + 1)
      }
      putText(title, y + half / 2)
      if (half < LINES * this.type) continue
      const ends = powers(low, high)
      for (const exponent of new Set([ends[0], ends.at(-1)])) {
        const share = (exponent - low) / (high - low)
        const at = y + (name === "act" ? 1 - share : share) * (half - this.type) + this.type / 2
        if (Math.abs(at - (y + half / 2)) >= this.type) putText(exponent ? power(exponent) : "1", at)
      }
    }
  }
}
