// The sentences about a row of a recording, which hold for any net. Twin of addnorm/words.py and addnorm/law.py.

import { brief } from "./tape.js"

const LEVEL = 2 // a factor below which a change is none, over depth and from site to site
const NEAR = 0.25 // how far, as a share, the rates of signal and gradient may differ and still be the same
const [FEWEST, SAME, TREND, CLEAR, STILL] = [4, 1.2, 1.02, 1.5, 1.01]
const [POOR, APART, SURE, SMALLEST] = [0.045, 1.25, 2, 1e-140]

const LIKE = {
  "pre-norm": "every branch adds about as much as the one before",
  "post-norm": "the stream has the same size after every sum",
  "residual only": "every branch adds in proportion to the stream",
  ReZero: "the branches add almost nothing yet",
  plain: "the size is a product over the layers",
  "plain + norm": "the size stays, and the gradient is a product over the layers",
}

const [PAUSE, PAUSES] = [60, 10] // a row is late after so many seconds, and so many times the mean time from row to row
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/

const ENDED = { done: "ended", error: "ended by", recorder: "the recorder gave up:" }

const measured = (values) => values.filter((value) => value !== undefined)
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1)

const lost = (tape, row) => {
  const found = tape.lostAt(row)
  return found && found.what !== "loss" ? found : null
}

const changeInWords = (name, start, end, path) => {
  if (start === 0 && end === 0) return `${name} is exactly 0 at both ends`
  if (start === 0 || end === 0) return `${name} ${start === 0 ? "starts at" : "falls to"} exactly 0 ${path}`
  const factor = Math.max(start / end, end / start)
  if (factor < LEVEL) return `${name} stays within a factor of ${brief(factor)} ${path}`
  return `${name} ${end > start ? "grows" : "falls"} by a factor of ${brief(factor)} ${path}`
}

const changes = (act, grad) => [
  ...(act.length > 1 ? [changeInWords("the stream", act[0], act.at(-1), "over depth")] : []),
  ...(grad.length > 1 ? [changeInWords("its gradient", grad.at(-1), grad[0], "on the way back")] : []),
]

const verdict = (tape, row) => {
  if (!tape.sites.length) return "No sites: only loss and weights were recorded."
  const found = lost(tape, row)
  if (found) return `Not finite: the ${found.what} of step ${tape.step(row)} first at ${tape.sites[found.site].name}.`
  const [act, grad] = [measured(tape.at("act_rms", row)), measured(tape.at("grad_rms", row))]
  const said = changes(act, grad)
  if (!said.length) return "Too little was measured for a verdict."
  return `${capital(said.join(", "))}${grad.length ? "" : "; no gradient was measured"}.`
}

// From site to site of a stream, where both are measured and finite: the name of the second, and both sizes.
const fromSiteToSite = (sites, values) => {
  const steps = []
  const finite = (value) => value >= 0 && value < Infinity
  let before
  for (const [at, { kind, name }] of sites.entries()) {
    if (kind === "start") before = undefined
    if (values[at] === undefined) continue
    if (finite(before) && finite(values[at])) steps.push({ site: name, start: before, end: values[at] })
    before = values[at]
  }
  return steps
}

const factorOf = ({ start, end }) => (start === end ? 1 : Math.max(start / end, end / start))

const jumpInWords = (what, where, steps) => {
  const most = steps.reduce((one, other) => (factorOf(other) > factorOf(one) ? other : one), { start: 0, end: 0 })
  const { site, start, end } = most
  if (factorOf(most) < LEVEL) return []
  if (!start || !end) return [`${what} ${start ? "falls to" : "rises from"} exactly 0 ${where} ${site}`]
  return [`${what} ${end > start ? "grows" : "falls"} most ${where} ${site}, by a factor of ${brief(factorOf(most))}`]
}

// Where stream and gradient change most from one site to the next.
const jumps = (tape, row) => {
  const steps = (track) => fromSiteToSite(tape.sites, tape.at(track, row))
  const back = steps("grad_rms").reverse()
  const turned = back.map(({ site, start, end }) => ({ site, start: end, end: start }))
  const said = [
    ...jumpInWords("the stream", "at", steps("act_rms")),
    ...jumpInWords("the gradient", "on the way back through", turned),
  ]
  return said.length ? `${capital(said.join("; "))}.` : ""
}

