// A recording of `addnorm.watch` as a tape, read in pieces, strictly and within bounds. docs/recording.md has the format.

import { Tape } from "./tape.js"

const VERSION = 2
const LARGEST_FILE = 2 ** 32
const MOST_SITES = 20_000
const [LONGEST_NAME, LONGEST_SENTENCE] = [1000, 5000]
const DEEPEST = 8
const FEWEST_NAMES = 5 // among which a prefix is looked for
const PIECE = 2 ** 20 // bytes of a dropped file that are read at once
export const BOUNDS = { line: 2 ** 23, numbers: 50_000_000 }
const NAMED = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
])
const KINDS = ["start", "sum", "output"]
const ENDS = ["done", "error", "recorder"]
const SCALARS = ["loss", "lr", "grad_norm", "output", "grad_norm_unclipped"]
const SITE_SERIES = ["act_rms", "grad_rms", "sample_cosine"]
const DETAILS = ["head", "parameter_grad"] // only where they are asked for
const SERIES = [...SITE_SERIES, "weight_grad_rms", "update_to_weight", ...DETAILS]
const SOMETIMES = ["sample_cosine", "update_to_weight", ...DETAILS] // measured in some rows only
const IN_VERSION_1 = { act_rms: "act", grad_rms: "grad", weight_grad_rms: "weight_grad", update_to_weight: "update" }
const TOGETHER = { verdict: ["verdict", "jumps", "lost"], findings: ["findings", "helps"] } // sentences in one place
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
    level = level.flatMap((held) => Object.values(held).filter((item) => typeof item === "object" && item !== null))
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

