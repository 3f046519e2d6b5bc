// What is drawn of a figure that is bound to a run: ranges, marks, thinned lines.

import assert from "node:assert/strict"
import { test } from "node:test"
import { decimate, fillFigure } from "../../addnorm/player/bind.js"
import { percentage } from "../../addnorm/player/number.js"
import { placeTicks } from "../../addnorm/player/ticks.js"
import { logRange, powers } from "../../addnorm/player/y_axis.js"
import { momentOf, runOf } from "./logs.mjs"

const BIND = { run: 0, seed: 0, fold: "", log: true, against: null }
const figureOf = (name, bind, layout) => ({
  data: [{ type: "scatter", name, text: ["x0", "b01", "b02"], bind: { ...BIND, ...bind } }],
  layout: { yaxis: {}, bind: layout },
})
const PROFILE = figureOf("step {step}", { kind: "row", track: "act_rms" }, { axis: "log" })
const LOSS = figureOf("training", { kind: "past", track: "loss" }, { axis: "loss", line: "line", chance: 2.3 })

test("a long line keeps both ends and every spike in 300 points", () => {
  for (const length of [301, 1000, 5003])
    for (const missing of [2, 10, 1000]) {
      const values = Float64Array.from({ length }, (_, at) => (at % missing === 1 ? NaN : Math.sin(at * at)))
      const [least, greatest] = [length >> 1, length >> 2]
      Object.assign(values, { 0: 0, [least]: -1e9, [greatest]: 1e9 })
      const places = decimate(values)
      assert(places.length <= 300 && places.includes(least) && places.includes(greatest))
      assert.deepEqual([places[0], places.at(-1)], [0, length - 1])
      assert(places.every((place, at) => !at || place > places[at - 1]))
    }
  assert.equal(decimate(new Float64Array(300)).length, 300)
})

test("an axis covers the data, spans two decades, never shrinks and has few ticks", () => {
  for (const previous of [null, [-2, 3], [-9.5, -7.5]])
    for (const values of [[1], [0.3, 7e4], [1e-30, 1e30], [0], [], [2e-5, 3e-5, 0]]) {
      const [low, high] = logRange(previous, values)
      assert(high - low >= 2)
      assert(values.every((value) => !value || (10 ** low < value && value < 10 ** high)))
      if (previous) assert(low <= previous[0] && high >= previous[1])
      assert.deepEqual(logRange([low, high], values), [low, high])
      const ticks = powers(low, high)
      assert(ticks.length >= 2 && ticks.length <= 7 && low <= ticks[0] && ticks.at(-1) <= high)
      assert.equal(new Set(ticks.slice(1).map((tick, at) => tick - ticks[at])).size, 1)
    }
})

test("ticks of blocks are both ends and round numbers", () => {
  const ticks = (depth, kinds = [""]) => {
    const blocks = Array.from({ length: depth }, (_, at) => String(at + 1))
    const labels = ["input", ...blocks.flatMap((block) => kinds.map(() => block))]
    const { tickvals, ticktext } = placeTicks({ labels })
    assert.deepEqual(
      ticktext,
      tickvals.map((place) => labels[place]),
    )
    assert.equal(tickvals.at(-1), labels.length - 1)
    return ticktext.slice(1).map(Number)
  }
  for (let depth = 1; depth <= 128; depth++) {
    const drawn = ticks(depth)
    const gaps = drawn.slice(0, -1).map((block, at) => block - (drawn[at - 1] ?? 0))
    assert(drawn.length <= 6 && drawn.at(-1) === depth)
    assert.equal(new Set(gaps).size, Math.min(1, gaps.length), `uneven: ${drawn}`)
    assert(!gaps.length || [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 50].includes(gaps[0]))
    assert.deepEqual(ticks(depth, ["attn", "ffn"]), drawn)
  }
  assert.deepEqual(ticks(6), [2, 4, 6])
  const layers = ["input", ...Array.from({ length: 10 }, (_, at) => `layer ${at + 1}`)]
  assert.deepEqual(placeTicks({ labels: layers }).tickvals, [0, 2, 4, 6, 8, 10])
  assert.deepEqual(ticks(32), [8, 16, 24, 32])
  assert.deepEqual(ticks(110), [25, 50, 75, 110])
})

test("ticks of named places leave equal gaps", () => {
  const ticks = (count) =>
    placeTicks({ labels: Array.from({ length: count }, (_, at) => `1e-${at + 2}`) }).tickvals.map(Number)
  assert.deepEqual(ticks(6), [0, 1, 2, 3, 4, 5])
  for (let count = 1; count <= 49; count++) {
    const drawn = ticks(count)
    const gaps = new Set(drawn.slice(1).map((place, at) => place - drawn[at]))
    assert(drawn.length <= 6 && drawn[0] === 0 && drawn.at(-1) === count - 1)
    if ([3, 4, 5].some((parts) => (count - 1) % parts === 0)) assert.equal(gaps.size, Math.min(1, count - 1))
  }
})

