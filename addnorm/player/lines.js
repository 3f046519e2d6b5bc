// Decodes a recording of `addnorm.watch`, JSON lines that arrive in pieces, strictly and within bounds. The format is in
// docs/recording.md; addnorm/recording.py reads it with the same faults.

import { sanitize, shorten } from "./names.js"

const VERSION = 2
const MAX_SITES = 20_000
const MAX_BINS = 256
const MAX_NAME_CHARS = 1000
const MAX_SENTENCE_CHARS = 5000
const MAX_DEPTH = 8 // of nested JSON
export const BOUNDS = { line: 2 ** 23, numbers: 50_000_000 } // bytes; numbers in a whole file
const NON_FINITE = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
])
const SITE_KINDS = ["start", "sum", "output"]
const ENDINGS = ["done", "error", "recorder"]
const SCALARS = [
  "loss",
  "lr",
  "grad_norm",
  "output",
  "grad_norm_unclipped",
  "input",
  "gradient_left",
  "target",
  "cross_entropy",
  "input_mark",
]
const SITE_SERIES = ["act_rms", "grad_rms", "sample_cosine", "act_peak"]
const DETAILS = ["head", "parameter_grad"] // recorded on request
const SERIES = [...SITE_SERIES, "weight_grad_rms", "update_to_weight", "update_lost", ...DETAILS]
// null in rows that did not measure them
const OPTIONAL_SERIES = ["sample_cosine", "act_peak", "update_to_weight", "update_lost", ...DETAILS]
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/

class FaultError extends Error {}
const fault = (text) => {
  throw new FaultError(text)
}
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

const isTooDeep = (value) => {
  let level = [value]
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    level = level.flatMap((nested) => Object.values(nested).filter((item) => typeof item === "object" && item !== null))
    if (!level.length) return false
  }
  return true
}

const parseLine = (line) => {
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
  if (isTooDeep(entry)) fault("is not JSON, or is nested too deeply")
  return entry
}

// A JSON value as a number, null if not measured. Each check throws a FaultError whose message completes "Line N ...".
const checkNumber = (value, name) => {
  if (NON_FINITE.has(value)) return NON_FINITE.get(value)
  if (value === null || value === undefined) return null
  if (typeof value !== "number") fault(`has a value of ${name} that is not a number`)
  if (!Number.isFinite(value)) fault(`has a value of ${name} that is too large`)
  return value
}

