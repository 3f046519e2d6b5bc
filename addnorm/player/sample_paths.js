// Ten unseen samples travel through the blocks of nets: the distance from the centre is the size of a sample's stream, the
// angle its direction. What moves was measured; only the way between two blocks is drawn.

import { clock, made, node as svg, translated, write } from "./dom.js"
import { guessOf, keepGuess } from "./guesses.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const PASS_SECONDS = 4 // through all blocks
const INPUT = 0.45 // of the frame's half: the circle of the input's size, below which sizes are linear
const RINGS = [1, 4] // times the input's size
const MIN_NAMED_PIXELS = 150 // pixels of a picture from which its rings are named
const TRAIL = 6 // blocks that a sample's trail is long
const STILLS = 8 // positions that are drawn at once where nothing may move
const DOT = 0.56 // times the type of the page, which is larger on a projector
const HUES = [
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

// The distance from the centre for a size in times the input's, with `edge` at the frame's edge: linear inside the input's circle, logarithmic outside.
const radius = (size, edge) =>
  size <= 1 ? INPUT * size : INPUT + (1 - INPUT) * (Math.log2(Math.min(size, 2 ** 20)) / Math.log2(edge))

const rms = (sizes) => Math.sqrt(sizes.reduce((sum, size) => sum + size * size, 0) / sizes.length)

// Where the samples of a journey are at a position between two of its blocks: x, y, and how much of each the plane holds.
export const place = (journey, position) => {
  const unit = rms(journey.size[0]) || 1
  const at = Math.min(Math.max(Math.floor(position), 0), journey.size.length - 1)
  const next = Math.min(at + 1, journey.size.length - 1)
  const share = position - at
  const between = (from, to) => from + (to - from) * share
  return journey.size[at].map((size, sample) => {
    const far = between(
      ...[size, journey.size[next][sample]].map((value) => radius((value ?? Infinity) / unit, journey.edge)),
    )
    const turn = journey.turn[at][sample]
    const arc = journey.turn[next][sample] - turn
    const angle = turn + share * (arc - 2 * Math.PI * Math.round(arc / (2 * Math.PI))) // on the shorter way round
    return {
      x: far * Math.cos(angle),
      y: -far * Math.sin(angle),
      inPlane: between(journey.in_plane[at][sample], journey.in_plane[next][sample]),
    }
  })
}

// The middle of the widest gap between the directions in which samples enter and leave: there the rings are named.
export const gap = ({ turn }) => {
  const sorted = [...turn[0], ...turn.at(-1)].toSorted((a, b) => a - b)
  const arcs = sorted.map((angle, at) => (sorted[at + 1] ?? sorted[0] + 2 * Math.PI) - angle)
  const widest = arcs.indexOf(Math.max(...arcs))
  return sorted[widest] + arcs[widest] / 2
}

// The mean size at a stop, in times the input's; null where it is not finite.
export const grown = ({ size }, at) => {
  const [first, here] = [size[0], size[at]].map((sizes) => (sizes.includes(null) ? null : rms(sizes)))
  return here === null || !first ? null : here / first
}

const times = (size) => {
  if (size === null) return "not finite"
  return size > 0 && size < 0.05 ? `1/${brief(1 / size, 2)}` : `${brief(size, 2)} times`
}
const eased = (share) => share * share * (3 - 2 * share)

// A sample that has left the frame: an arrow outwards, as wide as its dot.
const arrow = ({ x, y }, size) => {
  const turn = Math.atan2(y, x)
  const at = (angle, far) =>
    [Math.cos(turn + angle), Math.sin(turn + angle)].map((direction) => (direction * far * size).toFixed(1))
  return ["polygon", { points: [at(0, 1.9), at(1.1, 1.1), at(2.3, 1.1), at(-2.3, 1.1), at(-1.1, 1.1)].join(" ") }]
}

class Net {
  constructor(list, guessed) {
    this.el = made(list, "li", "sample-paths-net")
    this.heading = made(this.el, "h3", "player-heading")
    this.picture = this.el.appendChild(svg("svg", { role: "img" }))
    this.caption = made(this.el, "p", "sample-paths-caption")
    this.below = made(this.el, "div", "sample-paths-answer") // one over the other
    this.field = made(this.below, "fieldset")
    this.verdict = made(this.below, "p", "sample-paths-verdict")
    this.verdict.setAttribute("aria-live", "polite")
    this.guessed = guessed
  }

  // `quizzed`: the viewer is to guess its outcome.
  declare({ label, title, subject, quizzed, shows_outcome: showsOutcome, options, question, reveals }) {
    this.label = label
    this.subject = subject
    this.quizzed = quizzed
    this.options = options
    this.reveals = reveals
    this.name = `${title}: ${label}`
    this.below.hidden = !showsOutcome
    write(this.heading, label)
    if (quizzed && !this.field.children.length) {
      write(made(this.field, "legend"), question)
      for (const option of options) {
        const button = made(this.field, "button")
        button.type = "button"
        write(button, option)
        button.onclick = () => {
          keepGuess(this.name, option)
          this.guessed()
        }
      }
    }
  }

  get guess() {
    return guessOf(this.name, this.options)
  }

  // The newest measurement up to a step; of a net that diverged the last one in which every number is finite.
  take(log, shown) {
    const measured = (log?.frames[0] ?? []).filter(({ journey, step }) => journey && step <= shown)
    const whole = measured.findLast(({ journey }) => !journey.size.flat().includes(null))
    this.frame = whole ?? measured[0]
    this.journey = this.frame?.journey
    this.gap = this.journey && gap(this.journey)
    this.trained = shown > 0
  }

  get stops() {
    return this.journey ? this.journey.blocks.length - 1 : 0
  }

  // Whether it waits for a guess: then the samples stand at the input.
  covered(revealed) {
    return this.quizzed && !revealed && !(this.guess && this.reveals)
  }

  draw(share, side, { calm, covered, type, first }) {
    if (!this.journey) return
    const position = covered ? 0 : share * this.stops
    const stop = Math.round(position)
    this.arrived = !covered && (this.arrived || stop === this.stops) // once seen, it stays said
    const half = side / 2
    const dotSize = DOT * type
    const edge = 1 - (2 * dotSize) / half // what is farther out is an arrow there
    const far = ({ x, y }) => Math.max(Math.abs(x), Math.abs(y)) / edge
    const at = ({ x, y }, out = 1) => [x, y].map((coordinate) => (half + (coordinate / out) * half).toFixed(1))
    const to = (dot) => at(dot, Math.max(1, far(dot)))
    const out = RINGS.map((size) => radius(size, this.journey.edge) * half)
    const rings = out.map((r) => svg("circle", { class: "ring", cx: half, cy: half, r }))
    const along = Math.sin(this.gap)
    const rise = (out[1] - out[0]) * Math.abs(along) // between the two names, where they stand
    const apart = (Math.sign(along) || 1) * Math.max(0, (1.1 * type - rise) / 2) // for a line of type between them
    const named = (first && side > MIN_NAMED_PIXELS ? RINGS : []).map((size, ring) => {
      const y = half - out[ring] * along + 0.25 * type + (ring ? -apart : apart)
      const x = half + out[ring] * Math.cos(this.gap)
      return svg("text", { class: "named", x, y }, size === 1 ? "input's size" : `${size} times`)
    })
    const names = [...new Set(this.journey.names)]
    const hue = (sample) => HUES[names.indexOf(this.journey.names[sample]) % HUES.length]
    const from = calm ? 0 : Math.max(0, position - TRAIL)
    const count = calm ? STILLS : 2 * TRAIL
    const way = Array.from({ length: count }, (_, moment) =>
      place(this.journey, from + ((position - from) * moment) / (count - 1)),
    )
    const trails = calm
      ? way.slice(0, -1).flatMap((dots, still) =>
          dots.map((dot, sample) => {
            const [cx, cy] = to(dot)
            return svg("circle", {
              cx,
              cy,
              r: dotSize / 2,
              fill: hue(sample),
              opacity: (0.15 + (0.5 * still) / STILLS).toFixed(2),
            })
          }),
        )
      : way[0].map((_, sample) =>
          svg("polyline", {
            class: "trail",
            stroke: hue(sample),
            points: way.map((dots) => to(dots[sample]).join()).join(" "),
          }),
        )
    const answers = this.trained && stop === this.stops ? this.frame.ten?.answers : null
    const ends = way.at(-1)
    const together = this.together(ends.map(to), dotSize)
    const dots = ends.map((dot, sample) => {
      const [x, y] = to(dot)
      const group = svg("g", { class: "dot", transform: `translate(${x} ${y})` })
      const fill = { fill: hue(sample), "fill-opacity": (0.55 + 0.45 * dot.inPlane).toFixed(2) }
      /** @type {any[]} */
      const looks = far(dot) > 1 ? arrow(dot, dotSize) : ["circle", { r: dotSize }]
      group.append(
        ...[{ class: "ground" }, fill].map((attributes) => svg(looks[0], { ...looks[1], ...attributes })),
        svg("text", { y: 0.26 * type }, this.journey.names[sample]),
      )
      if (answers && !together) {
        const right = String(answers[sample]) === this.journey.names[sample]
        group.append(
          svg(
            "text",
            { class: right ? "right" : "wrong", x: 1.9 * dotSize, y: 0.26 * type },
            right ? "✓" : (answers[sample] ?? "–"),
          ),
        )
      }
      return group
    })
    // From the centre, so that directions are seen: ten digits are a fan, and those that have become alike one ray.
    const rays = ends.map((dot, sample) => {
      const [x2, y2] = to(dot)
      return svg("line", { class: "ray", stroke: hue(sample), x1: half, y1: half, x2, y2 })
    })
    const all = []
    if (together) {
      const [x, y] = together
      const [above, below] = [y - 1.6 * dotSize, y + 2.7 * dotSize]
      const inwards = y < half ? above < type : below > side - 0.4 * type // off the ray, unless there is no room
      const over = Math.hypot(x - half, y - half) < 2 * dotSize ? along < 0 : y < half !== inwards // off the rings' names
      const inside = Math.min(Math.max(x, 2 * type), side - 2 * type)
      all.push(svg("text", { class: "out", x: inside, y: over ? above : below }, `all ${dots.length}`))
    }
    this.picture.setAttribute("viewBox", `0 0 ${side} ${side}`)
    this.picture.replaceChildren(...rings, ...rays, ...named, ...trails, ...dots, ...all)
    const right = answers?.filter((answer, sample) => String(answer) === this.journey.names[sample]).length
    const read = answers ? ` · ${right} right` : ""
    const size = times(grown(this.journey, stop))
    write(
      this.caption,
      covered
        ? "at the input: what will they do?"
        : `block ${this.journey.blocks[stop]} · ${this.subject}: ${size}${read}`,
    )
  }

  // Where all samples lie on one another, if they do.
  together(places, dotSize) {
    const middle = [0, 1].map((axis) => places.reduce((sum, point) => sum + Number(point[axis]), 0) / places.length)
    const near = places.every(([x, y]) => Math.hypot(x - middle[0], y - middle[1]) < 1.2 * dotSize)
    return places.length > 1 && near ? middle : null
  }

  // What a reader who sees nothing is told, when nothing moves.
  describe(share, covered) {
    if (!this.journey) return
    const stop = covered ? 0 : Math.round(share * this.stops)
    const { blocks, cosine, names, outcome } = this.journey
    const clauses = [
      `${this.label && `${this.label}: `}${names.length} unseen samples (${names.join(", ")}) ${blocks[stop] ? `after block ${blocks[stop]} of ${blocks.at(-1)}` : "at the input"}`,
      stop
        ? `size ${times(grown(this.journey, stop))} the input's, mean cosine between them ${brief(cosine[stop] ?? Number.NaN)}`
        : "",
      stop === this.stops && stop ? `they ${outcome}` : "",
    ]
    this.picture.setAttribute("aria-label", `${clauses.filter(Boolean).join("; ")}.`)
  }

  answer(revealed, reveals) {
    const { guess } = this
    const open = !this.covered(revealed)
    this.field.hidden = !this.quizzed
    this.field.classList.toggle("answered", open) // keeps its room, in which the verdict stands
    for (const [at, button] of this.field.querySelectorAll("button").entries())
      button.setAttribute("aria-pressed", this.options[at] === guess)
    const { outcome: result, alike: cosine } = this.journey ?? {}
    const verdict =
      guess === result
        ? `✓ They ${result}${cosine}, as you guessed.`
        : `✗ They ${result}${cosine}; you guessed: ${guess}.`
    const outcome = this.quizzed && guess && !this.trained ? verdict : `They ${result}${cosine}.`
    const pending = guess && !open && !reveals ? `Your guess is in: they ${guess}.` : ""
    write(this.verdict, this.arrived && reveals && result ? outcome : pending)
  }
}

export class SamplePaths {
  /** @type {boolean | undefined} whether it is out of sight, told by the player */
  away

  constructor(home) {
    const el = made(home, "figure", "sample-paths")
    this.list = made(el, "ol", "sample-paths-nets")
    this.bar = made(el, "div", "sample-paths-bar")
    this.play = made(this.bar, "button", "player-main")
    this.play.type = "button"
    this.play.onclick = () => (this.began === null ? this.begin(this.open()) : this.pause())
    const depth = made(this.bar, "div", "sample-paths-depth") // in one line
    const label = made(depth, "label", "player-scrub")
    write(made(label, "span"), "Block")
    this.blockOutput = made(label, "output")
    this.slider = made(label, "input")
    Object.assign(this.slider, { type: "range", min: 0, step: 1 })
    this.slider.oninput = () => {
      this.share = Number(this.slider.value) / Number(this.slider.max)
      this.pause()
    }
    this.switch = made(depth, "button", "sample-paths-switch")
    this.switch.type = "button"
    write(this.switch, "Table")
    this.table = made(el, "div", "sample-paths-table")
    this.table.setAttribute("role", "region")
    this.table.tabIndex = 0
    this.table.hidden = true
    this.switch.onclick = () => {
      this.table.hidden = !this.table.hidden
      this.switch.setAttribute("aria-expanded", String(!this.table.hidden))
      this.tabulate()
    }
    this.switch.setAttribute("aria-expanded", "false")
    this.home = home
    this.el = el
    this.nets = []
    this.share = 0
    this.began = null
    this.revealed = new Set()
    this.played = false
  }

  declare(panel) {
    if (this.panel && String(this.panel.runs) !== String(panel.runs)) {
      this.pause()
      this.share = 0
      this.played = false
      this.trains = false
      this.revealed = new Set() // another scene
    }
    this.panel = panel
    this.measured = undefined
    this.el.setAttribute("aria-label", panel.title)
    this.table.setAttribute("aria-label", `${panel.title}, table`)
    this.switch.setAttribute("aria-label", `Table of ${panel.title}`)
    if (this.nets.length !== panel.runs.length) {
      this.list.replaceChildren()
      this.nets = panel.runs.map((_, at) => new Net(this.list, () => this.guessed(at)))
    }
    this.list.style.setProperty("--nets", panel.runs.length)
    for (const [at, net] of this.nets.entries())
      net.declare({
        ...panel,
        label: panel.labels[at] ?? "",
        quizzed: panel.quiz_runs.includes(at),
      })
    if (this.now) this.draw(this.now)
  }

  guessed(at) {
    if (this.panel.reveals) this.begin([at])
    else this.paint()
  }

  covered(at) {
    return this.nets[at].covered(this.revealed.has(at))
  }

  // The nets that do not wait for a guess.
  open() {
    return [...this.nets.keys()].filter((at) => !this.covered(at))
  }

  // Plays a pass through these nets, of which those that waited for a guess are shown from now on.
  begin(which) {
    if (this.panel.reveals) for (const at of which) this.revealed.add(at)
    this.moving = new Set(which)
    this.played = true
    if (this.calm) {
      this.share = 1
      return this.paint()
    }
    this.share = 0
    this.began = clock()
    this.go()
  }

  pause() {
    this.began = null
    cancelAnimationFrame(this.due)
    this.due = undefined
    this.moving = undefined
    this.paint()
  }

  go() {
    this.due ??= requestAnimationFrame(() => {
      this.due = undefined
      if (this.began === null || !this.home.isConnected) return
      const share = Math.min((clock() - this.began) / PASS_SECONDS, 1)
      this.share = eased(share)
      if (share === 1) this.pause()
      else {
        this.paint()
        this.go()
      }
    })
  }

  /** @param {Moment} now */
  draw(now) {
    const { panel } = this
    this.now = now
    this.calm = now.calm
    for (const [at, net] of this.nets.entries()) net.take(now.logs[panel.runs[at]], now.shown)
    if (this.nets.some((net) => !net.journey)) return
    this.slider.max = Math.max(...this.nets.map(({ stops }) => stops))
    // A run that is trained shows where its samples come out; once it rests, they travel through the trained net.
    if (now.playing && !this.trains) {
      if (panel.reveals) this.revealed = new Set(this.nets.keys())
      this.began = null
      this.share = 1
    }
    const rests = this.trains && !now.playing && now.shown > 0
    this.trains = now.playing
    if (rests || (!this.played && this.away === false)) {
      const open = this.open()
      if (open.length) return this.begin(open)
    }
    this.paint()
  }

  // The pixels of a net's picture and of the page's type; the player forgets them when the place changes.
  measure() {
    const wide = this.list.clientWidth || 320
    const columns = getComputedStyle(this.list).gridTemplateColumns.split(" ").length
    const most = Number.parseFloat(getComputedStyle(this.list).getPropertyValue("--most")) || this.panel.height
    const side = Math.round(Math.min(wide / columns - 12, this.panel.height, most))
    this.el.style.setProperty("--side", `${side}px`)
    return { side, type: Number.parseFloat(getComputedStyle(document.documentElement).fontSize) }
  }

  paint() {
    if (!this.now || this.nets.some((net) => !net.journey)) return
    const { side, type } = (this.measured ??= this.measure())
    const rests = this.began === null
    for (const [at, net] of this.nets.entries()) {
      const share = this.moving && !this.moving.has(at) ? 1 : this.share
      const covered = this.covered(at)
      net.draw(share, side, { calm: this.calm, covered, type, first: at === 0 })
      if (rests) net.describe(share, covered)
      net.answer(this.revealed.has(at), this.panel.reveals)
    }
    const stop = Math.round(this.share * Number(this.slider.max))
    if (Number(this.slider.value) !== stop) this.slider.value = stop
    const [{ journey }] = this.nets
    const block = journey.blocks[Math.round(this.share * (journey.blocks.length - 1))]
    write(this.blockOutput, `${block} of ${journey.blocks.at(-1)}`)
    if (rests) this.slider.setAttribute("aria-valuetext", `block ${block}`)
    this.slider.setAttribute("aria-label", translated("Block shown"))
    write(this.play, rests ? "Play through the depth" : "Pause")
    this.play.classList.toggle("playing", !rests)
    if (rests) this.tabulate()
  }

  tabulate() {
    if (this.table.hidden) return this.table.replaceChildren()
    const table = document.createElement("table")
    table.createCaption().textContent = `${this.panel.title}, ${this.nets[0].trained ? `step ${this.now.shown}` : "before training"}`
    const row = (cells, kind) => {
      const line = table.insertRow()
      for (const cell of cells) made(line, kind).textContent = cell
    }
    row(["net", "block", "size relative to the input", "mean cosine", "share shown in this plane"], "th")
    for (const [at, { label, journey }] of this.nets.entries()) {
      if (this.covered(at)) continue
      for (const [stop, block] of journey.blocks.entries())
        row(
          [
            label,
            block,
            times(grown(journey, stop)),
            brief(journey.cosine[stop] ?? Number.NaN),
            brief(journey.plane[stop] ?? Number.NaN),
          ],
          "td",
        )
    }
    this.table.replaceChildren(table)
  }

  clear() {
    cancelAnimationFrame(this.due)
    this.began = null
  }
}
