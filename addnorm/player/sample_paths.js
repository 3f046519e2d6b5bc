// Ten held-out samples travel through the blocks of nets: the distance from the centre is the RMS of a sample's stream, the
// angle its direction: wide apart where the cosines are small. Positions after blocks are measured, those in between interpolated.

import { appendElement, clock, setText, svg } from "./dom.js"
import { guessOf, saveGuess } from "./guesses.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const PASS_SECONDS = 4 // through all blocks
// Radius of the circle of the input's RMS, as a share of half the frame. The scale is linear inside, logarithmic outside.
const INPUT_RADIUS = 0.45
const RING_SIZES = [1, 4] // in units of the input's RMS
const MIN_NAMED_PIXELS = 150 // rings are named in pictures larger than this
const TRAIL_BLOCKS = 6 // length of a sample's trail
const STILL_POSITIONS = 8 // positions drawn at once with reduced motion
const DOT_EMS = 0.56 // radius of a dot, in font sizes of the page
const CLUMPED_DOT = 0.4 // size of dots that would cover one another, relative to others
const BASELINE_EMS = 0.26 // from the middle of a letter down to its baseline
const MAX_SIZE = 2 ** 20 // relative to the input; larger samples are drawn at this distance
const SAMPLE_HUES = [
  "#1b6ca8",
  "#b34f00",
  "#2e7d32",
  "#b3261e",
  "#7b4fa3",
  "#7a5548",
  "#b8337f",
  "#5f6368",
  "#6b6a00",
  "#00737d",
]

// The distance from the centre for a size relative to the input's; `edge` is the size at the frame's edge.
const radius = (size, edge) =>
  size <= 1
    ? INPUT_RADIUS * size
    : INPUT_RADIUS + (1 - INPUT_RADIUS) * (Math.log2(Math.min(size, MAX_SIZE)) / Math.log2(edge))

const rms = (sizes) => Math.sqrt(sizes.reduce((sum, size) => sum + size * size, 0) / sizes.length)

// Returns the place of every sample at a position, in blocks: x and y, and the share of its vector that lies in the plane.
export const placesAt = (journey, position) => {
  const unit = rms(journey.size[0]) || 1
  const stop = Math.min(Math.max(Math.floor(position), 0), journey.size.length - 1)
  const next = Math.min(stop + 1, journey.size.length - 1)
  const share = position - stop
  const between = (from, to) => from + (to - from) * share
  const radiusOf = (size) => radius((size ?? Infinity) / unit, journey.edge)
  return journey.size[stop].map((size, sample) => {
    const distance = between(radiusOf(size), radiusOf(journey.size[next][sample]))
    const turn = journey.turn[stop][sample]
    const arc = journey.turn[next][sample] - turn
    const angle = turn + share * (arc - 2 * Math.PI * Math.round(arc / (2 * Math.PI))) // the shorter way round
    return {
      x: distance * Math.cos(angle),
      y: -distance * Math.sin(angle),
      inPlane: between(journey.in_plane[stop][sample], journey.in_plane[next][sample]),
    }
  })
}

// The angle in the middle of the widest gap between the directions of samples at input and output.
export const widestGap = ({ turn }) => {
  const sorted = [...turn[0], ...turn.at(-1)].toSorted((a, b) => a - b)
  const arcs = sorted.map((angle, i) => (sorted[i + 1] ?? sorted[0] + 2 * Math.PI) - angle)
  const widest = arcs.indexOf(Math.max(...arcs))
  return sorted[widest] + arcs[widest] / 2
}

// The RMS over samples at a stop, relative to the input's; null if not finite.
export const relativeSize = ({ size }, stop) => {
  const [input, current] = [size[0], size[stop]].map((sizes) => (sizes.includes(null) ? null : rms(sizes)))
  return current === null || !input ? null : current / input
}

const timesText = (size) => {
  if (size === null) return "not finite"
  if (size > 0 && size < 0.05) return `1/${brief(1 / size, 2)}`
  return brief(size, 2) === "1" ? "same size as the input" : `${brief(size, 2)} times`
}
const ease = (share) => share * share * (3 - 2 * share)

