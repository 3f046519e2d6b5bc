// The sentences about a row of a recording, which hold for any net. Twin of addnorm/words.py, law.py and findings.py.

import { brief } from "./tape.js"

const UNCHANGED_FACTOR = 2 // a factor below which a change is none, over depth and from site to site
const NEAR = 0.25 // how far, as a share, the rates of signal and gradient may differ and still be the same
const [FEWEST, SAME, TREND, CLEAR, LITTLE] = [6, 1.2, 1.02, 1.5, 1.25]
const [POOR, APART, SMALLEST] = [0.045, 1.3, 1e-140]
const POWERS = { root: 2, linear: 1 } // the power of the size that gains as much at every site
const BETWEEN = [3, 4 / 3, 2 / 3, 1 / 2] // the same of laws without a name here
const RETURNS = [0.75, 1.4] // power of the signal by which its gradient falls where every branch adds as much

const LIKE = {
  "pre-norm": "every branch adds about as much as the one before",
  "post-norm": "the stream has the same size after every sum",
  "residual only": "every branch adds in proportion to the stream",
  ReZero: "site by site the same numbers, so the branches add nothing yet",
  little: "the branches add little, or a norm after every sum takes back what they add",
  plain: "the size is a product over the layers",
  "plain + norm": "the size stays, and the gradient is a product over the layers",
}

const [PAUSE, PAUSES] = [60, 10] // a row is late after so many seconds, and so many times the mean time from row to row
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/

const ENDED = { done: "ended", error: "ended by", recorder: "the recorder gave up:" }

const measured = (values) => values.filter((value) => value !== undefined)
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1)

const left = (tape, row) => (tape.skipped.has(row) ? "; AMP left its update out" : "")

const changeInWords = (name, start, end, path) => {
  if (start === 0 && end === 0) return `${name} is exactly 0 at both ends`
  if (start === 0 || end === 0) return `${name} ${start === 0 ? "starts at" : "falls to"} exactly 0 ${path}`
  const factor = Math.max(start / end, end / start)
  if (brief(factor) === "1") return `${name} stays the same size ${path}`
  if (factor < UNCHANGED_FACTOR) return `${name} stays within a factor of ${brief(factor)} ${path}`
  return `${name} ${end > start ? "grows" : "falls"} by a factor of ${brief(factor)} ${path}`
}

const changes = (act, grad) => [
  ...(act.length > 1 ? [changeInWords("the signal", act[0], act.at(-1), "over depth")] : []),
  ...(grad.length > 1 ? [changeInWords("its gradient", grad.at(-1), grad[0], "on the way back")] : []),
]

const verdict = (tape, row) => {
  if (!tape.sites.length) return "No sites: only loss and weights were recorded."
  const found = tape.lostAt(row)
  if (found) {
    const where = found.place && ` first at ${found.place}`
    return `Not finite: the ${found.what} of step ${tape.step(row)}${where}${left(tape, row)}.`
  }
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
  if (factorOf(most) < UNCHANGED_FACTOR) return []
  if (!start || !end) return [`${what} ${start ? "falls to" : "rises from"} exactly 0 ${where} ${site}`]
  return [`${what} ${end > start ? "grows" : "falls"} most ${where} ${site}, by a factor of ${brief(factorOf(most))}`]
}

// Where signal and gradient change most from one site to the next.
const jumps = (tape, row) => {
  const steps = (track) => fromSiteToSite(tape.sites, tape.at(track, row))
  const back = steps("grad_rms").reverse()
  const turned = back.map(({ site, start, end }) => ({ site, start: end, end: start }))
  const said = [
    ...jumpInWords("the signal", "at", steps("act_rms")),
    ...jumpInWords("the gradient", "on the way back through", turned),
  ]
  return said.length ? `${capital(said.join("; "))}.` : ""
}

const firstLost = (tape) => {
  if (!tape.first) return ""
  const { row, what, place } = tape.first
  const where = place ? `at ${place} in` : "of"
  return `The first number that is not finite is the ${what} ${where} step ${tape.step(row)}${left(tape, row)}.`
}

