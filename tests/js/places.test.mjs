// Where things stand: samples on their way through the blocks, the names of rings and of lines.

import assert from "node:assert/strict"
import { test } from "node:test"
import { spread } from "../../addnorm/player/label.js"
import { placesAt, relativeSize, widestGap } from "../../addnorm/player/sample_paths.js"

const EDGE = 4
const JOURNEY = {
  size: [
    [2, 2],
    [1, 8],
    [null, 32],
  ],
  turn: [
    [3, 0.5],
    [-3, 0.5],
    [0, 0.5],
  ],
  in_plane: [
    [1, 1],
    [1, 0.5],
    [1, 1],
  ],
  edge: EDGE,
}
const near = (value, expected) => assert(Math.abs(value - expected) < 1e-3, `${value} is not ${expected}`)

test("a sample goes from block to block on the shorter way round, and its distance is its size", () => {
  const [first, between, second, third] = [0, 0.5, 1, 2].map((position) => placesAt(JOURNEY, position))
  const distance = ({ x, y }) => Math.hypot(x, y)
  for (const sample of first) near(distance(sample), 0.45) // the input's circle
  near(distance(second[0]), 0.45 / 2) // half the input's size, half its circle
  near(distance(second[1]), 0.45 + (0.55 * Math.log(4)) / Math.log(EDGE))
  assert(distance(third[0]) > 1 && distance(third[1]) > 1) // no number is outside
  near(between[0].x, -distance(between[0])) // through pi, not through 0
  assert.equal(between[1].inPlane, 0.75)
  near(relativeSize(JOURNEY, 1), Math.sqrt(32.5) / 2)
})

test("the rings are named where the samples leave the widest gap", () => {
  const gaps = [
    [[0, 1, 2], 1 + Math.PI],
    [[3, -1, -2], 1],
    [[1], 1 + Math.PI],
  ]
  for (const [turn, middle] of gaps) near(Math.cos(widestGap({ turn: [turn] }) - middle), 1)
})

test("names far from each other along the way stay at their lines", () => {
  const [first, second, third] = spread(
    [
      { x: 0.2, y: 0.5 },
      { x: 1, y: 0.5 },
      { x: 1, y: 0.5 },
    ],
    0.1,
  )
  assert.equal(first, 0.5)
  near(Math.abs(second - third), 0.1)
})