// The SVG shape of a sample outside the frame: an arrow outwards, as wide as its dot.
const arrowShape = ({ x, y }, size) => {
  const turn = Math.atan2(y, x)
  const corner = (angle, distance) =>
    [Math.cos(turn + angle), Math.sin(turn + angle)].map((direction) => (direction * distance * size).toFixed(1))
  const corners = [corner(0, 1.9), corner(1.1, 1.1), corner(2.3, 1.1), corner(-2.3, 1.1), corner(-1.1, 1.1)]
  return { name: "polygon", attributes: { points: corners.join(" ") } }
}

class Net {
  constructor(list, onGuess) {
    this.el = appendElement(list, "li", "sample-paths-net")
    this.heading = appendElement(this.el, "h3", "player-heading")
    this.picture = this.el.appendChild(svg("svg", { role: "img" }))
    this.caption = appendElement(this.el, "p", "sample-paths-caption")
    this.below = appendElement(this.el, "div", "sample-paths-answer") // question and verdict, one over the other
    this.field = appendElement(this.below, "fieldset")
    this.verdict = appendElement(this.below, "p", "sample-paths-verdict")
    this.verdict.setAttribute("aria-live", "polite")
    this.onGuess = onGuess
  }

  // `quizzed`: whether the viewer guesses the outcome first. The other parameters are those of the panel in declare.py.
  declare({ label, title, subject, measures, quizzed, shows_outcome: showsOutcome, options, question, reveals }) {
    this.label = label
    this.subject = subject
    this.measures = measures
    this.quizzed = quizzed
    this.options = options
    this.reveals = reveals
    this.name = `${title}: ${label}`
    this.below.hidden = !showsOutcome
    setText(this.heading, label)
    if (quizzed && !this.field.children.length) {
      setText(appendElement(this.field, "legend"), question)
      for (const option of options) {
        const button = appendElement(this.field, "button")
        button.type = "button"
        setText(button, option)
        button.onclick = () => {
          saveGuess(this.name, option)
          this.onGuess()
        }
      }
    }
  }

  get guess() {
    return guessOf(this.name, this.options)
  }

  // Selects the last frame up to the step shown in which all sizes are finite.
  setLog(log, { shown, playing }) {
    const frames = (log?.frames[0] ?? []).filter(({ journey, step }) => journey && step <= shown)
    this.frame = frames.findLast(({ journey }) => !journey.size.flat().includes(null)) ?? frames[0]
    this.journey = this.frame?.journey
    this.gap = this.journey && widestGap(this.journey)
    const names = [...new Set(this.journey?.names)]
    this.hues = this.journey?.names.map((name) => SAMPLE_HUES[names.indexOf(name) % SAMPLE_HUES.length])
    this.trained = shown > 0
    this.age = this.frame && this.frame.step !== shown && !playing ? `step ${this.frame.step}` : "" // of another step
  }

  get stops() {
    return this.journey ? this.journey.blocks.length - 1 : 0
  }

  // Whether the samples wait at the input for a guess.
  isCovered(revealed) {
    return this.quizzed && !revealed && !(this.guess && this.reveals)
  }

  // Draws the samples at a share of the way through the net, in a square of `side` pixels, and the caption. `covered`:
  // whether they wait at the input; `isFirst`: whether the picture names the rings.
  draw(share, side, { calm, covered, fontSize, isFirst }) {
    if (!this.journey) return
    const position = covered ? 0 : share * this.stops
    const stop = Math.round(position)
    this.hasArrived = !covered && (this.hasArrived || stop === this.stops) // the outcome stays once shown
    const geometry = this.geometry(side, fontSize)
    const path = this.pathTo(position, calm)
    const ends = path.at(-1)
    const answers = this.trained && stop === this.stops ? this.frame.ten?.answers : null
    const clump = this.commonPlace(ends.map(geometry.toPixels), geometry.dotSize)
    const common = this.journey.unseparated[stop] && clump
    if (clump && !common) geometry.dotSize *= CLUMPED_DOT // small dots, or they would hide that they lie apart
    this.picture.setAttribute("viewBox", `0 0 ${side} ${side}`)
    this.picture.replaceChildren(
      ...this.drawRings(geometry),
      ...this.drawRays(geometry, ends),
      ...(calm ? this.drawStills(geometry, path) : this.drawTrails(geometry, path)),
      ...(isFirst && side > MIN_NAMED_PIXELS ? this.drawRingNames(geometry) : []),
      ...this.drawDots(geometry, ends, clump ? null : answers, clump && !common),
      ...(common ? [this.drawCount(geometry, common, ends.length)] : []),
    )
    const rightCount = answers?.filter((answer, sample) => String(answer) === this.journey.names[sample]).length
    const block = `block ${this.journey.blocks[stop]}`
    const place = this.measures
      ? `${block}${this.age ? "" : ` · ${this.subject}`}: ${timesText(relativeSize(this.journey, stop))}`
      : `${block} of ${this.journey.blocks.at(-1)}`
    const parts = [place, answers && `${rightCount} right`, this.age].filter(Boolean)
    const caption = parts.join(" · ")
    setText(this.caption, covered ? "at the input" : caption)
  }

