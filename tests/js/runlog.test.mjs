// The log of a run: rows in any pieces, numbers between rows, sentences.

import assert from "node:assert/strict"
import { test } from "node:test"
import { RunLog } from "../../addnorm/player/runlog.js"
import { runOf } from "./logs.mjs"

test("a log takes rows in any pieces and never past a gap", () => {
  const log = runOf([3, 1, 10, 0], [2, 100, 1000, 5])
  log.setRows(4, Float32Array.of(9, 9, 9, 9))
  log.setRows(1, Float32Array.of(2, 100, 1000, 5, 1, 1, 1, 1))
  assert.deepEqual([log.length, log.number("loss", 2), [...log.vector("act_rms", 1)]], [3, 1, [100, 1000, 5]])
})

test("between two rows points move by factors, and a zero stays until the next row", () => {
  const [first, second, third] = runOf([3, 1, 10, 0], [2, 100, 1000, 5]).vector("act_rms", 0.5)
  assert(Math.abs(first - 10) < 1e-5 && Math.abs(second - 100) < 1e-4)
  assert.equal(third, 0)
})

test("a sentence holds until the next and has the numbers of the row shown", () => {
  const log = runOf([3, 0, 0, 0], [2.5, 0, 0, 0], [1.23456, 0, 0, 0])
  const loss = [
    [0, "Step {step}: loss {loss}."],
    [2, "Step {step}: loss {loss}; it learns."],
  ]
  log.receive({ kind: "sentences", sentences: { loss } })
  const sentences = [0, 1, 2].map((row) => log.sentence("loss", row))
  assert.deepEqual(sentences, ["Step 0: loss 3.", "Step 1: loss 2.5.", "Step 2: loss 1.23; it learns."])
})

test("a run is lost when all of its seeds are", () => {
  const log = new RunLog({ link: "", seeds: 2, last: 9 })
  const lost = [[], [null, null], [{ step: 1 }, null], [{ step: 1 }, { step: 3 }]].map((outcomes) => {
    log.setState({ ...log.state, outcomes })
    return log.hasDiverged
  })
  assert.deepEqual(lost, [false, false, false, true])
})
