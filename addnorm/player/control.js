// The controls that lie over the stack of a net which its visitor may change: residual line, norms, blocks, right edge.

import { appendElement, clock, setText } from "./dom.js"

const ANSWER_SECONDS = 10 // within which the page shows the net that was asked for
const DRAG_MS = 100 // after the last move of the edge, before the page learns of it
const ROOM = 10 // blocks: the least that a drawing has room for; it doubles until the net fits
const KEYS = { ArrowRight: 1, ArrowUp: 1, PageUp: 4, ArrowLeft: -1, ArrowDown: -1, PageDown: -4 }

const roomFor = (depth, most) => {
  let room = ROOM
  while (room <= depth) room *= 2
  return Math.min(room, most)
}

export class Control {
  // Calls `changed(net)`, and `redraw()` when there is to be more room. A net has `depth`, `residual`, `norm`, `out`, the numbers of the blocks that are taken out, and
  // `own`, pairs of a block and its own residual. Null is a part that cannot be changed.
  constructor(place, changed, redraw) {
    this.changed = changed
    this.redraw = redraw
    this.asked = 0 // changes that the page was told of
    this.dueAt = 0 // seconds; before, the page may show an older net
    this.lines = ["residual", "norm"].map((name) => {
      const button = appendElement(place, "button", "player-line")
      Object.assign(button, { type: "button", textContent: name })
      button.setAttribute("role", "switch")
      button.onclick = () => this.change({ [name]: !this.net[name] })
      return button
    })
    place.prepend(...this.lines) // the first keys reach them, before any block
    this.edge = appendElement(place, "div", "player-edge")
    this.edge.tabIndex = 0
    this.edge.setAttribute("role", "slider")
    this.edge.setAttribute("aria-label", "Depth")
    this.edge.setAttribute("aria-valuemin", "1")
    for (const el of [...this.lines, this.edge]) el.hidden = true // until there is a drawing to lie over
    this.edge.onkeydown = (event) => {
      const depth = { Home: 1, End: this.most }[event.key] ?? this.net.depth + KEYS[event.key]
      if (Number.isNaN(depth) || event.altKey || event.ctrlKey || event.metaKey) return // Alt and an arrow go back
      event.preventDefault()
      event.stopPropagation()
      this.deepen(depth)
    }
    this.edge.onpointerdown = (event) => {
      this.edge.setPointerCapture(event.pointerId)
      this.box = place.getBoundingClientRect()
    }
    this.edge.onpointermove = ({ clientX, clientY, pointerId }) => {
      if (!this.edge.hasPointerCapture(pointerId)) return
      const { column, perRow, head, rowHeight } = this.area
      const across = Math.round((clientX - this.box.left) / column - 0.5)
      const down = Math.max(0, Math.floor((clientY - this.box.top - head) / rowHeight))
      const depth = Math.min(Math.max(across, 0), perRow - 1) + perRow * (perRow > this.room ? 0 : down)
      this.deepen(Math.min(depth, this.room))
    }
    this.edge.onlostpointercapture = () => this.makeRoom()
  }

  // Takes the net that the page shows, unless it has not `heard` the visitor's last change.
  declare({ most, heard, ...net }) {
    this.most = most
    this.declared = net
    this.asked = Math.max(this.asked, heard)
    if (clock() > this.dueAt || heard === this.asked) this.take(net)
  }

  take(net) {
    this.dueAt = 0
    if (net.depth !== this.net?.depth) this.room = this.most ? roomFor(net.depth, this.most) : net.depth
    this.net = net
    this.show()
  }

  // Makes room for a net that was deepened. One that was made less deep keeps its room, so that its edge stays in place.
  makeRoom() {
    this.room = Math.max(this.room, roomFor(this.net.depth, this.most))
    this.redraw()
  }

  // Changes the net at once and tells the page, which may refuse: then the net goes back.
  change(fields, delay = 0) {
    this.net = { ...this.net, ...fields }
    const { depth, out, own } = this.net
    if (out) this.net.out = out.filter((block) => block <= depth)
    if (own) this.net.own = own.filter(([block]) => block <= depth)
    this.asked += 1
    this.dueAt = clock() + ANSWER_SECONDS
    this.show()
    clearTimeout(this.telling)
    const tell = () => this.changed({ ...this.net, asked: this.asked })
    if (delay) this.telling = setTimeout(tell, delay)
    else tell()
    clearTimeout(this.waiting)
    this.waiting = setTimeout(() => this.dueAt && this.take(this.declared), 1000 * ANSWER_SECONDS)
  }

  deepen(depth) {
    const legal = Math.min(Math.max(depth, 1), this.most)
    if (legal === this.net.depth) return
    this.change({ depth: legal }, DRAG_MS)
    if (legal > this.room) this.makeRoom()
  }

  toggleBlock(block) {
    const { out } = this.net
    const kept = out.filter((other) => other !== block)
    this.change({ out: kept.length < out.length ? kept : [...out, block].sort((one, other) => one - other) })
  }

  // Whether a block has a residual: its own, else the net's.
  hasResidual(block) {
    const { own, residual } = this.net
    return own.find(([other]) => other === block)?.[1] ?? residual
  }

  toggleResidual(block) {
    const own = this.net.own.filter(([other]) => other !== block)
    const has = !this.hasResidual(block)
    this.change({ own: has === this.net.residual ? own : [...own, [block, has]] })
  }

  show() {
    for (const [index, name] of ["residual", "norm"].entries())
      this.lines[index].setAttribute("aria-checked", String(this.net[name]))
    const { depth } = this.net
    this.edge.setAttribute("aria-valuemax", this.most)
    this.edge.setAttribute("aria-valuenow", depth)
    this.edge.setAttribute("aria-valuetext", depth === 1 ? "1 block" : `${depth} blocks`)
    setText(this.edge, String(depth))
    if (this.area) this.put(this.area)
  }

  // Lays the controls over a stack's drawing; see `plotArea` of the stack.
  put(area) {
    this.area = area
    const { column, perRow, rowHeight, head, ribbon, top } = area
    const [residual, norm] = this.lines
    const lay = (el, left, y, width, height) => {
      const places = { left, top: y, width, height }
      for (const [side, pixels] of Object.entries(places)) el.style[side] = `${pixels}px`
    }
    if (head) {
      lay(residual, 0, 0, area.width / 2 - 4, head - 6)
      lay(norm, area.width / 2 + 4, 0, area.width / 2 - 4, head - 6)
    } else {
      lay(residual, 0, 0, area.width + area.legend, ribbon)
      lay(norm, 0, ribbon, area.width + area.legend, top - ribbon)
    }
    for (const [index, name] of ["residual", "norm"].entries()) this.lines[index].hidden = this.net[name] === null
    const { depth } = this.net
    this.edge.hidden = !this.most
    lay(
      this.edge,
      (depth % perRow) * column,
      head + Math.floor(depth / perRow) * rowHeight + (head ? 0 : top),
      Math.max(column, 24),
      rowHeight - (head ? 4 : top),
    )
  }
}