  // Returns the places of the samples at several positions up to this one: those of a trail, or all with reduced motion.
  pathTo(position, calm) {
    const start = calm ? 0 : Math.max(0, position - TRAIL_BLOCKS)
    const count = calm ? STILL_POSITIONS : 2 * TRAIL_BLOCKS
    const positions = Array.from({ length: count }, (_, i) => start + ((position - start) * i) / (count - 1))
    return positions.map((passed) => placesAt(this.journey, passed))
  }

  // Returns the sizes of a picture in pixels, and functions that convert a sample's place to pixels.
  geometry(side, fontSize) {
    const half = side / 2
    const dotSize = DOT_EMS * fontSize
    const edge = 1 - (2 * dotSize) / half // samples farther out are arrows there
    const outside = ({ x, y }) => Math.max(Math.abs(x), Math.abs(y)) / edge // above 1 outside the frame
    const toPixels = (place) => {
      const scale = Math.max(1, outside(place))
      return [place.x, place.y].map((coordinate) => (half + (coordinate / scale) * half).toFixed(1))
    }
    const ringRadii = RING_SIZES.map((size) => radius(size, this.journey.edge) * half)
    return { side, half, fontSize, dotSize, outside, toPixels, ringRadii, gapSine: Math.sin(this.gap) }
  }

  drawRings({ half, ringRadii }) {
    return ringRadii.map((r) => svg("circle", { class: "ring", cx: half, cy: half, r }))
  }

  // Draws the names of the rings in the widest gap between samples. Returns SVG texts.
  drawRingNames({ half, fontSize, ringRadii, gapSine }) {
    const rise = (ringRadii[1] - ringRadii[0]) * Math.abs(gapSine) // between the two names
    const shift = (Math.sign(gapSine) || 1) * Math.max(0, (1.1 * fontSize - rise) / 2) // to keep a line height between them
    return RING_SIZES.map((size, ring) => {
      const x = half + ringRadii[ring] * Math.cos(this.gap)
      const y = half - ringRadii[ring] * gapSine + 0.25 * fontSize + (ring ? -shift : shift)
      return svg("text", { class: "named", x, y }, size === 1 ? "input's size" : `${size} times`)
    })
  }

  // Draws lines from the centre to the samples: ten digits make a fan, samples that have become alike a single ray.
  drawRays({ half, toPixels }, ends) {
    return ends.map((place, sample) => {
      const [x2, y2] = toPixels(place)
      return svg("line", { class: "ray", stroke: this.hues[sample], x1: half, y1: half, x2, y2 })
    })
  }

  drawTrails({ toPixels }, path) {
    return path[0].map((_, sample) => {
      const points = path.map((places) => toPixels(places[sample]).join()).join(" ")
      return svg("polyline", { class: "trail", stroke: this.hues[sample], points })
    })
  }

  // Draws fading dots at earlier positions, which replace trails with reduced motion. Returns SVG circles.
  drawStills({ dotSize, toPixels }, path) {
    return path.slice(0, -1).flatMap((places, still) =>
      places.map((place, sample) => {
        const [cx, cy] = toPixels(place)
        const age = still / STILL_POSITIONS // 0 for the oldest
        const opacity = (0.15 + 0.5 * age).toFixed(2)
        return svg("circle", { cx, cy, r: dotSize / 2, fill: this.hues[sample], opacity })
      }),
    )
  }