const firstLost = ({ first, sites, steps }) => {
  if (!first) return ""
  const step = steps[first.row]
  if (first.what === "loss") return `The first number that is not finite is the loss of step ${step}.`
  return `The first number that is not finite is the ${first.what} at ${sites[first.site].name} in step ${step}.`
}

const updates = (tape, row) => {
  const frame = tape.frame(tape.step(row))
  const known = [...(frame?.update_to_weight ?? []).entries()].filter(
    ([, size]) => size !== undefined && !Number.isNaN(size),
  )
  if (!known.length) return ""
  const [block, size] = known.reduce((most, one) => (one[1] > most[1] ? one : most))
  return `The update of step ${frame.step} changed ${tape.blocks[block].name} most, by ${brief(100 * size)}% of its size.`
}

const weights = (tape, row) => {
  const values = measured(tape.at("weight_grad_rms", row))
  if (values.some((value) => !Number.isFinite(value))) return "Some blocks' weight gradients are not finite."
  const alive = values.filter((value) => value > 0)
  if (!alive.length) return values.length ? "No block's weights receive a gradient." : ""
  const far = brief(Math.max(...alive) / Math.min(...alive))
  const none = values.length - alive.length
  const rest = none ? `; ${none} of ${values.length} receive none` : ""
  return `The largest of the blocks' weight gradients is ${far} times the smallest${rest}.`
}