const number = (value, name) => {
  if (NAMED.has(value)) return NAMED.get(value)
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

const text = (entry, key, longest = LONGEST_NAME) => {
  const value = entry[key]
  if (typeof value !== "string") fault(`has a ${key} that is not text`)
  if (value.length > 2 * longest || [...value].length > longest) fault(`has a ${key} that is too long`)
  return value
}

const listed = (entry, key) => {
  const value = entry[key]
  if (!Array.isArray(value)) fault(`has ${key} that are not a list`)
  if (value.length > MOST_SITES) fault(`has more than ${MOST_SITES} ${key}`)
  return value
}

// What is said, by kind: of rows up to a step.
const sentences = (value, last) => {
  if (!isObject(value)) fault("has said that is not an object")
  for (const [kind, changes] of Object.entries(value)) {
    let before = -1
    text({ kind }, "kind")
    for (const change of listed({ sentences: changes }, "sentences")) {
      if (!Array.isArray(change) || change.length !== 2) fault("has a sentence without a step")
      const step = count({ step: change[0] }, "step")
      if (!(step <= last)) fault(`has a sentence about step ${step}, which has not come`)
      if (step <= before) fault("has sentences out of order")
      before = step
      text({ sentence: change[1] }, "sentence", LONGEST_SENTENCE)
    }
    if (before < 0) fault("has a kind of sentence without one")
  }
  return value
}

const siteOf = (item) => {
  if (!isObject(item)) fault("has a site that is not an object")
  const { shape } = item
  if (!Array.isArray(shape) || shape.length > 16) fault("has a site without a shape")
  const kind = text(item, "kind")
  if (!KINDS.includes(kind)) fault("has a site of an unknown kind")
  for (const size of shape) count({ shape: size }, "shape")
  return { shape, name: text(item, "name"), kind, module: text(item, "module"), dtype: text(item, "dtype") }
}

const blockOf = (item) => {
  if (!isObject(item)) fault("has a block that is not an object")
  return { name: text(item, "name"), site: count(item, "site"), parameters: count(item, "parameters") }
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
  const sites = listed(entry, "sites").map(siteOf)
  const blocks = listed(entry, "blocks").map(blockOf)
  const [heads, weights] = ["heads", "weights"].map((key) =>
    listed({ [key]: entry[key] ?? [] }, key).map((name) => text({ [key]: name }, key)),
  )
  for (const key of ["model", "dtype", "device", "created"]) text(entry, key)
  for (const note of listed(entry, "notes")) text({ note }, "note")
  for (const key of ["parameters", "trained"]) count(entry, key)
  for (const key of ["versions", "meta"])
    if (entry[key] !== undefined && !isObject(entry[key])) fault(`has a ${key} that is not an object`)
  if (entry.optimizer !== undefined && entry.optimizer !== null && !isObject(entry.optimizer))
    fault("has an optimizer that is not an object")
  return { sites, blocks, heads, weights }
}

// A text from a stranger made safe to draw: nothing that plotly would take for a tag, nothing invisible.
export const plain = (name) =>
  [...name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\uFFFD")].join("").replaceAll("<", "‹").replaceAll("&", "＆")

// A name cut in the middle to fit so many letters.
export const shortened = (name, width) => {
  const letters = [...plain(name)]
  if (letters.length <= width) return letters.join("")
  const left = (width - 1) >> 1
  return `${letters.slice(0, left).join("")}…${letters.slice(letters.length - (width - 1 - left)).join("")}`
}

// The modules that all names but the first and the last lie in, with a dot at the end, which a chart and its table say
// once. `lists`: of the recordings in a chart.
export const sharedPrefix = (lists) => {
  const inner = lists.flatMap((names) => (names.length < FEWEST_NAMES ? [""] : names.slice(1, -1)))
  let prefix = inner[0] ?? ""
  for (const name of inner) while (!name.startsWith(prefix)) prefix = prefix.slice(0, -1)
  return prefix.slice(0, prefix.lastIndexOf(".") + 1)
}

export class RecordedTape extends Tape {
  constructor({ link, recording, name }) {
    super({ link, seeds: 1, last: 0 })
    this.recording = recording
    this.name = name ?? recording ?? ""
    this.local = recording === null
    this.empty()
  }

  empty() {
    this.header = null
    this.sites = []
    this.blocks = []
    this.heads = []
    this.weights = []
    this.ended = null
    this.problem = ""
    this.said = Object.create(null)
    this.tracks = {}
    this.file = ""
    this.bytes = 0
    this.line = 0
    this.numbers = 0
    this.count = 0
    this.width = 0
    this.gone = ""
    this.seconds = 0
    this.rest = new Uint8Array(0)
    this.rows = new Float64Array(0)
    this.known = new Uint8Array(0)
    this.steps = []
    this.updates = []
    this.skipped = new Set()
    this.summed = new Map()
    this.last = 0
    this.length = 0
    this.touch(0)
    this.become(this.standing())
  }

  // How a connection asks for it.
  get asks() {
    return { recording: this.recording, file: this.file, have: this.bytes }
  }

  standing() {
    const error = this.gone || this.problem
    const { device = "", parameters = 0 } = this.header?.said ?? {}
    return { ...this.state, recorded: true, done: Boolean(this.ended || this.readAt), error, device, parameters }
  }

  // The file of this name, and from which byte on it will come: a new file comes from its beginning.
  // `read`: when it was read, if nothing will follow.
  follow({ file, start, sentence, read }) {
    if (start < this.bytes) this.empty()
    this.file = file
    this.gone = sentence
    this.readAt = read
    this.become(this.standing())
  }

  receive(start, _count, data) {
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
    this.become(this.standing())
  }

  // Checks the end of a file that will not grow any more.
  finish() {
    if (!this.problem && this.rest.length) {
      this.line += 1
      this.stop(this.header ? "is cut off; what came before it is shown" : "is not a recording")
    } else if (!this.problem && !this.header) this.problem = "The file is empty."
    this.readAt = Date.now() / 1000
    this.become(this.standing())
  }

  take(line) {
    this.line += 1
    try {
      if (line.length > BOUNDS.line) fault("is longer than a line of a recording can be")
      const entry = parsed(line)
      if (this.ended) fault("stands after the end of the recording")
      if (!this.header) this.takeHeader(entry)
      else if (Object.hasOwn(entry, "end")) this.ended = ending(entry)
      else if (Object.hasOwn(entry, "said")) {
        this.counted(Math.floor(line.length / 8))
        this.say(sentences(entry.said, this.steps.at(-1)))
      } else this.takeRow(entry)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      this.stop(error.message)
    }
  }

  stop(what) {
    this.problem = `Line ${this.line} ${what}.`
  }

  widthOf(series) {
    const details = { head: this.heads, parameter_grad: this.weights }
    return (details[series] ?? (SITE_SERIES.includes(series) ? this.sites : this.blocks)).length
  }

  takeHeader(entry) {
    Object.assign(this, checkHeader(entry))
    let start = 0
    for (const name of SCALARS) this.tracks[name] = { name, start: start++, width: 1 }
    for (const name of SERIES) {
      const width = this.widthOf(name)
      this.tracks[name] = { name, start, width }
      start += width
    }
    const named = (places) => places.map(({ name }) => plain(name))
    this.width = start
    this.named = { sites: named(this.sites), blocks: named(this.blocks) }
    this.header = { seeds: 1, width: start, said: entry }
    this.touch(0)
  }

  counted(numbers) {
    this.numbers += numbers
    if (this.numbers > BOUNDS.numbers) fault("is one line too many; what came before it is shown")
  }

  takeRow(entry) {
    this.counted(this.width + 2)
    const old = this.header.said.addnorm === 1 ? IN_VERSION_1 : {}
    const step = count(entry, "step")
    const before = this.steps.at(-1)
    if (this.count && step <= before) fault(`is of step ${step}, after step ${before}`)
    const scalars = SCALARS.map((name) => number(entry[name], name))
    const seconds = number(entry.seconds, "seconds") ?? NaN
    const series = SERIES.map((name) => {
      const key = old[name] ?? name
      return numbers(entry[key], key, this.widthOf(name), SOMETIMES.includes(name))
    })
    const skipped = entry.skipped === undefined ? false : entry.skipped
    if (typeof skipped !== "boolean") fault("has a skipped that is neither true nor false")
    const summed = entry.loss_sum_of === undefined ? 0 : count(entry, "loss_sum_of")
    const values = [...scalars, ...series.flat()]
    this.grow()
    for (let at = 0, to = this.count * this.width; at < values.length; at++, to++) {
      this.rows[to] = values[at] ?? NaN
      this.known[to] = values[at] === null ? 0 : 1
    }
    if (series[SERIES.indexOf("update_to_weight")].some((value) => value !== null)) this.updates.push(this.count)
    if (skipped) this.skipped.add(this.count)
    if (summed) this.summed.set(this.count, summed)
    this.steps.push(step)
    this.count += 1
    if (this.header.said.addnorm === 1) this.said.verdict ??= [[0, OLDER]]
    this.seconds = seconds
    this.last = step
    this.length = step + 1
    this.touch(step)
  }

  grow() {
    const most = (this.count + 1) * this.width
    if (most <= this.rows.length) return
    const [rows, known] = [new Float64Array(2 * most), new Uint8Array(2 * most)]
    rows.set(this.rows)
    known.set(this.known)
    this.rows = rows
    this.known = known
  }

  // The rows up to a step. A recording may have a row every few steps only, so that `step` and `rowAt` differ.
  until(step) {
    let [low, high] = [0, this.count]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.steps[middle] <= step) low = middle + 1
      else high = middle
    }
    return low
  }

  step(row) {
    return this.steps[row]
  }

  rowAt(step) {
    return Math.max(0, this.until(step) - 1)
  }

  get stride() {
    const every = this.header?.said.every
    return isCount(every) && every > 0 ? every : 1
  }

  // The numbers of a track in one row; undefined where nothing was measured.
  at(track, row) {
    const { start, width } = this.tracks[track]
    const from = row * this.width + start
    return Array.from({ length: width }, (_, place) => (this.known[from + place] ? this.rows[from + place] : undefined))
  }

  number(track, step) {
    return this.at(track, this.rowAt(step))[0]
  }

  vector(track, position) {
    if (!this.tracks[track]) return []
    const row = this.rowAt(position)
    const values = this.at(track, row)
    const share = row + 1 < this.count && this.steps[row + 1] - this.steps[row] === 1 ? position - this.steps[row] : 0
    if (share <= 0) return values
    const next = this.at(track, row + 1)
    return values.map((from, place) => {
      const to = next[place]
      return from > 0 && to > 0 && Number.isFinite(from) && Number.isFinite(to) ? from * (to / from) ** share : from
    })
  }

  column(track, rows) {
    return Float64Array.from({ length: rows }, (_, row) => this.at(track, row)[0] ?? NaN)
  }

  // The last row at or before a step that has measured updates.
  frame(step) {
    const row = this.updates.findLast((one) => this.steps[one] <= step)
    return row === undefined ? undefined : { step: this.steps[row], update_to_weight: this.at("update_to_weight", row) }
  }

  // The names of the places of a track.
  names(track) {
    return SITE_SERIES.includes(track) ? this.named.sites : this.named.blocks
  }

  sentence(kind, step) {
    if (!this.count) return ""
    if (kind === "notes") return this.header.said.notes.join(" ")
    const row = this.step(this.rowAt(step))
    const said = (TOGETHER[kind] ?? [kind]).map((one) => super.sentence(one, row))
    return said.filter(Boolean).join(" ")
  }

  // The arrangement that it resembles in its first row.
  get like() {
    return this.sentence("like", 0)
  }

  // Whether it grows, has ended, or has stopped without its last line. `words`: for each of these, as they are declared.
  stands(words, now) {
    if (this.ended) return words[this.ended.end].replace("{reason}", () => this.ended.reason)
    const { created } = this.header.said
    const silent = now - (UTC_TIME.test(created) ? Date.parse(created) / 1000 : NaN) - this.seconds
    if (this.problem || !Number.isFinite(silent)) return words.unknown
    if (silent <= Math.max(words.pause, (words.pauses * this.seconds) / Math.max(1, this.count))) return words.growing
    const [, seconds, unit] = words.units.findLast(([least]) => silent >= least)
    return words.late.replace("{time}", `${Math.floor(silent / seconds)} ${unit}`)
  }

  // Model, device and length in one line.
  facts(words) {
    if (!this.header) return this.problem || this.gone || this.local ? "" : `${this.name}: nothing has come yet`
    const { model, dtype, device, parameters, optimizer } = this.header.said
    const parts = [
      ...(this.name ? [this.name] : []),
      model,
      `${parameters.toLocaleString("en")} parameters`,
      `${dtype} on ${device}`,
    ]
    if (typeof optimizer?.name === "string") parts.push(optimizer.name)
    parts.push(`${this.count} ${this.count === 1 ? "row" : "rows"}`)
    const stands = this.stands(words, this.readAt ?? Date.now() / 1000)
    parts.push((this.local || this.readAt) && stands === words.growing ? "not ended when it was read" : stands)
    if (this.ended?.dropped) parts.push(`${this.ended.dropped} rows dropped`)
    return parts.map((part) => shortened(part, 60)).join(", ")
  }
}

// Reads a file of the visitor's, in the browser only. `read`: called with the tape after every piece.
export const readFile = async (file, read) => {
  const tape = new RecordedTape({ link: "dropped", recording: null, name: file.name })
  const readAll = async () => {
    if (file.size >= LARGEST_FILE) {
      tape.problem = "The file is larger than a recording can be."
      return
    }
    for (let at = 0; at < file.size && !tape.problem; at += PIECE) {
      tape.feed(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()))
      read(tape)
    }
    tape.finish()
  }
  await readAll().catch((error) => {
    tape.problem = `The file cannot be read: ${error.message}.`
  })
  tape.become(tape.standing())
  read(tape)
}