const checkNumbers = (value, name, width, mayLack) => {
  if ((value === null || value === undefined) && mayLack) return Array(width).fill(null)
  if (!Array.isArray(value)) fault(`has ${name} that is not a list`)
  if (value.length !== width) fault(`has ${value.length} numbers of ${name} where there should be ${width}`)
  return value.map((item) => checkNumber(item, name))
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 0
const checkCount = (entry, key) => (isCount(entry[key]) ? entry[key] : fault(`has a ${key} that is not a count`))

const checkText = (entry, key, maxChars = MAX_NAME_CHARS) => {
  const value = entry[key]
  if (typeof value !== "string") fault(`has a ${key} that is not text`)
  if (value.length > 2 * maxChars || [...value].length > maxChars) fault(`has a ${key} that is too long`)
  return value
}

const checkList = (entry, key) => {
  const value = entry[key]
  if (!Array.isArray(value)) fault(`has ${key} that are not a list`)
  if (value.length > MAX_SITES) fault(`has more than ${MAX_SITES} ${key}`)
  return value
}

// Checks { kind: [[step, sentence], ...] }: steps increase, none is after the last row.
const checkSentences = (value, lastStep) => {
  if (!isObject(value)) fault("has a said that is not an object")
  for (const [kind, changes] of Object.entries(value)) {
    let before = -1
    checkText({ kind }, "kind")
    for (const change of checkList({ sentences: changes }, "sentences")) {
      if (!Array.isArray(change) || change.length !== 2) fault("has a sentence without a step")
      const step = checkCount({ step: change[0] }, "step")
      if (!(step <= lastStep)) fault(`has a sentence about step ${step}, which has not come`)
      if (step <= before) fault("has sentences out of order")
      before = step
      checkText({ sentence: change[1] }, "sentence", MAX_SENTENCE_CHARS)
    }
    if (before < 0) fault("has a kind of sentence without one")
  }
  return value
}

const nameOfSite = (item) => {
  if (!isObject(item)) fault("has a site that is not an object")
  if (!Array.isArray(item.shape) || item.shape.length > 16) fault("has a site without a shape")
  if (!SITE_KINDS.includes(checkText(item, "kind"))) fault("has a site of an unknown kind")
  for (const size of item.shape) checkCount({ shape: size }, "shape")
  const name = checkText(item, "name")
  for (const key of ["module", "dtype"]) checkText(item, key)
  return name
}

const nameOfBlock = (item) => {
  if (!isObject(item)) fault("has a block that is not an object")
  const name = checkText(item, "name")
  for (const key of ["site", "parameters"]) checkCount(item, key)
  return name
}

const checkEnding = (entry) => {
  if (!ENDINGS.includes(entry.end)) fault("ends in an unknown way")
  return {
    end: entry.end,
    reason: checkText(entry, "reason"),
    rows: checkCount(entry, "rows"),
    dropped: checkCount(entry, "dropped"),
  }
}

const checkHeader = (entry) => {
  const version = entry.addnorm
  if (!isCount(version) || version < 1) fault("is not the header of a recording")
  if (version !== VERSION)
    fault(`says that this is version ${version} of the format; this program reads version ${VERSION}`)
  const sites = checkList(entry, "sites").map(nameOfSite)
  const blocks = checkList(entry, "blocks").map(nameOfBlock)
  const [heads, weights] = ["heads", "weights"].map((key) =>
    checkList({ [key]: entry[key] ?? [] }, key).map((name) => checkText({ [key]: name }, key)),
  )
  for (const key of ["model", "dtype", "device", "created"]) checkText(entry, key)
  for (const note of checkList(entry, "notes")) checkText({ note }, "note")
  for (const key of ["parameters", "trained"]) checkCount(entry, key)
  const bins = Object.hasOwn(entry, "bins") ? checkCount(entry, "bins") : 0
  if (bins > MAX_BINS) fault(`has more than ${MAX_BINS} bins`)
  for (const key of ["versions", "meta"])
    if (entry[key] !== undefined && !isObject(entry[key])) fault(`has a ${key} that is not an object`)
  if (entry.optimizer !== undefined && entry.optimizer !== null && !isObject(entry.optimizer))
    fault("has an optimizer that is not an object")
  return { sites, blocks, heads, weights, bins }
}

export class RecordingDecoder {
  constructor(log) {
    this.log = log
    this.reset()
  }

  reset() {
    this.widths = {}
    this.ending = null
    this.problem = ""
    this.file = ""
    this.bytes = 0
    this.line = 0
    this.numbers = 0
    this.goneSentence = ""
    this.readAt = undefined
    this.seconds = 0
    this.remainder = new Uint8Array(0)
    this.log.last = 0
    this.log.clear()
    this.updateState()
  }

  // The request to a server: recording, file, and how many bytes are here.
  get request() {
    return { recording: this.log.recording, file: this.file, have: this.bytes }
  }

  updateState() {
    const { log } = this
    const { device = "", parameters = 0 } = log.header?.about ?? {}
    const error = this.goneSentence || this.problem
    const done = Boolean(this.ending || this.readAt)
    log.setState({ ...log.state, recorded: true, done, error, device, parameters })
  }

  // Announces a file and the byte at which its data will start; a new file starts at 0. `read`: Unix time at which it was
  // read, if nothing will follow.
  follow({ file, start, sentence, read }) {
    if (start < this.bytes) this.reset()
    this.file = file
    this.goneSentence = sentence
    this.readAt = read
    this.updateState()
  }

  receive({ start, data }) {
    if (start === this.bytes) this.feed(data)
  }

  // Reads the lines that these bytes complete; after a fault it reads no more.
  feed(data) {
    this.bytes += data.length
    if (this.problem) return
    const joined = this.remainder.length ? new Uint8Array(this.remainder.length + data.length) : data
    if (this.remainder.length) {
      joined.set(this.remainder)
      joined.set(data, this.remainder.length)
    }
    let start = 0
    for (let end = joined.indexOf(10); end >= 0 && !this.problem; end = joined.indexOf(10, start)) {
      this.readLine(joined.subarray(start, end))
      start = end + 1
    }
    this.remainder = joined.slice(start)
    if (this.remainder.length > BOUNDS.line && !this.problem) {
      this.line += 1
      this.stop("is longer than a line of a recording can be")
    }
    if (this.problem) this.remainder = new Uint8Array(0)
    this.updateState()
  }

  // Checks the end of a file that will not grow.
  finish() {
    if (!this.problem && this.remainder.length) {
      this.line += 1
      this.stop(this.log.header ? "is cut off; what came before it is shown" : "is not a recording")
    } else if (!this.problem && !this.log.header) this.problem = "The file is empty."
    this.readAt = Date.now() / 1000
    this.updateState()
  }

  readLine(line) {
    this.line += 1
    try {
      if (line.length > BOUNDS.line) fault("is longer than a line of a recording can be")
      const entry = parseLine(line)
      if (this.ending) fault("comes after the end of the recording")
      if (!this.log.header) this.readHeader(entry)
      else if (Object.hasOwn(entry, "end")) this.ending = checkEnding(entry)
      else if (Object.hasOwn(entry, "said")) {
        this.checkTotal(Math.floor(line.length / 8))
        this.log.addSentences(checkSentences(entry.said, this.log.steps.at(-1)))
      } else this.readRow(entry)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      this.stop(error.message)
    }
  }

  stop(message) {
    this.problem = `Line ${this.line} ${message}.`
  }

  readHeader(entry) {
    const { sites, blocks, heads, weights, bins } = checkHeader(entry)
    const details = { head: heads, parameter_grad: weights }
    let width = SCALARS.length
    const tracks = SCALARS.map((name, start) => ({ name, start, width: 1 }))
    for (const name of SERIES) {
      this.widths[name] = (details[name] ?? (SITE_SERIES.includes(name) ? sites : blocks)).length
      tracks.push({ name, start: width, width: this.widths[name] })
      width += this.widths[name]
    }
    this.binCount = sites.length * bins // numbers in the histograms of a row
    const names = { sites: sites.map(sanitize), blocks: blocks.map(sanitize) }
    this.log.setHeader({ seeds: 1, last: 0, width, tracks, ...names, about: entry })
    this.log.stride = isCount(entry.every) && entry.every > 0 ? entry.every : 1
  }

  checkTotal(numbers) {
    this.numbers += numbers
    if (this.numbers > BOUNDS.numbers) fault("is over the limit; the lines before it are shown")
  }

  readRow(entry) {
    const { log } = this
    const hasHistogram = entry.histogram !== null && entry.histogram !== undefined
    this.checkTotal(log.width + 2 + (hasHistogram ? this.binCount : 0))
    const step = checkCount(entry, "step")
    const before = log.steps.at(-1)
    if (step <= before) fault(`is of step ${step}, after step ${before}`)
    const scalars = SCALARS.map((name) => checkNumber(entry[name], name))
    const seconds = checkNumber(entry.seconds, "seconds") ?? NaN
    const series = SERIES.map((name) =>
      checkNumbers(entry[name], name, this.widths[name], OPTIONAL_SERIES.includes(name)),
    )
    const histogram = hasHistogram && checkNumbers(entry.histogram, "histogram", this.binCount, false)
    if (entry.skipped !== undefined && typeof entry.skipped !== "boolean")
      fault("has a skipped that is neither true nor false")
    if (entry.loss_sum_of !== undefined) checkCount(entry, "loss_sum_of")
    log.appendRow(step, [...scalars, ...series.flat()])
    const update = series[SERIES.indexOf("update_to_weight")]
    const hasUpdate = update.some((value) => value !== null)
    if (hasUpdate || histogram)
      log.addFrames(0, [{ step, ...(hasUpdate && { update_to_weight: update }), ...(histogram && { histogram }) }])
    this.seconds = seconds
  }

  // The status in words: growing, ended with a reason, silent for some time, or unknown. `words`: STATUS of
  // addnorm/words.py; `time`: Unix time in seconds.
  status(words, time) {
    if (this.ending) return words[this.ending.end].replace("{reason}", () => this.ending.reason)
    const { created } = this.log.header.about
    const silentSeconds = time - (UTC_TIME.test(created) ? Date.parse(created) / 1000 : NaN) - this.seconds
    if (this.problem || !Number.isFinite(silentSeconds)) return words.unknown
    const usualPause = (words.pauses * this.seconds) / Math.max(1, this.log.steps.length)
    if (silentSeconds <= Math.max(words.pause, usualPause)) return words.growing
    const [, unitSeconds, unit] = words.units.findLast(([from]) => silentSeconds >= from)
    return words.late.replace("{time}", `${Math.floor(silentSeconds / unitSeconds)} ${unit}`)
  }

  // File, model, device, length and status in one line.
  facts(words) {
    const { header, isLocal, name, steps } = this.log
    if (!header) return this.problem || this.goneSentence || isLocal ? "" : `${name}: nothing has come yet`
    const { model, dtype, device, parameters, optimizer } = header.about
    const parts = [model, `${parameters.toLocaleString("en")} parameters`, `${dtype} on ${device}`]
    if (name) parts.unshift(name)
    if (typeof optimizer?.name === "string") parts.push(optimizer.name)
    parts.push(`${steps.length} ${steps.length === 1 ? "row" : "rows"}`)
    const status = this.status(words, this.readAt ?? Date.now() / 1000)
    parts.push((isLocal || this.readAt) && status === words.growing ? "not ended when it was read" : status)
    if (this.ending?.dropped) parts.push(`${this.ending.dropped} rows dropped`)
    return parts.map((part) => shorten(part, 60)).join(", ")
  }
}
