// Decodes a recording of `addnorm.watch`: lines of JSON, read in pieces, strictly and within bounds. docs/recording.md has
// the format.

import { plain, shortened } from "./names.js"

const VERSION = 2
const MAX_SITES = 20_000
const MAX_BINS = 256
const [MAX_NAME, MAX_SENTENCE] = [1000, 5000]
const DEEPEST = 8
export const BOUNDS = { line: 2 ** 23, numbers: 50_000_000 }
const NON_FINITE = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
])
const KINDS = ["start", "sum", "output"]
const ENDS = ["done", "error", "recorder"]
const SCALARS = ["loss", "lr", "grad_norm", "output", "grad_norm_unclipped", "input", "gradient_left"]
const SITE_SERIES = ["act_rms", "grad_rms", "sample_cosine"]
const DETAILS = ["head", "parameter_grad"] // only where they are asked for
const SERIES = [...SITE_SERIES, "weight_grad_rms", "update_to_weight", ...DETAILS]
const SOMETIMES = ["sample_cosine", "update_to_weight", ...DETAILS] // measured in some rows only
const IN_VERSION_1 = { act_rms: "act", grad_rms: "grad", weight_grad_rms: "weight_grad", update_to_weight: "update" }
const OLDER =
  "An older recorder wrote this file: its charts play, and `python -m addnorm show FILE` says what it found."
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/

class FaultError extends Error {}
const fault = (text) => {
  throw new FaultError(text)
}
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

const tooDeep = (value) => {
  let level = [value]
  for (let depth = 0; depth < DEEPEST; depth++) {
    level = level.flatMap((nested) => Object.values(nested).filter((item) => typeof item === "object" && item !== null))
    if (!level.length) return false
  }
  return true
}

const parsed = (line) => {
  let text
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line)
  } catch {
    fault("is not text")
  }
  let entry
  try {
    entry = JSON.parse(text)
  } catch {
    fault("is not JSON, or is nested too deeply")
  }
  if (!isObject(entry)) fault("is not an object")
  if (tooDeep(entry)) fault("is not JSON, or is nested too deeply")
  return entry
}

// A JSON value as a number, null where not measured. Each check here throws a FaultError, which says what line N is or has.
const number = (value, name) => {
  if (NON_FINITE.has(value)) return NON_FINITE.get(value)
  if (value === null || value === undefined) return null
  if (typeof value !== "number") fault(`has a value of ${name} that is not a number`)
  if (!Number.isFinite(value)) fault(`has a value of ${name} that is too large`)
  return value
}

