// Ticks and names on axes over places: sites, blocks, the model's own modules. Pure.

import { commonPrefix, shorten } from "./names.js"

const MAX_MAP_SITES = 150

// Up to `max` evenly spaced indices below `count`, with both ends.
export const spacedIndices = (count, max) => {
  const points = Math.min(count, max)
  return Array.from({ length: points }, (_, i) => Math.round((i * (count - 1)) / Math.max(1, points - 1)))
}

// The rows of a map: which sites are drawn (`y`), their names in full and without the common prefix.
export const mapRows = (names) => {
  const y = spacedIndices(names.length, MAX_MAP_SITES)
  const { titleSuffix, shortNames } = stripPrefix([names])
  return { y, titleSuffix, fullNames: y.map((site) => names[site]), names: y.map((site) => shortNames[0][site]) }
}
// Lists of names without their common prefix, and the prefix as words for the title of the axis.
const stripPrefix = (lists) => {
  const prefix = commonPrefix(lists)
  const isShared = lists.flat().every((name) => name.startsWith(prefix))
  const titleSuffix = prefix && `${isShared ? "" : ", mostly"} in ${shorten(prefix.slice(0, -1), 40)}`
  const strip = (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name)
  return { titleSuffix, shortNames: lists.map((names) => names.map(strip)) }
}

// An x axis over depth: some names of places, or shares of the depth if the logs have different places. Traces of
// recordings get `names` without the common prefix.
export const depthAxis = (traces, logs, declared) => {
  const drawn = traces.filter((trace) => trace.values?.length)
  const recorded = drawn.filter((trace) => logs[trace.bind.run]?.isRecording)
  const { titleSuffix, shortNames } = stripPrefix(recorded.map((trace) => trace.text))
  for (const [index, trace] of recorded.entries()) trace.names = shortNames[index]
  const title = { ...declared.title, text: declared.title.text + titleSuffix }
  const names = recorded[0]?.names ?? []
  const samePlaces =
    drawn.every((trace) => trace.values.length === drawn[0].values.length) &&
    recorded.every((trace) => String(trace.names) === String(names))
  if (samePlaces) return { title, ...depthTicks(names) }
  for (const trace of drawn) trace.x = trace.x.map((place) => place / Math.max(1, trace.x.length - 1))
  return { title, tickvals: [0, 0.5, 1], ticktext: ["first", "middle", "last"], tickmode: "array" }
}

// Evenly spaced block numbers: a step that divides the last block, or else a round one.
const DIVIDING_STEPS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32]
const ROUND_STEPS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000]
const MAX_BLOCK_STEPS = 5 // on an axis

// The places of ticks among names that count blocks: the first, the last, and the last place of each even number between.
const blockPlaces = (names) => {
  const lastPlaces = new Map(names.map((name, place) => [name, place]))
  const last = countOf(names.at(-1))
  const fits = (step) => last / step <= MAX_BLOCK_STEPS
  const step =
    DIVIDING_STEPS.find((size) => fits(size) && last % size === 0 && last / size > 2) ?? ROUND_STEPS.find(fits)
  const isEven = (number) => number % step === 0 && number >= step / 2 && last - number >= step / 2
  const between = [...lastPlaces].filter(([name]) => isEven(countOf(name))).map(([, place]) => place)
  return [...new Set([lastPlaces.get(names[0]), ...between, names.length - 1])]
}
// The number at the end of a name such as "3" or "layer 3".
const countOf = (name) => Number(/^\D*(\d{1,5})$/.exec(name)?.[1] ?? Number.NaN)
// Whether names count on by one, but for what comes before the first: "input", "layer 1", "layer 2".
const doCount = (names) => {
  const counts = [...new Set(names)].map(countOf)
  const last = counts.length - 1
  return (
    last > 0 &&
    counts.every((count, i) => (i === 0 && last > 1 && Number.isNaN(count)) || count === counts[last] - last + i)
  )
}

// Horizontal tick labels: block numbers, or five while all names are short, else three, the outer ones inside the ends.
// Near those places it prefers the name of a block to that of one of its parts: 0, 2, 5 instead of 0.attn, 2, 5.attn.
const depthTicks = (names) => {
  if (doCount(names)) return namedTicks(names, blockPlaces(names), 5)
  if (names.every((name) => name.length < 5)) return namedTicks(names, spacedIndices(names.length, 5), 4)
  const blockNear = (i) => [i + 1, i - 1].find((near) => names[i].startsWith(`${names[near]}.`)) ?? i
  const places = [0.12, 0.5, 0.88].map((share) => blockNear(Math.round(share * (names.length - 1))))
  return namedTicks(names, [...new Set(places)], 12)
}
const namedTicks = (names, indices, maxLetters) => ({
  tickmode: "array",
  tickvals: indices,
  ticktext: indices.map((i) => shorten(names[i], maxLetters)),
})

// How many of `count` places have a tick: about `max`, such that all gaps are equal where that can be.
const tickCount = (count, max) =>
  [max, max + 1, max - 1, max - 2].find((ticks) => ticks > 2 && (count - 1) % (ticks - 1) === 0) ?? max

// Ticks at a few places, with both ends. A repeated label stands at its last place.
export const placeTicks = ({ labels, max_ticks: maxTicks = 5 }) => {
  const lastPlaces = new Map(labels.map((label, place) => [label, place]))
  const distinct = [...lastPlaces.values()]
  const tickvals = doCount(labels)
    ? blockPlaces(labels)
    : spacedIndices(distinct.length, tickCount(distinct.length, maxTicks)).map((i) => distinct[i])
  return { tickmode: "array", tickvals, ticktext: tickvals.map((place) => labels[place]) }
}

// The ticks of a y axis over places: declared ones, or the names of a map's sites.
export const rowTicks = (rows, traces, declaredAxis) => {
  if (rows) return { ...placeTicks(rows), ...declaredAxis }
  const map = traces.find((trace) => trace.z && trace.names)
  if (!map) return {}
  const indices = spacedIndices(map.names.length, 6)
  return {
    ...namedTicks(map.names, indices, 18),
    tickvals: indices.map((i) => map.y[i]),
    title: { ...declaredAxis.title, text: declaredAxis.title.text + map.titleSuffix },
  }
}