const duration = (seconds) => {
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 48 * 3600 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} days`
}

// Whether a recording grows, has ended, or has stopped without its last line. `now`: seconds since 1970.
export const howItStands = ({ ended, header, problem, seconds, count }, now) => {
  if (ended) return `${ENDED[ended.end]}${ended.end === "done" ? "" : ` ${ended.reason}`}`
  const { created } = header.said
  const silent = now - (UTC_TIME.test(created) ? Date.parse(created) / 1000 : NaN) - seconds
  if (problem || !Number.isFinite(silent)) return "not ended"
  if (silent <= Math.max(PAUSE, (PAUSES * seconds) / Math.max(1, count))) return "growing"
  return `no row for ${duration(silent)}: paused or killed`
}

// --- growth laws ---

const straight = (y, weights) => {
  const whole = weights.reduce((sum, one) => sum + one, 0)
  const mean = (values) => values.reduce((sum, value, at) => sum + weights[at] * value, 0) / whole
  const x = y.map((_, at) => at)
  const [mx, my] = [mean(x), mean(y)]
  const slope = mean(y.map((value, at) => (at - mx) * (value - my))) / mean(x.map((at) => (at - mx) ** 2))
  return [my - slope * mx, slope]
}

const residual = (logs, fitted) =>
  Math.sqrt(logs.reduce((sum, log, at) => sum + (fitted[at] - log) ** 2, 0) / logs.length)

// The residual of the law that a power of the values grows by the same amount from site to site; infinite if none does.
const grown = (values, power) => {
  const most = Math.max(...values) // a scale that keeps the powers finite
  const powers = values.map((value) => Math.max((value / most) ** power, SMALLEST))
  const [start, gain] = straight(
    powers,
    powers.map((one) => 1 / one ** 2),
  )
  if (!(gain > 0)) return Infinity
  const fitted = powers.map((_, at) => Math.log(Math.max(start + gain * at, SMALLEST)) / power + Math.log(most))
  return residual(values.map(Math.log), fitted)
}

// The growth law of values over depth: constant, slight, root, linear, exponential or none. `rate`: the factor per site.
const lawOf = (values) => {
  if (values.length < FEWEST || values.some((value) => !(value > 0) || !Number.isFinite(value))) return { law: "" }
  const spread = Math.max(...values) / Math.min(...values)
  const logs = values.map(Math.log)
  const [start, rate] = straight(logs, Array(logs.length).fill(1))
  const exponential = residual(
    logs,
    logs.map((_, at) => start + rate * at),
  )
  const trend = Math.abs(rate * (logs.length - 1))
  if (spread <= SAME && trend <= Math.max(2 * exponential, Math.log(TREND))) return { law: "constant", spread }
  if (spread < CLEAR) return { law: "slight", spread }
  const [root, linear, poor] = [grown(values, 2), grown(values, 1), POOR * Math.log(spread)]
  if (root <= Math.min(poor, SURE * linear, exponential / APART)) return { law: "root", spread }
  if (linear <= Math.min(poor, root / SURE, exponential / APART)) return { law: "linear", spread }
  if (exponential <= Math.min(poor, root / APART, linear / APART))
    return { law: "exponential", spread, rate: Math.exp(rate) }
  return { law: "none", spread }
}

// The sites of the longest stream without its first: between two starts, those of the most common shape.
const streamOf = (sites) => {
  const streams = [[]]
  for (const [at, site] of sites.entries()) {
    if (site.kind === "start") streams.push([])
    streams.at(-1).push(at)
  }
  const longest = streams.reduce((most, one) => (one.length > most.length ? one : most))
  const shapes = longest.map((at) => JSON.stringify(sites[at].shape))
  const counts = new Map()
  for (const shape of shapes) counts.set(shape, (counts.get(shape) ?? 0) + 1)
  const [common] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ["", 0])
  return longest.filter((_, at) => shapes[at] === common).slice(1)
}

const SAID = {
  constant: () => "has the same size at every depth",
  slight: ({ spread }) => `changes by a factor of ${brief(spread)} only over depth, too little to tell a law by`,
  root: () => "grows like the square root of depth",
  linear: () => "grows in proportion to depth",
  exponential: ({ rate }) =>
    `${rate > 1 ? "grows" : "shrinks"} exponentially, by a factor of ${brief(Math.max(rate, 1 / rate))} from site to site`,
  none: () =>
    "follows no clear law over depth: not constant, not like a square root, not in proportion, not exponential",
}

const alike = (stream, gradient, summed) => {
  // Where the stream is a product over the layers, so is its gradient, of the same factors.
  const products = Math.abs(Math.log(gradient.rate) - Math.log(stream.rate)) < NEAR * Math.abs(Math.log(stream.rate))
  if (summed && stream.law === "root") return "pre-norm"
  if (summed && stream.law === "constant") return gradient.law && gradient.spread < STILL ? "ReZero" : "post-norm"
  if (stream.law === "exponential" && products) return !summed ? "plain" : stream.rate > 1 ? "residual only" : ""
  return !summed && stream.law === "constant" && gradient.law === "exponential" ? "plain + norm" : ""
}

// If sublayers alternate between two sizes, every second site of a stream may follow a law that all of them do not.
const lawOfStream = (values) => {
  const all = lawOf(values)
  if (all.law !== "none") return all
  const second = lawOf(values.filter((_, at) => (values.length - at) % 2))
  if (!second.law || second.law === "slight") return all
  return second.law === "exponential" ? { ...second, rate: Math.sqrt(second.rate) } : second
}

// The growth law of the stream in a row, and the arrangement whose stream and gradient start with these laws.
const read = (tape, row) => {
  const places = streamOf(tape.sites)
  const values = (track) => {
    const all = tape.at(track, row)
    return places.map((at) => all[at])
  }
  const [stream, gradient] = [lawOfStream(values("act_rms")), lawOfStream(values("grad_rms").reverse())]
  const summed = places.some((at) => tape.sites[at].kind === "sum")
  return { stream, like: alike(stream, gradient, summed) }
}

// The arrangement that the first row resembles; in later rows growth depends on what was learned.
export const likeness = (tape) => read(tape, 0).like

const law = (tape, row) => {
  const { stream } = read(tape, row)
  const like = likeness(tape)
  const said = stream.law ? [`At step ${tape.step(row)} the stream ${SAID[stream.law](stream)}.`] : []
  if (like) said.push(`Your net ${row ? "started" : "starts"} like “${like}”: ${LIKE[like]}.`)
  return said.join(" ")
}

const SENTENCES = {
  verdict: (tape, row) => [verdict(tape, row), jumps(tape, row), firstLost(tape)].filter(Boolean).join(" "),
  law,
  notes: (tape) => tape.header.said.notes.join(" "),
  weight: weights,
  update: updates,
  loss: (tape, row) => {
    const [loss] = tape.at("loss", row)
    return loss === undefined ? "" : `Step ${tape.step(row)}: loss ${brief(loss)}.`
  },
}

export const sentenceOf = (tape, kind, row) => SENTENCES[kind]?.(tape, row) ?? ""
export const kindOf = (tape, row) => (lost(tape, row) ? "diverged" : "")
