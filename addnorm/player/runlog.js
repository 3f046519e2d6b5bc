// The log of a run or of a recording in the browser: rows of numbers, frames and sentences. A decoder reads what arrives.

import { RecordingDecoder } from "./lines.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const GROWTH_FACTOR = 2 // of the buffer of rows
const SITE_TRACKS = ["act_rms", "grad_rms", "sample_cosine"] // tracks over the sites of the stream; others are over blocks
const JOINED_KINDS = { verdict: ["verdict", "jumps", "lost"], findings: ["findings", "ids", "helps"] } // sentences shown as one
const INITIAL_STATE = {
  done: false,
  outcomes: [],
  error: "",
  place: 0,
  rate: 0,
  recomputing: false,
  unsaved: false,
  parameters: 0,
  device: "",
}

// Decodes the log of a run: float32 rows of fixed width.
class RunDecoder {
  constructor(log) {
    this.log = log
    log.rows = new Float32Array(0)
  }

  // The request to a server. `have`: rows it need not send; 0 while the rows here are recorded ones that come with the app.
  get request() {
    const { link, seeds, length, state } = this.log
    return { link, seeds, have: state.recorded ? 0 : length }
  }

  receive({ start, data }) {
    this.log.setRows(start, new Float32Array(data.buffer, data.byteOffset, data.length / 4))
  }
}

export class RunLog {
  // `recording`: the name of a recording on the server, null for a file of the visitor, undefined for a run.
  constructor({ link, seeds = 1, last = 0, recording = undefined, name = recording ?? "" }) {
    this.link = link
    this.seeds = seeds
    this.last = last
    this.name = name
    this.recording = recording
    this.isRecording = recording !== undefined
    this.isLocal = recording === null
    this.isHere = false // whether this browser trains it
    this.beside = false // whether it lies beside the page's runs, which alone the playhead follows
    this.state = INITIAL_STATE
    this.clear()
    /** @type {any} */
    this.decoder = this.isRecording ? new RecordingDecoder(this) : new RunDecoder(this)
  }

  clear() {
    /** @type {any} the header of the rows; of a recording also `about`, its first line */
    this.header = null
    this.tracks = {}
    this.width = 0 // numbers per row
    /** @type {Float32Array | Float64Array} */
    this.rows = new Float64Array(0)
    /** @type {Uint8Array | null} 1 for each measured number of `rows`; null: all are */
    this.measured = null
    this.steps = []
    this.stride = 1 // steps from one row to the next
    this.frames = Array.from({ length: this.seeds }, () => [])
    this.sentences = Object.create(null) // a recording may name a kind __proto__
    this.changedFrom = 0 // the first step to draw again; Infinity if there is none
  }

  receive(message) {
    if (message.kind === "header") this.setHeader(message)
    else if (message.kind === "rows") this.decoder.receive(message)
    else if (message.kind === "frames") this.addFrames(message.seed, message.frames)
    else if (message.kind === "sentences") this.addSentences(message.sentences)
    else if (message.kind === "state") this.setState(message)
    else if (message.kind === "file") this.decoder.follow(message)
  }

  // Marks a step and all later ones as changed; the player sets `changedFrom` back to Infinity when it draws them.
  markChanged(step) {
    this.changedFrom = Math.min(this.changedFrom, step)
  }

  get request() {
    return this.decoder.request
  }

  // Steps up to the last row, including step 0, the net before training.
  get length() {
    return (this.steps.at(-1) ?? -1) + 1
  }

  // Whether there are rows after step 0.
  get trained() {
    return this.length > 1 || this.state.done
  }

  // Whether no more rows will arrive: the run is done, or it has failed.
  get isOver() {
    return this.state.done || Boolean(this.state.error)
  }

  get outcome() {
    return this.state.outcomes[0] ?? null
  }

  // Whether all seeds have diverged.
  get hasDiverged() {
    return this.state.outcomes.length > 0 && this.state.outcomes.every(Boolean)
  }

  // The position to draw: at most the last step, which is that of the divergence in a diverged run.
  /** @param {Pick<Moment, "position">} moment */
  drawnPosition({ position }) {
    return Math.min(position, this.length - 1)
  }

  // Why the run ended at or before a step, an error or a divergence; empty if it did not.
  endReason(step) {
    return this.state.error || (this.outcome && step >= this.outcome.step ? this.outcome.sentence : "")
  }

  setHeader(header) {
    this.header = header
    this.last = header.last
    this.tracks = Object.fromEntries(header.tracks.map((track) => [track.name, track]))
    this.width = header.width * header.seeds
    this.markChanged(0)
  }

  // Grows the buffers to hold `count` rows, of at most `maxCount` ever.
  reserve(count, maxCount = Infinity) {
    const size = count * this.width
    if (size <= this.rows.length) return
    const capacity = Math.max(size, Math.min(GROWTH_FACTOR * size, maxCount * this.width))
    const grow = (buffer) => {
      const larger = new buffer.constructor(capacity)
      larger.set(buffer)
      return larger
    }
    this.rows = grow(this.rows)
    this.measured &&= grow(this.measured)
  }

