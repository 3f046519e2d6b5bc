// The controls that lie over the stack of a net which its visitor may break: residual line, norms, blocks, right edge.

import { appendElement, clock, setText, translate } from "./dom.js"

const ANSWER_SECONDS = 10 // within which the page shows the net that was asked for
const DRAG_MS = 100 // after the last move of the edge, before the page learns of it
const KEYS = { ArrowRight: 1, ArrowUp: 1, PageUp: 4, ArrowLeft: -1, ArrowDown: -1, PageDown: -4 }

export class Control {
  // Calls `changed(net)`; a net has `depth`, `residual`, `norm`, and `out`, the numbers of the blocks that are taken out.
  constructor(place, changed) {
    this.changed = changed
    this.dueAt = 0 // seconds; before, the page may show an older net
    this.lines = ["residual", "norm"].map((name) => {
      const button = appendElement(place, "button", "player-line")
      Object.assign(button, { type: "button", textContent: translate(name) })
      button.setAttribute("role", "switch")
      button.onclick = () => this.change({ [name]: !this.net[name] })
      return button
    })
    this.edge = appendElement(place, "div", "player-edge")
    this.edge.tabIndex = 0
    this.edge.setAttribute("role", "slider")
    this.edge.setAttribute("aria-label", translate("Depth"))
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
      this.deepen(Math.min(Math.max(across, 0), perRow - 1) + perRow * (perRow > this.most ? 0 : down))
    }
  }

  // Takes the net that the page shows, unless the visitor's own change is newer.
  declare({ most, ...net }) {
    this.most = most
    this.declared = net
    if (clock() > this.dueAt || JSON.stringify(net) === JSON.stringify(this.net)) this.take(net)
  }

  take(net) {
    this.dueAt = 0
    this.net = net
    this.show()
  }

  // Changes the net at once and tells the page, which may refuse: then the net goes back.
  change(fields, delay = 0) {
    this.net = { ...this.net, ...fields }
    this.net.out = this.net.out.filter((block) => block <= this.net.depth)
    this.dueAt = clock() + ANSWER_SECONDS
    this.show()
    clearTimeout(this.telling)
    if (delay) this.telling = setTimeout(() => this.changed(this.net), delay)
    else this.changed(this.net)
    clearTimeout(this.waiting)
    this.waiting = setTimeout(() => this.dueAt && this.take(this.declared), 1000 * ANSWER_SECONDS)
  }

  deepen(depth) {
    const legal = Math.min(Math.max(depth, 1), this.most)
    if (legal !== this.net.depth) this.change({ depth: legal }, DRAG_MS)
  }

  toggleBlock(block) {
    const { out } = this.net
    const kept = out.filter((other) => other !== block)
    this.change({ out: kept.length < out.length ? kept : [...out, block].sort((one, other) => one - other) })
  }

  show() {
    for (const [index, name] of ["residual", "norm"].entries())
      this.lines[index].setAttribute("aria-checked", String(this.net[name]))
    const { depth } = this.net
    this.edge.setAttribute("aria-valuemax", this.most)
    this.edge.setAttribute("aria-valuenow", depth)
    this.edge.setAttribute("aria-valuetext", translate(depth === 1 ? "1 block" : `${depth} blocks`))
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
      el.hidden = false
      for (const [side, pixels] of Object.entries(places)) el.style[side] = `${pixels}px`
    }
    if (head) {
      lay(residual, 0, 0, area.width / 2 - 4, head - 6)
      lay(norm, area.width / 2 + 4, 0, area.width / 2 - 4, head - 6)
    } else {
      lay(residual, 0, 0, area.width + area.legend, ribbon)
      lay(norm, 0, ribbon, area.width + area.legend, top - ribbon)
    }
    const { depth } = this.net
    lay(
      this.edge,
      (depth % perRow) * column,
      head + Math.floor(depth / perRow) * rowHeight + (head ? 0 : top),
      Math.max(column, 24),
      rowHeight - (head ? 4 : top),
    )
  }
}
