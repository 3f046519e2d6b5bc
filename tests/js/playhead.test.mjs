// The playhead, second by second.

import assert from "node:assert/strict"
import { test } from "node:test"
import { extentOf, Playhead, SPEEDS } from "../../addnorm/player/playhead.js"

// Sixty frames a second of a playhead over logs whose lengths are a function of the time.
const play = (lengths, { last = 300, seconds = 10, speed = "full speed" } = {}) => {
  const head = new Playhead(last, speed)
  head.play(0)
  const places = Array.from({ length: seconds * 60 }, (_, frame) => {
    const time = (frame + 1) / 60
    head.tick(time, extentOf(lengths(time)))
    return head.position
  })
  return { head, places, moves: places.slice(1).map((place, at) => place - places[at]) }
}
const whole = (length) => () => [{ length, isOver: true }]

test("a finished run is played in six to ten seconds at an even pace", () => {
  const { head, places } = play(whole(301))
  const end = places.indexOf(300)
  assert(6 <= end / 60 && end / 60 <= 10)
  const moves = places.slice(1, end).map((place, at) => place - places[at])
  assert(Math.max(...moves) < 1.01 * Math.min(...moves))
  assert.deepEqual([head.playing, head.ended, head.shown], [false, true, 300])
})

test("a short run is no slow motion", () => {
  const end = play(whole(41), { last: 40 }).places.indexOf(40) / 60
  assert(0.9 < end && end < 1.3)
})

test("rows that come in bursts are shown at an even pace: ten every half a second", () => {
  const lengths = (time) => [{ length: 10 * Math.floor(time * 2) + 10, isOver: false }]
  const { places, moves } = play(lengths, { last: 3000, seconds: 12 })
  const later = moves.slice(4 * 60)
  assert(Math.min(...later) > 0)
  assert(Math.max(...later) < (3.5 * later.reduce((sum, move) => sum + move, 0)) / later.length)
  for (const [frame, place] of places.entries())
    if (frame >= 240) assert(10 * Math.floor((frame + 1) / 30) + 9 - place < 30) // a second and a half of rows
})

test("a playhead never passes the rows that are there", () => {
  const lengths = (time) => [{ length: Math.floor(time * 3 + 1e-9), isOver: false }]
  const { head, places } = play(lengths, { seconds: 5, speed: "25 steps/s" })
  for (const [frame, place] of places.entries())
    assert(place <= Math.max(0, Math.floor(((frame + 1) / 60) * 3 + 1e-9) - 1))
  assert(head.playing)
})

test("the slowest run that goes on sets the pace, and one that has ended holds nobody back", () => {
  const runs = [
    { length: 5, isOver: true },
    { length: 80, isOver: false },
    { length: 40, isOver: false },
  ]
  assert.deepEqual(extentOf(runs), { playable: 39, isOver: false })
})

test("when all runs have ended the playhead stops at the longest end", () => {
  const runs = [
    { length: 5, isOver: true },
    { length: 80, isOver: true },
  ]
  assert.deepEqual(extentOf(runs), { playable: 79, isOver: true })
  const { head } = play(() => runs, { seconds: 4 })
  assert.deepEqual([head.shown, head.ended, head.playing], [79, true, false])
})

test("a slow playhead asks for a few seconds of rows and a resting one for none", () => {
  const { head } = play(() => [{ length: 301, isOver: false }], { seconds: 2, speed: "5 steps/s" })
  assert(10 < head.rowsWanted() && head.rowsWanted() <= 10 + 5 * 6 + 2)
  const resting = new Playhead(9)
  assert.equal(resting.rowsWanted(), 0)
  resting.seek(3)
  assert.equal(resting.rowsWanted(), 4)
})

test("play from the end begins again", () => {
  for (const end of [9, 4]) {
    const head = new Playhead(9)
    head.seek(end)
    head.play(0)
    head.tick(0, { playable: end, isOver: true })
    assert.deepEqual([head.position, head.playing], [0, true])
  }
})

test("it stops at the first step that reaches the loss, and not again at an earlier one", () => {
  const losses = [3, 2, 1, 0.5, 2, 0.4]
  const stopped = ({ before = 0, length = 6, target = 1 }) => {
    const head = new Playhead(9)
    head.play(0)
    head.position = 5
    return [head.stopAt(before, length, target, (row) => losses[row]), head.playing, head.shown]
  }
  assert.deepEqual(stopped({}), [2, false, 2])
  assert.deepEqual(stopped({ before: 3 }), [5, false, 5])
  assert.deepEqual(stopped({ before: 3, length: 5 }), [null, true, 5])
  assert.deepEqual(stopped({ target: 0 }), [null, true, 5])
})

test("time in which a page was hidden or paused is not caught up", () => {
  const head = new Playhead(900, "25 steps/s")
  const ended = { playable: 900, isOver: true }
  head.play(0)
  head.tick(1000, ended)
  const hidden = head.shown
  assert(hidden < 25)
  head.pause()
  head.play(2000)
  head.tick(2000.1, ended)
  assert(head.shown <= hidden + 3)
})

test("a run that is computed again moves nobody back", () => {
  const head = new Playhead(9)
  head.seek(7)
  head.play(0)
  head.tick(1, { playable: 2, isOver: false })
  assert.equal(head.shown, 7)
})

test("whatever is pressed, the row stays on the run and the request within it", () => {
  let seed = 1
  const random = (most) => {
    seed = (seed * 48271) % 2147483647
    return seed % most
  }
  const moves = ["play", "play", "pause", "step", "reset", "seek", "speed", ...Array(6).fill("tick")]
  for (let walk = 0; walk < 40; walk++) {
    const last = 1 + random(199)
    const head = new Playhead(last)
    let now = 0
    for (let deed = 0; deed < 40; deed++) {
      const [move, number] = [moves[random(moves.length)], random(410) - 10]
      now += random(300) / 100
      if (move === "tick") head.tick(now, { playable: Math.min(number, last), isOver: random(2) > 0 })
      else if (move === "play") head.play(now)
      else if (move === "speed") head.speed = Object.keys(SPEEDS)[random(4)]
      else head[move](number)
      const wanted = head.rowsWanted()
      assert(0 <= head.shown && head.shown <= head.furthest && head.furthest <= head.last)
      assert(0 <= wanted && wanted <= last + 1 && (wanted > head.shown || !head.shown))
    }
  }
})