const updates = (tape, row) => {
  const frame = tape.frame(tape.step(row))
  const known = [...(frame?.update_to_weight ?? []).entries()].filter(
    ([, size]) => size !== undefined && !Number.isNaN(size),
  )
  if (!known.length) return ""
  const [block, size] = known.reduce((most, one) => (one[1] > most[1] ? one : most))
  if (size === 0) return `The update of step ${frame.step} changed no block.`
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
  const rising = rate > 0 ? values : values.map((value) => 1 / value)
  const named = Object.entries(POWERS).map(([law, power]) => ({ law, far: grown(values, power) }))
  const fits = [...named, { law: "exponential", far: exponential }]
  const others = [...BETWEEN, ...(rate < 0 ? Object.values(POWERS) : [])].map((power) => grown(rising, power))
  const { law, far } = fits.reduce((one, other) => (other.far < one.far ? other : one))
  const [best, second] = [...fits.map((one) => one.far), ...others].sort((one, other) => one - other)
  if (far > Math.min(best, POOR * Math.log(spread)) || second < APART * best) return { law: "none", spread }
  return { law, spread, rate: law === "exponential" ? Math.exp(rate) : NaN }
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
  root: () => "grows, by the best fit, like the square root of depth",
  linear: () => "grows, by the best fit, in proportion to depth",
  exponential: ({ rate }) =>
    `${rate > 1 ? "grows" : "shrinks"}, by the best fit, exponentially, by a factor of ` +
    `${brief(Math.max(rate, 1 / rate))} from site to site`,
}

// Whether signal and gradient are products over the layers of the same factors.
const sameProduct = (stream, gradient) => {
  if (stream.law !== "exponential" || gradient.law !== "exponential") return false
  const rate = Math.log(stream.rate)
  return Math.abs(Math.log(gradient.rate) - rate) < NEAR * Math.abs(rate)
}

// The power of the signal by which its gradient falls with depth: least squares in logarithms.
const powerOf = (act, grad) => {
  const [sizes, falls] = [act.map(Math.log), grad.map((value) => -Math.log(value))]
  const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length
  const rise = sizes.reduce((sum, size, at) => sum + (size - mean) * falls[at], 0)
  return rise / sizes.reduce((sum, size) => sum + (size - mean) ** 2, 0)
}

const alike = (act, grad, summed) => {
  const [stream, gradient] = [lawOfStream(act), lawOfStream([...grad].reverse())]
  if (!stream.law || !gradient.law) return ""
  const products = sameProduct(stream, gradient)
  if (!summed) {
    const normed = stream.law === "constant" && gradient.law === "exponential"
    return products ? "plain" : normed ? "plain + norm" : ""
  }
  if (new Set(act).size === 1 && new Set(grad).size === 1) return "ReZero"
  if (Math.max(stream.spread, gradient.spread) < LITTLE) return "little"
  if (stream.law === "constant") return "post-norm"
  if (products && stream.rate > 1) return "residual only"
  if (stream.law !== "root") return ""
  const power = powerOf(act, grad)
  return RETURNS[0] <= power && power <= RETURNS[1] ? "pre-norm" : ""
}

// If sublayers alternate between two sizes, every second site of a stream may follow a law that all of them do not.
const lawOfStream = (values) => {
  const all = lawOf(values)
  if (all.law !== "none") return all
  const second = lawOf(values.filter((_, at) => (values.length - at) % 2))
  if (!second.law || second.law === "slight") return all
  return second.law === "exponential" ? { ...second, rate: Math.sqrt(second.rate) } : second
}

// The sizes of signal and gradient over depth in a row.
const overDepth = (tape, row) => {
  const places = streamOf(tape.sites)
  return ["act_rms", "grad_rms"].map((track) => {
    const all = tape.at(track, row)
    return places.map((at) => all[at])
  })
}

// The arrangement that signal and gradient of the first row are both like; in later rows they depend on what was learned.
export const likeness = (tape) => {
  const summed = streamOf(tape.sites).some((at) => tape.sites[at].kind === "sum")
  return alike(...overDepth(tape, 0), summed)
}

const law = (tape, row) => {
  const signal = lawOfStream(overDepth(tape, row)[0])
  const [like, starts] = [likeness(tape), row ? "started" : "starts"]
  const said = SAID[signal.law] ? [`At step ${tape.step(row)} the signal ${SAID[signal.law](signal)}.`] : []
  if (like === "little") said.push(`Your net ${starts} with a signal and a gradient that hardly change: ${LIKE[like]}.`)
  else if (like) said.push(`Your net ${starts} like “${like}”: ${LIKE[like]}.`)
  return said.join(" ")
}

// --- what matters so far, since which step, and what helps small nets that start alike ---

const [VANISHING, ALIKE, SMALL_UPDATE, LAST, PART, FALL, STALL] = [30, 0.95, 1e-5, 20, 10, 0.02, 3]

const HELPS = {
  plain: "a residual around every block and a norm on what each branch reads",
  "plain + norm": "a residual around every block",
  "residual only": "a norm on what each branch reads, or a last matrix of each branch that starts at zero",
  "post-norm": "moving the norm from the sum to what each branch reads",
}

// The first place from which on all hold until the end; null if the last does not.
const since = (holds) => {
  const first = holds.lastIndexOf(false) + 1
  return first < holds.length ? first : null
}