  // Draws a named dot for every sample, an arrow if it lies outside the frame, and marks right and wrong answers, which
  // are null before the output. `nameless`: whether the dots are too small for names. Returns SVG groups.
  drawDots({ fontSize, dotSize, outside, toPixels }, ends, answers, nameless) {
    return ends.map((place, sample) => {
      const [x, y] = toPixels(place)
      const name = this.journey.names[sample]
      const fill = { fill: this.hues[sample], "fill-opacity": (0.55 + 0.45 * place.inPlane).toFixed(2) }
      const circle = { name: "circle", attributes: { r: dotSize } }
      const shape = outside(place) > 1 ? arrowShape(place, dotSize) : circle
      const group = svg("g", { class: "dot", transform: `translate(${x} ${y})` })
      group.append(
        svg(shape.name, { ...shape.attributes, class: "ground" }),
        svg(shape.name, { ...shape.attributes, ...fill }),
      )
      if (!nameless) group.append(svg("text", { y: BASELINE_EMS * fontSize }, name))
      if (answers) {
        const isRight = String(answers[sample]) === name
        const attributes = { class: isRight ? "right" : "wrong", x: 1.9 * dotSize, y: BASELINE_EMS * fontSize }
        group.append(svg("text", attributes, isRight ? "✓" : (answers[sample] ?? "–")))
      }
      return group
    })
  }

  // Draws "all 10" at the common place of all samples, clear of their ray and of the names of the rings: away from the
  // centre if the frame leaves space there, at the centre on the side without names. Returns an SVG text.
  drawCount({ side, half, fontSize, dotSize, gapSine }, place, count) {
    const [x, y] = place
    const above = y - 1.6 * dotSize
    const below = y + 2.7 * dotSize
    const isAtCentre = Math.hypot(x - half, y - half) < 2 * dotSize
    let isAbove
    if (isAtCentre) isAbove = gapSine < 0
    else if (y < half) isAbove = above >= fontSize
    else isAbove = below > side - 0.4 * fontSize
    const textX = Math.min(Math.max(x, 2 * fontSize), side - 2 * fontSize)
    return svg("text", { class: "out", x: textX, y: isAbove ? above : below }, `all ${count}`)
  }

  // Returns the mean place in pixels if all samples lie on one another, else null.
  commonPlace(places, dotSize) {
    const middle = [0, 1].map((axis) => places.reduce((sum, point) => sum + Number(point[axis]), 0) / places.length)
    const allNear = places.every(([x, y]) => Math.hypot(x - middle[0], y - middle[1]) < 1.2 * dotSize)
    return places.length > 1 && allNear ? middle : null
  }

  // Updates the description for screen readers. Call it only while nothing moves.
  describe(share, covered) {
    if (!this.journey) return
    const stop = covered ? 0 : Math.round(share * this.stops)
    const { blocks, cosine, names, outcome } = this.journey
    const place = blocks[stop] ? `after block ${blocks[stop]} of ${blocks.at(-1)}` : "at the input"
    const label = this.label && `${this.label}: `
    const clauses = [`${label}${names.length} unseen samples (${names.join(", ")}) ${place}`]
    if (stop) {
      const size = timesText(relativeSize(this.journey, stop))
      clauses.push(`size ${size} the input's, mean cosine between them ${brief(cosine[stop] ?? Number.NaN)}`)
    }
    if (stop && stop === this.stops) clauses.push(`they ${outcome}`)
    this.picture.setAttribute("aria-label", `${clauses.join("; ")}.`)
  }

  // Shows the question and, once the viewer may see it, the outcome or the guess.
  showAnswer(revealed, reveals) {
    const { guess } = this
    const isOpen = !this.isCovered(revealed)
    this.field.hidden = !this.quizzed
    this.field.classList.toggle("answered", isOpen) // invisible, but keeps its height for the verdict
    for (const [i, button] of this.field.querySelectorAll("button").entries())
      button.setAttribute("aria-pressed", this.options[i] === guess)
    const { outcome: result, directions, alike, blocks } = this.journey ?? {}
    const details = [directions, this.measures && alike].filter(Boolean).join("; ")
    const said = `After block ${blocks?.at(-1)} they ${result}${details && ` (${details})`}`
    const verdict = guess === result ? `✓ ${said}, as you guessed.` : `✗ ${said}; you guessed: ${guess}.`
    const outcome = this.quizzed && guess && !this.trained ? verdict : `${said}.`
    const pending = guess && !isOpen && !reveals ? `Your guess is in: they ${guess}.` : ""
    setText(this.verdict, this.hasArrived && reveals && result ? outcome : pending)
  }
}

