// The stack: one column per block, with its signal in the upper half and its gradient in the lower.

import { Control } from "./control.js"
import { appendElement, setText } from "./dom.js"
import { brief, power } from "./number.js"
import { hues, rgbOf } from "./style.js"
import { logRange, powers } from "./y_axis.js"

/** @import { Moment } from "./playhead.js" */

// Each colour scale runs from `deep` through its hue to `pale`. `deep` marks large values on a light page and small ones
// on a dark page. All colours are visible on black and on white.
const SCALES = {
  act: { hue: "signal", deep: [40, 84, 170], pale: [95, 175, 235] },
  grad: { hue: "gradient", deep: [125, 60, 150], pale: [220, 135, 200] },
}
const RIBBON_HEIGHT = 16 // of the skip, in pixels at a font size of 12
const NORM_HEIGHT = 14 // of the norms below the skip, in pixels at a font size of 12
const TOUCH_PIXELS = 44 // least side of a target that a finger hits
const HEAD = TOUCH_PIXELS + 6 // of all rows
const NARROW_PIXELS = 480 // below it a net that can be changed stands in several rows
const ROW_SHARE = 0.29 // of the height of a single row, that each of several has
const FONT_EMS = 0.78 // font size of the legend, in ems of the stack's font
const MIN_FONT_PIXELS = 11 // least font size of the legend
const LEGEND_EMS = 6.2 // width of the legend, in ems of its font
const LEGEND_STEPS = 24 // colours of a bar in the legend
const LEGEND_BAR_PIXELS = 8 // width of a bar in the legend
const MIN_HALF_EMS_FOR_LIMITS = 3.3 // a half lower than this shows only its name, not its scale's limits
// Decades that every scale covers, so that nets can be compared by eye; a net that leaves them gets a wider scale.
const DECADES = { act: [-6, 4], grad: [-8, 2] }
// The log10 bounds of the scale of a half, for values before training.
export const scaleOf = (name, ...values) => logRange(DECADES[name], ...values)
const MAX_GROWTH_DECADES = 4 // beyond the scale before training; larger values get an arrow
const HALVES = ["act", "grad"]
const SLOT_SHARES = { in: 0.12, mid: 0.4, out: 0.65, add: 0.88 } // places of norms, as shares of a column
const PULSE_SECONDS = 1.2 // a pulse takes to cross all columns
const PULSE_HALF_WIDTH = 40 // pixels
const STUB_SHARE = 0.06 // length of the bar of a value of 0, as a share of the longest bar

const scaleColour = ({ hue, deep, pale }, share, dark) => {
  const scale = [deep, rgbOf(hues[hue]), pale]
  const clamped = Math.min(Math.max(share, 0), 1)
  const position = (dark ? clamped : 1 - clamped) * (scale.length - 1)
  const [low, high] = [scale[Math.floor(position)], scale[Math.ceil(position)]]
  const mix = (part, i) => Math.round(part + (high[i] - part) * (position - Math.floor(position)))
  return `rgb(${low.map(mix).join(" ")})`
}
const sizeText = (value) => (value === 0 ? "exactly 0" : Number.isFinite(value) ? brief(value) : "not finite")

export class StackPanel {
  /** @type {number | undefined} width of the stack's place in pixels; the player sets it */
  width

  /** @type {{ fontSize: number, width: number, height: number, room: number | undefined } | undefined} the player clears it when the place changes size */
  measured