test("no guide strikes through an empty chart's note", () => {
  for (const guide of [-1, 0, 0.9, 2.3]) {
    const bind = { guides: [guide] }
    const { layout } = fillFigure(
      { data: [], layout: { yaxis: { range: [-2.3, 2.3] }, bind } },
      momentOf(runOf([1])),
      {},
    )
    const [{ text, y }] = layout.annotations
    assert.equal(text, "not trained yet")
    assert(Math.abs((guide + 2.3) / 4.6 - y) > 0.1)
  }
})

test("a share beside its bar has at most six letters", () => {
  const shown = {
    0: "0%",
    4.2e-11: "<0.01%",
    7.5e-6: "<0.01%",
    1e-4: "0.01%",
    3.4e-4: "0.03%",
    0.0075: "0.75%",
    0.124: "12%",
    1: "100%",
  }
  for (const [share, text] of Object.entries(shown)) assert.equal(percentage(Number(share)), text)
  for (let power = -14; power <= 0; power += 0.01) assert(percentage(10 ** power).length <= 6)
})

test("zero and what is not finite are marked at the edges of a log axis", () => {
  const { data, layout } = fillFigure(PROFILE, momentOf(runOf([3, 1, 0, Infinity])), {})
  const [line, zero, lost] = data
  const [low, high] = layout.yaxis.range
  assert.deepEqual([line.name, line.y], ["step 0", [1, null, null]])
  assert.deepEqual([zero.name, zero.x, zero.customdata, zero.text], ["exactly 0", [1], ["0"], ["b01"]])
  assert.deepEqual([lost.name, lost.x, lost.customdata], ["not finite", [2], ["inf"]])
  assert(10 ** low < zero.y[0] && zero.y[0] < 10 ** (low + 0.1))
  assert(10 ** (high - 0.1) < lost.y[0] && lost.y[0] < 10 ** high)
})

// A run that lies beside that of a page, and the figure of both.
const withBeside = (...rows) => {
  const beside = Object.assign(runOf(...rows), { beside: true })
  const bind = { ...PROFILE.data[0].bind, run: 1 }
  const previous = { name: "previous: plain, step {step}", role: "previous", bind }
  return [beside, { ...PROFILE, data: [...PROFILE.data, previous] }]
}

test("a log axis holds a run beside while it is drawn", () => {
  const state = {}
  const now = runOf([3, 1, 10, 100])
  const [beside, both] = withBeside([3, 1, 1e6, 1e12])
  const moment = { ...momentOf(now), logs: [now, beside] }
  const rangeOf = (figure) => fillFigure(figure, moment, state).layout.yaxis.range
  const alone = rangeOf(PROFILE)
  const { data, layout } = fillFigure(both, moment, state)
  assert.deepEqual(data.find(({ name }) => name === "previous: plain, step 0").y, [1, 1e6, 1e12].map(Math.fround))
  assert(layout.yaxis.range[0] <= alone[0] && layout.yaxis.range[1] > 12)
  assert.deepEqual(rangeOf(PROFILE), alone)
})

test("a run beside is drawn at the playhead, or says where it ended", () => {
  const now = runOf([3, 1, 10, 100], [3, 2, 20, 200], [3, 3, 30, 300])
  const [beside, both] = withBeside([3, 4, 5, 6], [3, 7, 8, 9])
  const shownAt = (step) => {
    const moment = momentOf(now, { shown: step, position: step })
    const { data } = fillFigure(both, { ...moment, logs: [now, beside] }, {})
    return data.filter(({ name }) => name !== "step {step}").map(({ name, y }) => [name, ...y])
  }
  assert.deepEqual(shownAt(1)[1], ["previous: plain, step 1", 7, 8, 9])
  assert.deepEqual(shownAt(2)[1], ["previous: plain: ended at step 1", null])
})

test("a line of the net before training stays where the playhead moves", () => {
  const log = runOf([3, 1, 10, 100], [3, 2, 20, 200])
  const first = figureOf("", { kind: "row", track: "act_rms", first: true }, { axis: "log" })
  for (const shown of [0, 1])
    assert.deepEqual(fillFigure(first, momentOf(log, { shown, position: shown }), {}).data[0].y, [1, 10, 100])
})

test("an axis that has grown never shrinks", () => {
  const [log, memory] = [runOf([3, 1, 10, 1e6], [3, 1, 1, 1]), {}]
  const [first, second] = [0, 1].map(
    (shown) => fillFigure(PROFILE, momentOf(log, { shown, position: shown }), memory).layout.yaxis.range,
  )
  assert.deepEqual(first, second)
  assert(first[1] > 6)
})

const RATIO = figureOf("a line", { kind: "row", track: "act_rms", over: "act_rms" }, { axis: "linear", guides: [0] })
const SHARE = figureOf("a line", { kind: "row", track: "loss", over: "act_rms" }, { axis: "linear", guides: [0] })

