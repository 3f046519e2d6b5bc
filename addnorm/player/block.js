// A block as a drawing: its norm, its layers and the way past them; what a net lacks is drawn faintly.

import { made, node as svg, write } from "./dom.js"
import { brief } from "./tape.js"

const [WIRE, PAST, TALL, HIGH] = [32, 9, 20, 40] // pixels: of the wire, the residual above it, a box, the whole
const [FROM, GAP, NORM, LAYER, END] = [34, 10, 38, 36, 44] // pixels along the wire
const ROOM = 56 // pixels for the branch's number
const TRIP_SECONDS = 4 // of a digit through a block
const DOT = 6 // pixels: the radius of a digit at size 1
const dot = (size) => Math.min(Math.max(DOT * Math.sqrt(size), 1.5), 2.5 * DOT)

// The drawing, where its numbers belong, and the ways through its layers and past them.
const drawing = ({ norm, residual, layers }, extra = 0) => {
  const boxes = [["norm", NORM, `norm ${norm ? "" : "lacks"}`], ...layers.map((name) => [name, LAYER, ""])]
  const parts = []
  const wire = (from, to, name = "") => svg("path", { class: name, d: `M${from} ${WIRE}H${to}` })
  let x = FROM
  parts.push(wire(0, x))
  for (const [name, width, kind] of boxes) {
    const lacks = kind.includes("lacks")
    parts.push(svg("rect", { class: kind, x, y: WIRE - TALL / 2, width, height: TALL, rx: 3 }))
    parts.push(svg("text", { class: lacks ? "lacks" : "", x: x + width / 2, y: WIRE + 4 }, name))
    parts.push(wire(lacks ? x : x + width, x + width + GAP))
    x += width + GAP
  }
  const [branch, plus] = [x, x + extra + TALL / 2]
  const faint = residual ? "" : "lacks"
  parts.push(
    wire(branch, residual ? plus - 8 : plus + 8),
    svg("circle", { class: faint, cx: plus, cy: WIRE, r: 8 }),
    svg("path", { class: faint, d: `M${plus} ${WIRE - 5}V${WIRE + 5}M${plus - 5} ${WIRE}H${plus + 5}` }),
    wire(plus + 8, plus + END),
  )
  const past = `M${FROM / 2} ${WIRE}V${PAST}H${plus}V${WIRE - 8}`
  parts.unshift(svg("path", { class: `skip ${faint}`, d: past }))
  const wide = plus + END
  return {
    parts,
    wide,
    // From where the wire begins.
    ways: { through: `M0 0H${wide}`, past: `M0 0H${FROM / 2}V${PAST - WIRE}H${plus}V0H${wide}` },
    places: { x: [0, "start"], branch: [branch + extra / 2, "middle"], sum: [wide, "end"] },
    meets: plus / wide,
  }
}

const named = ({ norm, residual }) =>
  `A block ${norm ? "with" : "without"} norm, ${residual ? "with" : "without"} residual`

// A run's name, its block, and what became of it once that is known.
export class BlockHeading {
  constructor(place) {
    const el = made(place, "div", "stage-outcome")
    this.heading = made(el, "h3", "stage-heading")
    this.picture = el.appendChild(svg("svg", { class: "stage-block", role: "img" }))
    this.found = made(el, "p")
    this.found.setAttribute("aria-live", "polite")
  }

  declare(panel) {
    this.panel = panel
    write(this.heading, panel.title)
    const { parts, wide } = drawing(panel)
    this.picture.setAttribute("viewBox", `0 0 ${wide} ${HIGH + 4}`)
    this.picture.setAttribute("aria-label", named(panel))
    this.picture.replaceChildren(...parts)
    this.say(panel.found)
  }

  say(found) {
    write(this.found, found && `it ${found}`)
  }

  draw(now) {
    const { run, found, diverged } = this.panel
    const tape = now.tapes[run]
    this.say(found || (tape?.lost && now.furthest >= tape.fate.step ? diverged : ""))
  }
}

// A block of a run, large: the size of the stream on its wires, and a digit that passes through it once.
export class BlockPicture {
  constructor(place) {
    this.picture = place.appendChild(svg("svg", { class: "stage-block large", role: "img" }))
  }

  declare(panel) {
    const same = JSON.stringify(panel) === JSON.stringify(this.panel)
    this.panel = panel
    if (same) return
    const { parts, wide, ways, places, meets } = drawing(panel, ROOM)
    Object.assign(this, { ways, meets })
    this.numbers = Object.fromEntries(
      Object.entries(places).map(([name, [x, anchor]]) => [
        name,
        svg("text", { x, y: WIRE + 24, class: "number", style: `text-anchor: ${anchor}` }),
      ]),
    )
    this.picture.setAttribute("viewBox", `-8 -4 ${wide + 16} ${HIGH + 24}`)
    this.picture.replaceChildren(...parts, ...Object.values(this.numbers))
    this.gone = false
  }

  draw(now) {
    const { run, block, site, title } = this.panel
    const tape = now.tapes[run]
    if (!tape?.length) return
    const at = tape.drawnAt(now)
    const [x, sum] = [site - 1, site].map((one) => tape.vector("act_rms", at)[one])
    const branch = tape.vector("branch_rms", at)[site - 1]
    const said = { x: `x: ${brief(x)}`, branch: `F: ${brief(branch)}`, sum: `out: ${brief(sum)}` }
    for (const [name, text] of Object.entries(said)) write(this.numbers[name], text)
    this.picture.setAttribute(
      "aria-label",
      `${title}. ${named(this.panel)}: in block ${block} the stream enters with size ${brief(x)}, the branch F makes ${brief(branch)}, and ${brief(sum)} leaves.`,
    )
    if (this.gone || now.calm) return
    this.gone = true
    this.send(this.ways.through, [x, branch, sum])
    if (this.panel.residual) this.send(this.ways.past, [x, x, sum])
  }

  // A digit goes one way; its size is that of the stream on each wire.
  send(way, [before, between, after]) {
    const duration = { dur: `${TRIP_SECONDS}s`, begin: "indefinite", fill: "freeze" }
    const traveller = svg("circle", { class: "traveller", cy: WIRE, r: dot(before) })
    traveller.append(
      svg("animateMotion", { ...duration, path: way }),
      svg("animate", {
        ...duration,
        attributeName: "r",
        values: [before, before, between, between, after, after].map(dot).join(";"),
        keyTimes: [0, 0.15, 0.6, this.meets - 0.03, this.meets, 1].join(";"),
      }),
    )
    this.picture.append(traveller)
    for (const motion of traveller.children) motion.beginElement()
  }
}