export class SamplePaths {
  /** @type {boolean | undefined} whether the panel is out of sight, set by the player */
  away

  constructor(home) {
    const el = appendElement(home, "figure", "sample-paths")
    this.list = appendElement(el, "ol", "sample-paths-nets")
    this.bar = appendElement(el, "div", "sample-paths-bar")
    this.playButton = appendElement(this.bar, "button", "player-main")
    this.playButton.type = "button"
    this.playButton.onclick = () => (this.startedAt === null ? this.start(this.openNets()) : this.pause())
    const depth = appendElement(this.bar, "div", "sample-paths-depth") // label and table button in one line
    const label = appendElement(depth, "label", "player-scrub")
    setText(appendElement(label, "span"), "Block")
    this.blockOutput = appendElement(label, "output")
    this.slider = appendElement(label, "input")
    Object.assign(this.slider, { type: "range", min: 0, step: 1 })
    this.slider.oninput = () => {
      this.share = Number(this.slider.value) / Number(this.slider.max)
      this.pause()
    }
    this.tableButton = appendElement(depth, "button", "sample-paths-switch")
    this.tableButton.type = "button"
    setText(this.tableButton, "Table")
    this.table = appendElement(el, "div", "sample-paths-table")
    this.table.setAttribute("role", "region")
    this.table.tabIndex = 0
    this.table.hidden = true
    this.tableButton.onclick = () => {
      this.table.hidden = !this.table.hidden
      this.tableButton.setAttribute("aria-expanded", String(!this.table.hidden))
      this.tabulate()
    }
    this.tableButton.setAttribute("aria-expanded", "false")
    this.home = home
    this.el = el
    this.nets = []
    this.share = 0
    this.startedAt = null
    this.revealed = new Set()
    this.hasPlayed = false
  }

  declare(panel) {
    if (this.panel && String(this.panel.runs) !== String(panel.runs)) {
      this.pause()
      this.share = 0
      this.hasPlayed = false
      this.wasTraining = false
      this.revealed = new Set() // another scene
    }
    this.panel = panel
    this.measured = undefined
    this.el.setAttribute("aria-label", panel.title)
    this.table.setAttribute("aria-label", `${panel.title}, table`)
    this.tableButton.setAttribute("aria-label", `Table of ${panel.title}`)
    if (this.nets.length !== panel.runs.length) {
      this.list.replaceChildren()
      this.nets = panel.runs.map((_, index) => new Net(this.list, () => this.onGuess(index)))
    }
    this.list.style.setProperty("--nets", panel.runs.length)
    for (const [index, net] of this.nets.entries())
      net.declare({ ...panel, label: panel.labels[index] ?? "", quizzed: panel.quiz_runs.includes(index) })
    if (this.moment) this.draw(this.moment)
  }

  onGuess(index) {
    if (this.panel.reveals) this.start([index])
    else this.paint()
  }

  isCovered(index) {
    return this.nets[index].isCovered(this.revealed.has(index))
  }

  // The indices of the nets that do not wait for a guess.
  openNets() {
    return [...this.nets.keys()].filter((index) => !this.isCovered(index))
  }

  // Plays a pass through these nets and reveals those that waited for a guess.
  start(indices) {
    if (this.panel.reveals) for (const index of indices) this.revealed.add(index)
    this.moving = new Set(indices)
    this.hasPlayed = true
    if (this.calm) {
      this.share = 1
      return this.paint()
    }
    this.share = 0
    this.startedAt = clock()
    this.requestFrame()
  }

  pause() {
    this.startedAt = null
    cancelAnimationFrame(this.frameRequest)
    this.frameRequest = undefined
    this.moving = undefined
    this.paint()
  }

