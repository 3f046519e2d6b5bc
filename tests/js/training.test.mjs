// What trains the runs of a page in its browser: what a worker is given and asked for, and whose messages are heard.

import assert from "node:assert/strict"
import { test } from "node:test"
import { BrowserTrainer } from "../../addnorm/player/training.js"

const workers = []
globalThis.Worker = class {
  told = []
  constructor() {
    workers.push(this)
  }
  postMessage(message) {
    this.told.push(message)
  }
  terminate() {}
}
globalThis.document = { hidden: false }
const logOf = (link) => ({
  link,
  heard: [],
  sentences: { brief: [[0, "of the server"]] },
  receive: (message) => logs[link].heard.push(message.kind),
})
const logs = Object.fromEntries(["task=digits", "task=book"].map((link) => [link, logOf(link)]))
const [digits, book] = Object.values(logs)

test("other runs get a worker with their own data", async () => {
  const shown = { data: "ink" }
  const trainer = new BrowserTrainer(
    async () => ({ script: "", kernels: "", ...shown }),
    () => {},
  )
  await trainer.open([digits])
  shown.data = "words"
  await trainer.open([book])
  const [first, second] = workers.splice(0)
  assert.deepEqual([first.told[0].data, second.told[0].data], ["ink", "words"])
  first.onmessage({ data: { run: 0, kind: "late" } })
  second.onmessage({ data: { run: 0, kind: "rows" } })
  assert.deepEqual([digits.heard, book.heard], [[], ["rows"]])
  second.onmessage({ data: { run: 0, kind: "header" } })
  assert.deepEqual(Object.keys(book.sentences), [])
})

test("a hidden tab wants no rows", async () => {
  const trainer = new BrowserTrainer(
    async () => ({ script: "", kernels: "" }),
    () => {},
  )
  trainer.request([digits], [7])
  await new Promise(setImmediate)
  document.hidden = true
  trainer.request([digits], [7])
  document.hidden = false
  trainer.request([digits], [7])
  assert.deepEqual(
    workers[0].told.map(({ wants }) => wants),
    [[7], [0], [7]],
  )
})
