// How long a page scrolls to the part that its address names.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { runInNewContext } from "node:vm"

const SCRIPT = readFileSync(new URL("../../components/shell/parts.js", import.meta.url), "utf8")

// Opens a page at `#loss` whose part `placeOf` puts somewhere at a millisecond, if anywhere, and waits; what it did.
const opened = (placeOf, milliseconds) => {
  let now = 0
  let look
  const scrolls = []
  const part = {
    id: "loss",
    checkVisibility: () => true,
    matches: () => false,
    closest: () => null,
    getBoundingClientRect: () => ({ top: placeOf(now) }),
  }
  const pane = {
    scrollTop: 0,
    scrollHeight: 100_000,
    clientHeight: 0,
    scrollTo: ({ top }) => scrolls.push(top),
    querySelectorAll: () => (placeOf(now) === undefined ? [] : [part]),
  }
  const window = { addEventListener: () => {} }
  runInNewContext(SCRIPT, {
    window,
    history: { pushState() {}, replaceState() {} },
    location: new URL("http://app/playground#loss"),
    document: { querySelector: (selector) => (selector.includes("stMain") ? pane : null) },
    getComputedStyle: () => ({ scrollPaddingTop: "0px" }),
    performance: { now: () => now },
    setInterval: (repeated) => {
      look = repeated
      return 1
    },
    clearInterval: () => {
      look = undefined
    },
    URL,
    AbortController,
  })
  for (; now < milliseconds && look; now += 100) look()
  return { scrolls, ends: now, looks: Boolean(look) }
}

test("a page scrolls to a part again while it moves", () => {
  const { scrolls, ends, looks } = opened((now) => (now < 20_000 ? undefined : Math.min(now, 28_000)), 60_000)
  assert.deepEqual([scrolls[0], scrolls.at(-1), scrolls.length], [20_000, 28_000, 81])
  assert(!looks && ends > 33_000 && ends < 34_000)
})

test("a part that never comes is given up", () => {
  const { scrolls, looks } = opened(() => undefined, 120_000)
  assert.deepEqual([scrolls, looks], [[], false])
})

test("a part that goes is waited for again", () => {
  const { scrolls, looks } = opened((now) => (now < 1000 ? 10 : now < 30_000 ? undefined : 50), 60_000)
  assert.deepEqual([scrolls, looks], [[10, 50], false])
  assert.equal(opened((now) => (now < 1000 ? 10 : undefined), 120_000).looks, false)
})