  requestFrame() {
    this.frameRequest ??= requestAnimationFrame(() => {
      this.frameRequest = undefined
      if (this.startedAt === null || !this.home.isConnected) return
      const share = Math.min((clock() - this.startedAt) / PASS_SECONDS, 1)
      this.share = ease(share)
      if (share === 1) this.pause()
      else {
        this.paint()
        this.requestFrame()
      }
    })
  }

  /** @param {Moment} moment */
  draw(moment) {
    const { panel } = this
    this.moment = moment
    this.calm = moment.calm
    for (const [index, net] of this.nets.entries()) net.setLog(moment.logs[panel.runs[index]], moment)
    if (this.nets.some((net) => !net.journey)) return
    this.slider.max = Math.max(...this.nets.map(({ stops }) => stops))
    // During training the samples stay at the output; once it rests, they travel through the trained net.
    if (moment.playing && !this.wasTraining) {
      if (panel.reveals) this.revealed = new Set(this.nets.keys())
      this.startedAt = null
      this.share = 1
    }
    const cameToRest = this.wasTraining && !moment.playing && moment.shown > 0
    this.wasTraining = moment.playing
    if (cameToRest || (!this.hasPlayed && this.away === false)) {
      const indices = this.openNets()
      if (indices.length) return this.start(indices)
    }
    this.paint()
  }

  // Reads the side of a net's picture and the font size of the page, in pixels. The player has it read them again after a
  // resize.
  measure() {
    const style = getComputedStyle(this.list)
    const columns = style.gridTemplateColumns.split(" ").length
    const maxSide = Number.parseFloat(style.getPropertyValue("--most")) || this.panel.height
    const side = Math.round(Math.min((this.list.clientWidth || 320) / columns - 12, this.panel.height, maxSide))
    this.el.style.setProperty("--side", `${side}px`)
    return { side, fontSize: Number.parseFloat(getComputedStyle(document.documentElement).fontSize) }
  }

  paint() {
    if (!this.moment || this.nets.some((net) => !net.journey)) return
    const { side, fontSize } = (this.measured ??= this.measure())
    const isResting = this.startedAt === null
    for (const [index, net] of this.nets.entries()) {
      const share = this.moving && !this.moving.has(index) ? 1 : this.share
      const covered = this.isCovered(index)
      net.draw(share, side, { calm: this.calm, covered, fontSize, isFirst: index === 0 })
      if (isResting) net.describe(share, covered)
      net.showAnswer(this.revealed.has(index), this.panel.reveals)
    }
    const stop = Math.round(this.share * Number(this.slider.max))
    if (Number(this.slider.value) !== stop) this.slider.value = stop
    const [{ journey }] = this.nets
    const block = journey.blocks[Math.round(this.share * (journey.blocks.length - 1))]
    setText(this.blockOutput, `${block} of ${journey.blocks.at(-1)}`)
    if (isResting) this.slider.setAttribute("aria-valuetext", `block ${block}`)
    this.slider.setAttribute("aria-label", "Block shown")
    setText(this.playButton, isResting ? "Play through the depth" : "Pause")
    this.playButton.classList.toggle("playing", !isResting)
    if (isResting) this.tabulate()
  }

  tabulate() {
    if (this.table.hidden) return this.table.replaceChildren()
    const table = document.createElement("table")
    const time = this.nets[0].trained ? `step ${this.moment.shown}` : "before training"
    table.createCaption().textContent = `${this.panel.title}, ${time}`
    const addRow = (tag, cells) => {
      const row = table.insertRow()
      for (const cell of cells) appendElement(row, tag).textContent = cell
    }
    addRow("th", ["net", "block", "size relative to the input", "mean cosine", "share shown in this plane"])
    for (const index of this.openNets()) {
      const { label, journey, age } = this.nets[index]
      const name = [label, age].filter(Boolean).join(", ")
      for (const [stop, block] of journey.blocks.entries()) {
        const numbers = [journey.cosine[stop], journey.plane[stop]].map((value) => brief(value ?? Number.NaN))
        addRow("td", [name, block, timesText(relativeSize(journey, stop)), ...numbers])
      }
    }
    this.table.replaceChildren(table)
  }

  clear() {
    cancelAnimationFrame(this.frameRequest)
    this.startedAt = null
  }
}