  // Calls `changed(net)` for a changed net, `redraw()` to be drawn again; the stacks of a page share `scales`.
  constructor(place, { changed, redraw, scales }) {
    place.innerHTML =
      '<div class="player-stack" role="group"><div class="player-columns"><canvas aria-hidden="true"></canvas><div class="player-blocks"></div></div><p class="player-readout" aria-live="polite"></p><div class="player-opened"></div></div>'
    const find = (name) => place.querySelector(name)
    this.place = place
    this.changed = changed
    this.redraw = redraw
    this.scales = scales
    this.focused = 0
    this.isAnimated = true // to draw in every frame while the run plays
    this.group = find(".player-stack")
    this.openedBlock = find(".player-opened")
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
      this.setFocus(this.focused + step)
      this.row.children[this.focused].focus()
    }
    this.row.onpointerleave = () => this.pointAt(null)
    this.shown = 0 // index of the opened block
    /** @type {number | null} index of a block */
    this.hovered = null
  }

  declare(panel) {
    const keepsScale = this.panel?.fit === panel.fit
    this.panel = panel
    this.measured = this.legendKey = undefined
    if (!keepsScale) this.rescale()
    this.group.style.setProperty("--height", `${panel.height}px`)
    this.group.setAttribute("aria-label", panel.title)
    this.group.classList.toggle("opens", panel.diagrams.length > 0 && !panel.net)
    if (panel.net) this.declareNet(panel.net)
    this.open(Math.min(this.shown, panel.blocks.length - 1))
    if (this.row.children.length === panel.blocks.length) return
    const buttons = panel.blocks.map(({ name }, index) => {
      const button = document.createElement("button")
      button.type = "button"
      button.setAttribute("aria-label", name) // until there are numbers
      button.onclick = () => {
        this.setFocus(index)
        if (this.panel.net?.out) this.control.toggleBlock(this.panel.blocks[index].block)
      }
      button.onpointerenter = button.onfocus = () => this.pointAt(index)
      button.onblur = () => this.pointAt(null)
      return button
    })
    this.row.replaceChildren(...buttons)
    this.values = undefined // until the log of the new net is here
    this.setFocus(0)
  }

  // Shows the blocks of a net that the page is still to declare, and `brief` as what has happened. The diagrams stay.
  preview(blocks, brief) {
    const shown = blocks.map((block, index) => ({ ...this.panel.blocks[index], ...block }))
    const before = this.panel.before && brief
    this.declare({ ...this.panel, blocks: shown, before, after: "", refused: "" })
  }

  // Lays controls over the drawing, a line above it that says what has happened, and what opens a block's diagram.
  declareNet(net) {
    if (!this.control) {
      this.group.classList.add("breaks")
      this.said = document.createElement("p")
      this.said.className = "player-said"
      this.said.setAttribute("aria-live", "polite")
      this.columns.before(this.said)
      this.control = new Control(this.columns, this.changed, this.redraw)
      this.opener = appendElement(this.group, "button", "player-opener")
      this.opener.type = "button"
      this.opener.onclick = () => this.showDiagram(this.diagramPlace.hidden)
      this.diagramPlace = this.openedBlock
      this.openedBlock = appendElement(this.diagramPlace, "div")
      this.residual = appendElement(this.diagramPlace, "button", "player-own")
      this.residual.type = "button"
      this.residual.setAttribute("role", "switch")
      this.residual.onclick = () => this.control.toggleResidual(this.panel.blocks[this.shown].block)
      this.group.append(this.diagramPlace)
      this.showDiagram(false)
    }
    this.said.hidden = this.panel.before === null
    this.opener.hidden = !this.panel.diagrams.length && !net.own
    this.residual.hidden = !net.own
    if (this.panel.refused) this.hovered = null // until another block is pointed at, the refusal is read
    this.readout.classList.toggle("refused", Boolean(this.panel.refused))
    this.control.declare(net)
  }

  showDiagram(isShown) {
    this.diagramPlace.hidden = !isShown
    this.opener.setAttribute("aria-expanded", String(isShown))
    this.redraw() // the frame of the block
  }

  rescale() {
    this.ranges = this.panel.scale === "shared" ? this.scales : {}
    for (const half of HALVES) delete this.ranges[half]
  }

  setFocus(index) {
    this.focused = Math.min(Math.max(index, 0), this.row.children.length - 1)
    for (const [i, button] of [...this.row.children].entries()) button.tabIndex = i === this.focused ? 0 : -1
  }

  // Opens a block: shows its diagram, if there is one.
  open(index) {
    this.shown = index
    const { blocks, diagrams } = this.panel
    const diagram = diagrams[blocks[index].diagram] ?? ""
    if (diagram !== this.diagram) {
      this.diagram = diagram
      this.measured = undefined
      this.openedBlock.innerHTML = diagram
    }
    if (this.control) this.nameOpened()
    if (this.hovered === null) setText(this.readout, this.caption())
  }

  nameOpened() {
    const { block } = this.panel.blocks[this.shown]
    setText(this.opener, `block ${block}`)
    if (this.residual.hidden) return
    setText(this.residual, `residual of block ${block}`)
    this.residual.setAttribute("aria-checked", String(this.control.hasResidual(block)))
  }

  // The caption of the opened diagram, while no block is hovered over.
  caption() {
    const { blocks, diagrams } = this.panel
    if (this.control) return this.panel.refused || this.panel.hint
    return diagrams.length ? `block ${blocks[this.shown].block} of ${blocks.length}` : ""
  }

  pointAt(index) {
    this.hovered = index
    if (index !== null && (this.panel.diagrams.length || this.control)) this.open(index)
    setText(this.readout, index === null || !this.values ? this.caption() : this.blockText(index))
  }

  blockText(index) {
    const { name, skip, out } = this.panel.blocks[index]
    const [signal, gradient] = [this.values.act[index], this.values.grad[index]].map(sizeText)
    const wiring = out ? "taken out" : `${skip ? "with" : "without"} residual`
    return `${name}: signal ${signal}, gradient ${gradient}, ${wiring}`
  }

  // Font size and sizes in pixels, read once per size of the place: reading them forces a layout of the page.
  measure() {
    const style = getComputedStyle(this.group)
    const beside = style.getPropertyValue("--beside").trim() === "1" // whether the opened block lies beside the stack, not above it
    const width = (this.width ?? this.place.clientWidth) - (beside ? this.openedBlock.offsetWidth : 0)
    const room = this.control?.room
    const rows = room ? Math.ceil((room + 1) / this.perRow(width)) : 1
    const rowHeight = Math.max(TOUCH_PIXELS, ROW_SHARE * this.panel.height)
    const height = width && rows > 1 ? HEAD + rows * rowHeight : this.panel.height
    this.group.style.setProperty("--height", `${height}px`)
    return {
      fontSize: Math.max(MIN_FONT_PIXELS, FONT_EMS * Number.parseFloat(style.fontSize)),
      width,
      height: this.columns.clientHeight || this.panel.height, // a phone's style makes it lower
      room,
    }
  }

  // Blocks in a row of a net that can be changed, at a width: on a narrow page as many as fingers can hit.
  perRow(width) {
    if (width >= NARROW_PIXELS) return this.control.room + 1
    return Math.max(1, Math.floor(width / TOUCH_PIXELS)) // while it is hidden it has no width
  }

  // Widens the scales to the current values of this stack, or of all stacks that share them.
  /** @param {Moment} moment */
  widen(moment, log) {
    const logs = this.panel.scale === "shared" ? moment.logs.filter(({ length }) => length) : [log]
    // In a story only this stack moves: the others stay at step 0.
    const shownPosition = (other) => (moment.alone && other !== log ? 0 : other.drawnPosition(moment))
    const vectorsAt = (half, positionOf) => logs.map((other) => other.vector(`${half}_rms`, positionOf(other)))
    for (const half of HALVES) {
      const initial = scaleOf(half, ...vectorsAt(half, () => 0))
      const [low, high] = logRange(this.ranges[half] ?? initial, ...vectorsAt(half, shownPosition))
      // At most MAX_GROWTH_DECADES beyond the initial range.
      this.ranges[half] = [
        Math.max(low, initial[0] - MAX_GROWTH_DECADES),
        Math.min(high, initial[1] + MAX_GROWTH_DECADES),
      ]
    }
  }

  /** @param {Moment} moment */
  draw(moment, _, theme) {
    const log = moment.logs[this.panel.run]
    if (!log?.length) return
    if (this.log !== log) this.rescale() // a new net gets a new scale
    this.log = log
    const { blocks } = this.panel
    if (this.measured?.room !== this.control?.room) this.measured = undefined
    this.measured ??= this.measure()
    this.fontSize = this.measured.fontSize
    this.dark = theme.dark
    const position = log.drawnPosition(moment)
    const [act, grad, branch] = ["act_rms", "grad_rms", "branch_rms"].map((track) => log.vector(track, position))
    if (blocks.at(-1).site >= act.length) return // the log is still that of a net with fewer blocks
    this.values = { act: blocks.map(({ site }) => act[site]), grad: blocks.map(({ site }) => grad[site]) }
    this.widen(moment, log)
    const pen = this.clearCanvas()
    const area = this.plotArea()
    const ink = theme["text-color"] || "#555"
    blocks.forEach((block, index) => {
      pen.save()
      pen.translate((index % area.perRow) * area.column, area.head + Math.floor(index / area.perRow) * area.rowHeight)
      this.drawColumn(pen, area, index, ink)
      if (block.skip) this.drawSkip(pen, area, index, act, branch)
      else if (this.control) this.drawCut(pen, area, ink)
      this.drawNorms(pen, area, index, ink)
      pen.restore()
      if (!moment.playing) this.row.children[index].setAttribute("aria-label", this.label(index))
    })
    pen.strokeStyle = ink
    pen.globalAlpha = 0.5
    for (let first = 0; first < blocks.length; first += area.perRow) {
      const y = area.head + (first / area.perRow) * area.rowHeight + area.top + area.half
      pen.strokeRect(0, y, Math.min(area.perRow, blocks.length - first) * area.column, 0.5)
    }
    pen.globalAlpha = 1
    if (moment.playing && !moment.calm) this.drawPulses(pen, area, moment.time)
    if (area.legend) this.drawLegend(pen, area, ink, theme.font || "sans-serif")
    if (this.control) this.showControl(area, moment, log)
    if (this.hovered !== null) this.pointAt(this.hovered)
  }

  // What the button of a block says.
  label(index) {
    const { out } = this.panel.blocks[index]
    return `${this.blockText(index)}${this.panel.net?.out ? `; ${out ? "put it back" : "take it out"}` : ""}`
  }

  // Puts the controls where the drawing is, and says what happened before training or, once it was watched, in it.
  showControl(area, { shown }, log) {
    this.control.put(area)
    const isEnd = log.isOver && shown > 0 && shown >= log.length - 1
    setText(this.said, isEnd ? this.panel.after : shown ? "" : this.panel.before)
  }

  clearCanvas() {
    this.canvas.width = Math.round(this.measured.width * devicePixelRatio)
    this.canvas.height = Math.round(this.measured.height * devicePixelRatio)
    const pen = this.canvas.getContext("2d")
    pen.scale(devicePixelRatio, devicePixelRatio)
    return pen
  }

  // In pixels: `width` of a row and `legend` beside it, `column` with its gap and `body` without, heights `ribbon` of the
  // skip and `half`, `top` of the upper half and `head` of all rows. A net that can be changed has room for a deeper
  // one, on a narrow page in several rows.
  plotArea() {
    const { net, blocks } = this.panel
    const isNarrow = Boolean(net) && this.measured.width < NARROW_PIXELS
    const legend = isNarrow ? 0 : this.fontSize * LEGEND_EMS
    const width = this.canvas.width / devicePixelRatio - legend
    const perRow = net ? this.perRow(this.measured.width) : blocks.length
    const head = isNarrow ? HEAD : 0
    const rowHeight = (this.measured.height - head) / (isNarrow ? Math.ceil((this.control.room + 1) / perRow) : 1)
    const strip = isNarrow ? 0.6 : net ? 1.6 : 1
    const [ribbon, norms] = [RIBBON_HEIGHT, NORM_HEIGHT].map((one) => one * strip * Math.max(1, this.fontSize / 12))
    const top = ribbon + norms
    const half = (rowHeight - top - (isNarrow ? 6 : 2)) / 2
    const column = width / perRow
    const body = Math.max(1, column - Math.min(4, column * 0.2))
    if (net) Object.assign(this.row.style, { top: `${head}px`, right: "auto", width: `${perRow * column}px` })
    else this.row.style.right = `${legend}px`
    this.row.style.setProperty("--columns", perRow)
    this.row.style.setProperty("--row-height", `${rowHeight}px`)
    return { width, legend, column, perRow, rowHeight, head, body, ribbon, top, half }
  }

  // The two bars of a block, with a frame if it is hovered over or opened.
  drawColumn(pen, area, index, ink) {
    const { out } = this.panel.blocks[index]
    pen.globalAlpha = out ? 0.3 : 1
    for (const name of HALVES) this.drawBar(pen, area, index, name)
    pen.globalAlpha = 1
    const isHovered = this.hovered === index
    const isOpen = this.control ? !this.diagramPlace.hidden : this.panel.diagrams.length
    if (!isHovered && !out && !(isOpen && this.shown === index)) return
    pen.strokeStyle = ink
    pen.lineWidth = isHovered ? 2 : 1
    if (out) pen.setLineDash([3, 3])
    const { body, top, half } = area
    pen.strokeRect(1, top + 1, body - 1, 2 * half - 2)
    pen.setLineDash([])
  }

  // A ribbon as thick as the share of the skip in the sum, by RMS.
  drawSkip(pen, { column, ribbon }, index, act, branch) {
    const { site, skip } = this.panel.blocks[index]
    const before = Math.max(0, site - 1)
    const skipRms = skip * act[before]
    const share = skipRms / (skipRms + branch[before]) || 0
    const thickness = 2 + share * (ribbon - 4)
    pen.fillStyle = hues.signal
    pen.fillRect(0, (ribbon - thickness) / 2, column + 0.5, thickness)
  }

  // Where the residual was: a stub of a line, then nothing.
  drawCut(pen, { column, ribbon }, ink) {
    pen.globalAlpha = 0.5
    pen.fillStyle = ink
    pen.fillRect(0, ribbon / 2 - 1, column * 0.4, 2)
    pen.globalAlpha = 1
  }

  // A diamond per norm of a block, at the place of its slot; where a norm was, an empty one.
  drawNorms(pen, { column, body, ribbon, top }, index, ink) {
    const size = Math.min(top - ribbon - 2, 12, Math.max(2.5, column / (this.control ? 2 : 5)), this.control ? 12 : 7)
    const middle = this.control ? (ribbon + top) / 2 : ribbon + 1 + size / 2
    const { norms, out } = this.panel.blocks[index]
    const isGone = this.control && !norms.length && !out
    pen.fillStyle = hues.norm
    pen.strokeStyle = ink
    for (const slot of isGone ? ["in"] : norms) {
      const x = this.control ? body / 2 : SLOT_SHARES[slot] * body
      pen.beginPath()
      pen.moveTo(x, middle - size / 2)
      pen.lineTo(x + size / 2, middle)
      pen.lineTo(x, middle + size / 2)
      pen.lineTo(x - size / 2, middle)
      pen.closePath()
      pen.globalAlpha = isGone ? 0.5 : 1
      if (isGone) pen.stroke()
      else pen.fill()
      pen.globalAlpha = 1
    }
  }

  // The bar of a block's signal, upwards from the middle, or of its gradient, downwards. Its length is the share of the
  // value on its log scale. A non-finite value gets a full bar, red and hatched; 0 gets a stub.
  drawBar(pen, { body: width, top, half }, index, name) {
    const value = this.values[name][index]
    const direction = name === "act" ? -1 : 1
    const edge = top + half + direction
    const [low, high] = this.ranges[name]
    const isLost = !Number.isFinite(value)
    const share = isLost ? 1 : value > 0 ? (Math.log10(value) - low) / (high - low) : STUB_SHARE
    const size = Math.max(2, Math.min(1, share) * (half - 1))
    const y = direction < 0 ? edge - size : edge
    pen.fillStyle = isLost ? hues.red : value === 0 ? hues.grey : scaleColour(SCALES[name], share, this.dark)
    pen.fillRect(0, y, width, size)
    if (share > 1 && !isLost) this.drawArrow(pen, width / 2, edge + direction * size, Math.min(width, 9), direction)
    if (!isLost) return
    pen.save()
    pen.beginPath()
    pen.rect(0, y, width, size)
    pen.clip()
    pen.strokeStyle = "#ffffff"
    pen.lineWidth = 1.5
    pen.beginPath()
    for (let x = -size; x < width + size; x += 7) {
      pen.moveTo(x, y)
      pen.lineTo(x + size, y + size)
    }
    pen.stroke()
    pen.restore()
  }

  // An arrow at the edge, for a value beyond the scale.
  drawArrow(pen, x, tip, size, direction) {
    pen.fillStyle = "#ffffff"
    pen.beginPath()
    pen.moveTo(x, tip - 2 * direction)
    pen.lineTo(x + size / 2, tip - direction * (2 + size))
    pen.lineTo(x - size / 2, tip - direction * (2 + size))
    pen.fill()
  }

  drawPulses(pen, { column, perRow, rowHeight, head, top, half }, time) {
    const count = this.panel.blocks.length
    const share = (time / PULSE_SECONDS) % 1
    pen.globalCompositeOperation = "source-atop" // lights up the columns only
    for (let first = 0; first < count; first += perRow) {
      const width = Math.min(perRow, count - first) * column
      const rowTop = head + (first / perRow) * rowHeight
      for (const [part, y] of [
        [share, rowTop + top],
        [1 - share, rowTop + top + half],
      ]) {
        const x = (part * count - first) * column // beyond the row while the pulse is in another
        const left = Math.max(0, x - PULSE_HALF_WIDTH)
        const right = Math.min(width, x + PULSE_HALF_WIDTH)
        if (left >= right) continue
        const light = pen.createLinearGradient(x - PULSE_HALF_WIDTH, 0, x + PULSE_HALF_WIDTH, 0)
        light.addColorStop(0, "#ffffff00")
        light.addColorStop(0.5, "#ffffffb0")
        light.addColorStop(1, "#ffffff00")
        pen.fillStyle = light
        pen.fillRect(left, y, right - left, half)
      }
    }
    pen.globalCompositeOperation = "source-over"
  }

  // Copies the legend to the right of the columns. It is painted once per scale and size, on a canvas outside the page: to
  // set the font of a canvas inside it, the browser recomputes the page's styles.
  drawLegend(pen, area, ink, family) {
    const { width: canvasWidth, height } = this.canvas
    const left = Math.floor(area.width * devicePixelRatio)
    const key = JSON.stringify([
      ...[canvasWidth, height, devicePixelRatio, this.fontSize, this.dark],
      ...[this.ranges, area, ink, family],
    ])
    if (this.legendKey !== key) {
      this.legendKey = key
      Object.assign(this.legendCanvas, { width: canvasWidth - left, height })
      const legendPen = this.legendCanvas.getContext("2d")
      legendPen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, -left, 0)
      this.paintLegend(legendPen, area, ink, family)
    }
    pen.setTransform(1, 0, 0, 1, left, 0)
    pen.drawImage(this.legendCanvas, 0, 0)
  }

  // The name of each row; for signal and gradient also their colour scale and its ends.
  paintLegend(pen, { width, ribbon, top, half }, ink, family) {
    const { label, blocks, net } = this.panel
    const left = width + 6
    pen.textBaseline = "middle"
    const putText = (text, y, indent = 12, font = `${this.fontSize}px`) => {
      pen.font = `${font} ${family}`
      pen.fillStyle = ink
      pen.fillText(text, left + indent, y)
    }
    if (label) putText(label, ribbon / 2 + 2, 0, `bold ${1.35 * this.fontSize}px`)
    else {
      const isPicture = (part) => !net || net[part] === null // else its control has its name
      if (isPicture("residual") && blocks.some(({ skip }) => skip)) putText("residual", ribbon / 2)
      if (isPicture("norm") && blocks.some(({ norms }) => norms.length)) putText("norm", (ribbon + top) / 2)
    }
    for (const [name, title, y] of [
      ["act", "signal", top],
      ["grad", "gradient", top + half + 2],
    ]) {
      const [low, high] = this.ranges[name]
      for (let step = 0; step < LEGEND_STEPS; step++) {
        pen.fillStyle = scaleColour(SCALES[name], step / (LEGEND_STEPS - 1), this.dark)
        const offset = name === "act" ? 1 - step / LEGEND_STEPS : step / LEGEND_STEPS
        pen.fillRect(left, y + offset * (half - 6), LEGEND_BAR_PIXELS, half / LEGEND_STEPS + 1)
      }
      putText(title, y + half / 2)
      if (half < MIN_HALF_EMS_FOR_LIMITS * this.fontSize) continue
      const ends = powers(low, high)
      for (const exponent of new Set([ends[0], ends.at(-1)])) {
        const share = (exponent - low) / (high - low)
        const tickY = y + (name === "act" ? 1 - share : share) * (half - this.fontSize) + this.fontSize / 2
        if (Math.abs(tickY - (y + half / 2)) >= this.fontSize) putText(exponent ? power(exponent) : "1", tickY)
      }
    }
  }
}