  // Stores the rows of consecutive steps from `start` on; ignores rows after a gap.
  setRows(start, numbers) {
    if (start > this.steps.length) return
    const end = start + numbers.length / this.width
    this.reserve(end, this.last + 1)
    this.rows.set(numbers, start * this.width)
    while (this.steps.length < end) this.steps.push(this.steps.length)
    this.markChanged(start)
  }

  // Appends the row of a step; null stands for numbers that were not measured.
  appendRow(step, numbers) {
    this.measured ??= new Uint8Array(this.rows.length)
    this.reserve(this.steps.length + 1)
    const start = this.steps.length * this.width
    for (const [i, value] of numbers.entries()) {
      this.rows[start + i] = value ?? NaN
      this.measured[start + i] = Number(value !== null)
    }
    this.steps.push(step)
    this.last = step
    this.markChanged(step)
  }

  // Replaces all entries from the step of the first newer entry on.
  replaceFrom(entries, newer, stepOf) {
    const first = stepOf(newer[0])
    while (entries.length && stepOf(entries.at(-1)) >= first) entries.pop()
    entries.push(...newer)
    this.markChanged(first)
  }

  addFrames(seed, frames) {
    this.replaceFrom(this.frames[seed], frames, ({ step }) => step)
  }

  addSentences(changesByKind) {
    for (const [kind, changes] of Object.entries(changesByKind))
      this.replaceFrom((this.sentences[kind] ??= []), changes, ([step]) => step)
  }

  setState(state) {
    const drawnPart = ({ outcomes, done }) => JSON.stringify([outcomes, done])
    if (drawnPart(state) !== drawnPart(this.state)) this.markChanged(0)
    this.state = state
  }

  // The number of rows up to and including a step; a recording may have a row every few steps only.
  rowsUntil(step) {
    if (this.steps[step] === step) return step + 1 // a row for every step
    let [low, high] = [0, this.steps.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.steps[middle] <= step) low = middle + 1
      else high = middle
    }
    return low
  }

  rowAt(step) {
    return Math.max(0, this.rowsUntil(step) - 1)
  }

  // The numbers of a track in one row; undefined for those not measured.
  values(track, row, seed = 0) {
    const { start, width } = this.tracks[track]
    const first = row * this.width + seed * this.header.width + start
    const values = this.rows.subarray(first, first + width)
    return this.measured ? Array.from(values, (value, i) => (this.measured?.[first + i] ? value : undefined)) : values
  }

  number(track, step, seed = 0) {
    return this.values(track, this.rowAt(step), seed)[0]
  }

  // The first number of a track in each of the first `rows` rows; NaN if not measured.
  column(track, rows, seed = 0) {
    return Float64Array.from({ length: rows }, (_, row) => this.values(track, row, seed)[0] ?? NaN)
  }

  // A vector at a position; between two rows, positive values are interpolated geometrically.
  /** @returns {ArrayLike<number> & { map: any }} */
  vector(track, position, seed = 0) {
    if (!this.tracks[track]) return []
    const row = this.rowAt(position)
    const values = this.values(track, row, seed)
    const share = position - this.steps[row]
    if (!(share > 0) || this.steps[row + 1] !== this.steps[row] + 1) return values
    const next = this.values(track, row + 1, seed)
    return values.map((from, i) => {
      const to = next[i]
      return from > 0 && to > 0 && Number.isFinite(from) && Number.isFinite(to) ? from * (to / from) ** share : from
    })
  }

  // The last frame at or before a step; of a recording, the last one that has measured the track.
  frame(step, seed = 0, track = "") {
    const hasTrack = (frame) => !this.isRecording || !track || track in frame
    return this.frames[seed].findLast((frame) => frame.step <= step && hasTrack(frame))
  }

  // A recording's names of the sites or blocks of a track.
  placeNames(track) {
    return SITE_TRACKS.includes(track) ? this.header.sites : this.header.blocks
  }

  // The sentence of a kind at a step, or at the last row before it; empty if there is none.
  sentence(kind, atStep) {
    if (!this.length) return ""
    if (kind === "notes") return this.header.about?.notes.join(" ") ?? ""
    const step = this.steps[this.rowAt(atStep)]
    const texts = (JOINED_KINDS[kind] ?? [kind]).map((part) => {
      const [, template] = this.sentences[part]?.findLast(([first]) => first <= step) ?? []
      return template?.replace("{step}", step).replace("{loss}", () => brief(this.number("loss", step)))
    })
    return texts.filter(Boolean).join(" ")
  }

  // The arrangement that a recording resembles in its first row.
  get like() {
    return this.sentence("like", 0)
  }
}