const numbers = (value, name, width, mayLack) => {
  if ((value === null || value === undefined) && mayLack) return Array(width).fill(null)
  if (!Array.isArray(value)) fault(`has ${name} that is not a list`)
  if (value.length !== width) fault(`has ${value.length} numbers of ${name} where there should be ${width}`)
  return value.map((item) => number(item, name))
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 0
const count = (entry, key) => (isCount(entry[key]) ? entry[key] : fault(`has a ${key} that is not a count`))

const text = (entry, key, longest = MAX_NAME) => {
  const value = entry[key]
  if (typeof value !== "string") fault(`has a ${key} that is not text`)
  if (value.length > 2 * longest || [...value].length > longest) fault(`has a ${key} that is too long`)
  return value
}

const listed = (entry, key) => {
  const value = entry[key]
  if (!Array.isArray(value)) fault(`has ${key} that are not a list`)
  if (value.length > MAX_SITES) fault(`has more than ${MAX_SITES} ${key}`)
  return value
}

// Checks { kind: [[step, sentence], ...] }: steps in order, none after the last.
const sentences = (value, last) => {
  if (!isObject(value)) fault("has a said that is not an object")
  for (const [kind, changes] of Object.entries(value)) {
    let before = -1
    text({ kind }, "kind")
    for (const change of listed({ sentences: changes }, "sentences")) {
      if (!Array.isArray(change) || change.length !== 2) fault("has a sentence without a step")
      const step = count({ step: change[0] }, "step")
      if (!(step <= last)) fault(`has a sentence about step ${step}, which has not come`)
      if (step <= before) fault("has sentences out of order")
      before = step
      text({ sentence: change[1] }, "sentence", MAX_SENTENCE)
    }
    if (before < 0) fault("has a kind of sentence without one")
  }
  return value
}

const nameOfSite = (item) => {
  if (!isObject(item)) fault("has a site that is not an object")
  if (!Array.isArray(item.shape) || item.shape.length > 16) fault("has a site without a shape")
  if (!KINDS.includes(text(item, "kind"))) fault("has a site of an unknown kind")
  for (const size of item.shape) count({ shape: size }, "shape")
  const name = text(item, "name")
  for (const key of ["module", "dtype"]) text(item, key)
  return name
}

const nameOfBlock = (item) => {
  if (!isObject(item)) fault("has a block that is not an object")
  const name = text(item, "name")
  for (const key of ["site", "parameters"]) count(item, key)
  return name
}

const ending = (entry) => {
  if (!ENDS.includes(entry.end)) fault("ends in an unknown way")
  return {
    end: entry.end,
    reason: text(entry, "reason"),
    rows: count(entry, "rows"),
    dropped: count(entry, "dropped"),
  }
}

const checkHeader = (entry) => {
  const version = entry.addnorm
  if (!isCount(version) || version < 1) fault("is not the header of a recording")
  if (version > VERSION)
    fault(`says that this is version ${version} of the format; this program reads up to version ${VERSION}`)
  const sites = listed(entry, "sites").map(nameOfSite)
  const blocks = listed(entry, "blocks").map(nameOfBlock)
  const [heads, weights] = ["heads", "weights"].map((key) =>
    listed({ [key]: entry[key] ?? [] }, key).map((name) => text({ [key]: name }, key)),
  )
  for (const key of ["model", "dtype", "device", "created"]) text(entry, key)
  for (const note of listed(entry, "notes")) text({ note }, "note")
  for (const key of ["parameters", "trained"]) count(entry, key)
  const bins = Object.hasOwn(entry, "bins") ? count(entry, "bins") : 0
  if (bins > MAX_BINS) fault(`has more than ${MAX_BINS} bins`)
  for (const key of ["versions", "meta"])
    if (entry[key] !== undefined && !isObject(entry[key])) fault(`has a ${key} that is not an object`)
  if (entry.optimizer !== undefined && entry.optimizer !== null && !isObject(entry.optimizer))
    fault("has an optimizer that is not an object")
  return { sites, blocks, heads, weights, bins }
}

export class Lines {
  constructor(log) {
    this.log = log
    this.empty()
  }

  empty() {
    this.widths = {}
    this.ended = null
    this.problem = ""
    this.file = ""
    this.bytes = 0
    this.line = 0
    this.numbers = 0
    this.gone = ""
    this.readAt = undefined
    this.seconds = 0
    this.rest = new Uint8Array(0)
    this.log.last = 0
    this.log.clear()
    this.updateState()
  }

  // What a connection asks for: which recording, which file, how many bytes are here.
  get asks() {
    return { recording: this.log.recording, file: this.file, have: this.bytes }
  }

  // Sets the state of the log to how the recording stands.
  updateState() {
    const { log } = this
    const { device = "", parameters = 0 } = log.header?.about ?? {}
    const [error, done] = [this.gone || this.problem, Boolean(this.ended || this.readAt)]
    log.become({ ...log.state, recorded: true, done, error, device, parameters })
  }

  // The file of this name, and from which byte on it will come: a new file comes from its beginning.
  // `read`: when it was read, if nothing will follow.
  follow({ file, start, sentence, read }) {
    if (start < this.bytes) this.empty()
    this.file = file
    this.gone = sentence
    this.readAt = read
    this.updateState()
  }

  receive({ start, data }) {
    if (start === this.bytes) this.feed(data)
  }

  // Reads the lines that these bytes complete; after a fault, no more.
  feed(data) {
    this.bytes += data.length
    if (this.problem) return
    const joined = this.rest.length ? new Uint8Array(this.rest.length + data.length) : data
    if (this.rest.length) {
      joined.set(this.rest)
      joined.set(data, this.rest.length)
    }
    let at = 0
    for (let end = joined.indexOf(10); end >= 0 && !this.problem; end = joined.indexOf(10, at)) {
      this.take(joined.subarray(at, end))
      at = end + 1
    }
    this.rest = joined.slice(at)
    if (this.rest.length > BOUNDS.line && !this.problem) {
      this.line += 1
      this.stop("is longer than a line of a recording can be")
    }
    if (this.problem) this.rest = new Uint8Array(0)
    this.updateState()
  }

  // Checks the end of a file that will not grow any more.
  finish() {
    if (!this.problem && this.rest.length) {
      this.line += 1
      this.stop(this.log.header ? "is cut off; what came before it is shown" : "is not a recording")
    } else if (!this.problem && !this.log.header) this.problem = "The file is empty."
    this.readAt = Date.now() / 1000
    this.updateState()
  }

  take(line) {
    this.line += 1
    try {
      if (line.length > BOUNDS.line) fault("is longer than a line of a recording can be")
      const entry = parsed(line)
      if (this.ended) fault("stands after the end of the recording")
      if (!this.log.header) this.takeHeader(entry)
      else if (Object.hasOwn(entry, "end")) this.ended = ending(entry)
      else if (Object.hasOwn(entry, "said")) {
        this.checkTotal(Math.floor(line.length / 8))
        this.log.addSentences(sentences(entry.said, this.log.steps.at(-1)))
      } else this.takeRow(entry)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      this.stop(error.message)
    }
  }

  stop(what) {
    this.problem = `Line ${this.line} ${what}.`
  }

  takeHeader(entry) {
    const { sites, blocks, heads, weights, bins } = checkHeader(entry)
    const details = { head: heads, parameter_grad: weights }
    let width = SCALARS.length
    const tracks = SCALARS.map((name, start) => ({ name, start, width: 1 }))
    for (const name of SERIES) {
      this.widths[name] = (details[name] ?? (SITE_SERIES.includes(name) ? sites : blocks)).length
      tracks.push({ name, start: width, width: this.widths[name] })
      width += this.widths[name]
    }
    this.shares = sites.length * bins // numbers of a row with histograms
    const named = { sites: sites.map(plain), blocks: blocks.map(plain) }
    this.log.describe({ seeds: 1, last: 0, width, tracks, ...named, about: entry })
    this.log.stride = isCount(entry.every) && entry.every > 0 ? entry.every : 1
  }

  checkTotal(numbers) {
    this.numbers += numbers
    if (this.numbers > BOUNDS.numbers) fault("is over the limit; the lines before it are shown")
  }

  takeRow(entry) {
    const { log } = this
    const counted = entry.histogram !== null && entry.histogram !== undefined
    this.checkTotal(log.width + 2 + (counted ? this.shares : 0))
    const old = log.header.about.addnorm === 1
    const step = count(entry, "step")
    const before = log.steps.at(-1)
    if (step <= before) fault(`is of step ${step}, after step ${before}`)
    const scalars = SCALARS.map((name) => number(entry[name], name))
    const seconds = number(entry.seconds, "seconds") ?? NaN
    const series = SERIES.map((name) => {
      const key = (old && IN_VERSION_1[name]) || name
      return numbers(entry[key], key, this.widths[name], SOMETIMES.includes(name))
    })
    const histogram = counted && numbers(entry.histogram, "histogram", this.shares, false)
    if (entry.skipped !== undefined && typeof entry.skipped !== "boolean")
      fault("has a skipped that is neither true nor false")
    if (entry.loss_sum_of !== undefined) count(entry, "loss_sum_of")
    log.append(step, [...scalars, ...series.flat()])
    const update = series[SERIES.indexOf("update_to_weight")]
    const updated = update.some((value) => value !== null)
    if (updated || histogram)
      log.add(0, [{ step, ...(updated && { update_to_weight: update }), ...(histogram && { histogram }) }])
    if (old) log.sentences.verdict ??= [[0, OLDER]]
    this.seconds = seconds
  }

  // How the recording stands in words: growing, ended with a reason, silent since some time, or unknown. `words`: STANDS of
  // addnorm/words.py; `now` in Unix seconds.
  status(words, now) {
    if (this.ended) return words[this.ended.end].replace("{reason}", () => this.ended.reason)
    const { created } = this.log.header.about
    const silent = now - (UTC_TIME.test(created) ? Date.parse(created) / 1000 : NaN) - this.seconds
    if (this.problem || !Number.isFinite(silent)) return words.unknown
    if (silent <= Math.max(words.pause, (words.pauses * this.seconds) / Math.max(1, this.log.steps.length)))
      return words.growing
    const [, seconds, unit] = words.units.findLast(([least]) => silent >= least)
    return words.late.replace("{time}", `${Math.floor(silent / seconds)} ${unit}`)
  }

  // Model, device and length in one line.
  facts(words) {
    const { header, local, name, steps } = this.log
    if (!header) return this.problem || this.gone || local ? "" : `${name}: nothing has come yet`
    const { model, dtype, device, parameters, optimizer } = header.about
    const parts = [
      ...(name ? [name] : []),
      model,
      `${parameters.toLocaleString("en")} parameters`,
      `${dtype} on ${device}`,
    ]
    if (typeof optimizer?.name === "string") parts.push(optimizer.name)
    parts.push(`${steps.length} ${steps.length === 1 ? "row" : "rows"}`)
    const status = this.status(words, this.readAt ?? Date.now() / 1000)
    parts.push((local || this.readAt) && status === words.growing ? "not ended when it was read" : status)
    if (this.ended?.dropped) parts.push(`${this.ended.dropped} rows dropped`)
    return parts.map((part) => shortened(part, 60)).join(", ")
  }
}
