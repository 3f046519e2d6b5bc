// The keys of the right edge of a net to break, and its rows.

import assert from "node:assert/strict"
import { test } from "node:test"

import { Control } from "../../addnorm/player/control.js"
import { StackPanel } from "../../addnorm/player/stack.js"

const place = { appendChild: (el) => el, prepend() {} }

const edgeOf = (depth, changed) => {
  globalThis.document = { createElement: () => ({ style: {}, setAttribute() {} }) }
  const control = new Control(place, changed, () => {})
  control.declare({ depth, residual: true, norm: true, out: [], own: null, most: 40, heard: 0 })
  return control.edge
}

// The depth that a key at the edge leads to, and whether the browser still does what it does with that key.
const after = (depth, pressed) => {
  let told = depth
  let isLeft = true
  const edge = edgeOf(depth, (net) => {
    told = net.depth
  })
  const setNow = globalThis.setTimeout
  globalThis.setTimeout = (task, delay) => delay < 1000 && task()
  edge.onkeydown({
    ...pressed,
    preventDefault() {
      isLeft = false
    },
    stopPropagation() {},
  })
  globalThis.setTimeout = setNow
  return [told, isLeft]
}

test("a key of the edge never scrolls the page, at no depth", () => {
  assert.deepEqual(after(4, { key: "PageDown" }), [1, false])
  assert.deepEqual(after(3, { key: "PageDown" }), [1, false])
  assert.deepEqual(after(1, { key: "ArrowLeft" }), [1, false])
  assert.deepEqual(after(39, { key: "PageUp" }), [40, false])
  assert.deepEqual(after(7, { key: "End" }), [40, false])
})

test("other keys at the edge are the browser's", () => {
  assert.deepEqual(after(7, { key: "ArrowLeft", altKey: true }), [7, true])
  assert.deepEqual(after(7, { key: "x" }), [7, true])
})

test("a net that is hidden, which has no width, has rows of blocks still", () => {
  globalThis.devicePixelRatio = 1
  const stack = Object.create(StackPanel.prototype)
  Object.assign(stack, { panel: { net: {}, blocks: [] }, control: { room: 40 }, measured: { width: 0, height: 474 } })
  Object.assign(stack, { fontSize: 11, canvas: { width: 0 }, row: { style: { setProperty() {} } } })
  assert.equal(stack.plotArea().perRow, 1)
})

test("a block says no numbers before its net's are here", () => {
  globalThis.document = { createElement: () => ({ setAttribute() {} }) }
  const group = { style: { setProperty() {} }, setAttribute() {}, classList: { toggle() {} } }
  const row = {
    children: [],
    replaceChildren(...buttons) {
      this.children = buttons
    },
  }
  const stack = Object.create(StackPanel.prototype)
  Object.assign(stack, { group, row, readout: {}, openedBlock: {}, scales: {}, shown: 0, hovered: null, focused: 0 })
  const declare = (count) => {
    const blocks = Array.from({ length: count }, (_, at) => ({ name: `block ${at + 1}`, block: at + 1, site: at + 1 }))
    stack.declare({ title: "Stack", height: 130, diagrams: [], fit: 0, blocks })
  }
  declare(1)
  stack.values = { act: [1], grad: [1] }
  declare(2)
  stack.pointAt(1)
  assert.equal(stack.readout.textContent, "")
})