// The row since which the loss has not fallen by FALL, with the mean loss there and now; null if it has lately.
const stalled = (losses) => {
  const window = Math.max(LAST, Math.floor(losses.length / PART))
  if (losses.length < 2 * window) return null
  const sums = [0]
  for (const loss of losses) sums.push(sums.at(-1) + loss)
  const means = sums.slice(window).map((sum, at) => (sum - sums[at]) / window)
  const now = means.at(-1)
  const reached = means.findIndex((mean) => mean <= now + FALL * Math.abs(now))
  if (STALL * (means.length - 1 - reached) < losses.length) return null
  return { place: reached + window - 1, before: means[reached], now }
}

const rowsUntil = (row) => Array.from({ length: row + 1 }, (_, at) => at)

const stalledInWords = (tape, row) => {
  const rows = rowsUntil(row).filter((at) => tape.at("loss", at)[0] !== undefined)
  const losses = rows.map((at) => tape.at("loss", at)[0])
  const found = losses.every(Number.isFinite) ? stalled(losses) : null
  if (!found) return ""
  const { place, before, now } = found
  const step = tape.step(rows[place])
  return `Since step ${step} the mean loss has fallen by less than 2% (${brief(before)} then, ${brief(now)} now).`
}

// Which blocks the updates hardly change, though the learning rate is not 0.
const stillInWords = (tape, row) => {
  const rows = tape.updates.filter((at) => at <= row && !tape.skipped.has(at) && tape.at("lr", at)[0] !== 0)
  const sizes = rows.map((at) => tape.at("update", at))
  const still = [...(sizes.at(-1) ?? []).keys()].filter((block) => sizes.at(-1)[block] < SMALL_UPDATE)
  if (!still.length) return ""
  const step = tape.step(rows[since(sizes.map((size) => size[still[0]] < SMALL_UPDATE))])
  const others = still.length > 1 ? `; ${still.length} of ${tape.blocks.length} blocks stand still now` : ""
  return `No update measured since step ${step} changed ${tape.blocks[still[0]].name} by 0.001% of its size${others}.`
}

const gradientInWords = (tape, row) => {
  const lostAt = (at) => {
    const grad = measured(tape.at("grad_rms", at))
    return grad.length > 1 && Number.isFinite(grad.at(-1)) && grad[0] < grad.at(-1) / VANISHING
  }
  const start = since(rowsUntil(row).map(lostAt))
  if (start === null) return ""
  const { name } = tape.sites[tape.at("grad_rms", row).findIndex((size) => size !== undefined)]
  const when = tape.step(start) ? `From step ${tape.step(start)} on` : "From the start"
  return `${when} less than 1/${VANISHING} of the gradient comes back to ${name}.`
}

// Since when vectors that differ at the first site end in nearly one direction.
const alikeInWords = (tape, row) => {
  const rows = rowsUntil(row).filter((at) => tape.at("sample_cosine", at).some((cosine) => cosine !== undefined))
  const ends = rows.map((at) => {
    const found = tape.at("sample_cosine", at).map((cosine, site) => ({ cosine, site: tape.sites[site] }))
    const known = found.filter(({ cosine }) => cosine !== undefined)
    return [known[0], known.at(-1)]
  })
  const start = since(ends.map(([first, last]) => first.cosine <= ALIKE && ALIKE < last.cosine))
  if (start === null) return ""
  const when = tape.step(rows[start]) ? `From step ${tape.step(rows[start])} on` : "From the start"
  const [first, last] = ends.at(-1)
  const apart = `${brief(first.cosine)} at ${first.site.name} and ${brief(last.cosine)} at ${last.site.name}`
  return `${when} inputs become alike over depth: the mean cosine between different ones is ${apart}.`
}

const findings = (tape, row) => {
  const kinds = [stalledInWords, stillInWords, gradientInWords, alikeInWords]
  const said = kinds.map((one) => one(tape, row)).filter(Boolean)
  const helps = HELPS[likeness(tape)]
  if (helps && (said.length || tape.first)) said.push(`Small nets that start like it learn with ${helps}.`)
  return said.join(" ")
}

const SENTENCES = {
  verdict: (tape, row) => [verdict(tape, row), jumps(tape, row), firstLost(tape)].filter(Boolean).join(" "),
  findings,
  law,
  notes: (tape) => tape.header.said.notes.join(" "),
  weight: weights,
  update: updates,
  loss: (tape, row) => {
    const [loss] = tape.at("loss", row)
    const told = tape.summed?.has(row) ? `, the sum of the ${tape.summed.get(row)} told` : ""
    return loss === undefined ? "" : `Step ${tape.step(row)}: loss ${brief(loss)}${told}.`
  },
}

export const sentenceOf = (tape, kind, row) => SENTENCES[kind]?.(tape, row) ?? ""
export const kindOf = (tape, row) => (tape.lostAt(row) ? "diverged" : "")