test("a ratio goes element by element as far as both go, and moves with the playhead", () => {
  const log = runOf([1, 2, 4, 9], [16, 4, 4, 4])
  const at = (position) => fillFigure(SHARE, momentOf(log, { position, shown: Math.floor(position) }), {}).data[0]
  assert.deepEqual([at(0).x, at(0).y, at(7).y], [[0], [0.5], [4]])
  assert(Math.abs(at(0.5).y[0] - Math.SQRT2) < 1e-6)
  assert.deepEqual(fillFigure(SHARE, momentOf(runOf()), {}).data, [])
})

test("where nobody names the places of a line they are numbered", () => {
  const unnamed = { ...PROFILE, data: PROFILE.data.map(({ text: _, ...trace }) => trace) }
  assert.deepEqual(fillFigure(unnamed, momentOf(runOf([3, 1, 2, 3])), {}).data[0].text, ["site 0", "site 1", "site 2"])
})

test("a linear axis has 0 and all values with room and never shrinks", () => {
  const values = figureOf("a line", { kind: "row", track: "act_rms" }, { axis: "linear", guides: [0] })
  const [log, memory] = [runOf([1, 0, 0, 0], [1, 0.5, -1, 0], [1, 1, 1, 1]), {}]
  const [nothing, first, then] = [0, 1, 2].map(
    (shown) => fillFigure(values, momentOf(log, { shown, position: shown }), memory).layout.yaxis.range,
  )
  assert.deepEqual(nothing, [-0.03, 1.05])
  assert.deepEqual(
    first.map((end) => end.toFixed(2)),
    ["-1.09", "0.59"],
  )
  assert.deepEqual(
    then.map((end) => end.toFixed(2)),
    ["-1.12", "1.12"],
  )
})

test("what has no value is marked at the lower edge of a linear axis", () => {
  const { data, layout } = fillFigure(RATIO, momentOf(runOf([3, 0, 2, 4])), {})
  const [line, lost] = data
  assert.deepEqual(line.y, [null, 1, 1])
  assert.deepEqual([lost.name, lost.text, lost.customdata], ["no value", ["x0"], ["nan"]])
  assert.deepEqual(lost.y, [layout.yaxis.range[0]])
})

test("a line over the steps ends at the furthest and has the step shown exactly", () => {
  const rows = Array.from({ length: 4000 }, (_, row) => [1 + ((row * 7919) % 1000) / 1000, 0, 0, 0])
  const { data, layout } = fillFigure(
    LOSS,
    momentOf(runOf(...rows), { position: 1234, shown: 1234, furthest: 2999 }),
    {},
  )
  const [{ x, y }] = data
  assert(x.length <= 301)
  assert.deepEqual([x[0], x.at(-1)], [0, 2999])
  assert.equal(y[x.indexOf(1234)], Math.fround(rows[1234][0]))
  assert.deepEqual(
    layout.shapes.map((shape) => shape.x0),
    [1234],
  )
})

test("a loss above the axis is marked at its edge", () => {
  const log = runOf([3, 0, 0, 0], [606, 0, 0, 0], [2, 0, 0, 0])
  const { data, layout } = fillFigure(LOSS, momentOf(log, { position: 2, shown: 2, furthest: 2 }), {})
  const [line, beyond] = data
  const top = layout.yaxis.range[1]
  assert.equal(line.name, "training")
  assert.deepEqual([beyond.name, beyond.mode, beyond.x], ["beyond the axis", "markers", [1]])
  assert(line.y[1] > top && top > beyond.y[0] && beyond.y[0] > 3)
})

test("a held-out loss has room or a mark", () => {
  const frames = { bind: { ...BIND, kind: "frames", track: "held_out_loss" }, type: "scatter", name: "held-out" }
  const drawn = (layout, ...heldOut) => {
    const log = runOf([3, 0, 0, 0], [2, 0, 0, 0], [1, 0, 0, 0])
    log.receive({ kind: "frames", seed: 0, frames: heldOut.map((value, step) => ({ step, held_out_loss: value })) })
    const figure = { data: [...LOSS.data, frames], layout: { ...LOSS.layout, bind: layout } }
    return fillFigure(figure, momentOf(log, { position: 2, shown: 2, furthest: 2 }), {})
  }
  const { data, layout } = drawn(LOSS.layout.bind, 4, 5, 3)
  assert.deepEqual([data.length, layout.yaxis.range], [2, [0, 5 * 1.08]])
  for (const axis of [LOSS.layout.bind, { axis: "", top: 6 }]) {
    const [, , beyond] = drawn(axis, 4, 50, 3).data
    assert.deepEqual([beyond.name, beyond.x, beyond.customdata, beyond.y.length], ["beyond the axis", [1], ["50"], 1])
  }
})
