// A log in the browser, of a run or of a recording: numbers by row, frames, and what is said of them. Its decoder knows how
// they come.

import { Lines } from "./lines.js"
import { brief } from "./number.js"

/** @import { Moment } from "./playhead.js" */

const GROWTH = 2
const SUMS = ["act_rms", "grad_rms", "sample_cosine"] // tracks over the sites of the stream; others are over blocks
const TOGETHER = { verdict: ["verdict", "jumps", "lost"], findings: ["findings", "ids", "helps"] } // sentences in one place
const UNKNOWN = {
  done: false,
  outcomes: [],
  error: "",
  place: 0,
  rate: 0,
  recomputing: false,
  parameters: 0,
  device: "",
}

// Decodes the log of a run: rows of fixed width in float32, which come from a row on.
class Rows {
  constructor(log) {
    this.log = log
    log.rows = new Float32Array(0)
  }

  // What a connection asks for. `have`: rows that need not be sent; 0 while the rows here are the app's recorded ones.
  get asks() {
    const { link, seeds, length, state } = this.log
    return { link, seeds, have: state.recorded ? 0 : length }
  }

  receive({ start, data }) {
    this.log.put(start, new Float32Array(data.buffer, data.byteOffset, data.length / 4))
  }
}

export class RunLog {
  // `recording`: the name of a recording of the server's, or null for a file of the visitor's; a run has none.
  constructor({ link, seeds = 1, last = 0, recording = undefined, name = recording ?? "" }) {
    this.link = link
    this.seeds = seeds
    this.last = last
    this.name = name
    this.recording = recording
    this.isRecording = recording !== undefined
    this.local = recording === null
    this.state = UNKNOWN
    this.clear()
    /** @type {any} */
    this.decoder = this.isRecording ? new Lines(this) : new Rows(this)
  }

  clear() {
    /** @type {any} of a run: the header of its rows; of a recording also its first line, `about` */
    this.header = null
    this.tracks = {}
    this.width = 0 // numbers of a row
    /** @type {Float32Array | Float64Array} */
    this.rows = new Float64Array(0)
    /** @type {Uint8Array | null} which of them were measured; null: all */
    this.known = null
    this.steps = []
    this.stride = 1 // steps from one row to the next
    this.frames = Array.from({ length: this.seeds }, () => [])
    this.sentences = Object.create(null) // a stranger may name a kind __proto__
    this.fresh = 0
  }

  // Takes a message about it, wherever that comes from.
  hear(message) {
    if (message.kind === "header") this.describe(message)
    else if (message.kind === "rows") this.decoder.receive(message)
    else if (message.kind === "frames") this.add(message.seed, message.frames)
    else if (message.kind === "sentences") this.addSentences(message.sentences)
    else if (message.kind === "state") this.become(message)
    else if (message.kind === "file") this.decoder.follow(message)
  }

  // Marks a step and all after it as changed; the player sets `fresh` back to Infinity when it draws them.
  touch(step) {
    this.fresh = Math.min(this.fresh, step)
  }

  get asks() {
    return this.decoder.asks
  }

  // How many steps there are up to the last row, with the net before training.
  get length() {
    return (this.steps.at(-1) ?? -1) + 1
  }

  // Whether there is more than the net before training.
  get trained() {
    return this.length > 1 || this.state.done
  }

  // Whether no more rows will come: the run is done, or it has failed.
  get over() {
    return this.state.done || Boolean(this.state.error)
  }

  get outcome() {
    return this.state.outcomes[0] ?? null
  }

  // Whether all seeds have diverged.
  get lost() {
    return this.state.outcomes.length > 0 && this.state.outcomes.every(Boolean)
  }

  // The step that a player plays to: the last one, of a run that diverged the last finite one.
  get playsTo() {
    return Math.max(0, Math.min(this.lost ? this.endsAt - 1 : Infinity, this.length - 1))
  }

  // The step at which the last seed diverged, of a run that is lost.
  get endsAt() {
    return Math.max(...this.state.outcomes.map(({ step }) => step))
  }

  // The step to draw: of a diverged run the last finite one, unless the playhead rests exactly on the divergence.
  /** @param {Pick<Moment, "position" | "shown" | "playing">} moment */
  drawnAt({ position, shown, playing }) {
    if (this.lost && (playing || shown !== this.endsAt)) return Math.min(position, this.playsTo)
    return Math.min(position, this.length - 1)
  }

  // The step that sentences are about: at the rest of a run that was seen to diverge, its divergence.
  /** @param {Pick<Moment, "shown" | "furthest">} moment */
  sentenceStep({ shown, furthest }) {
    const seen = this.lost && shown >= this.playsTo && furthest >= this.endsAt
    return seen ? this.endsAt : shown
  }

  // Why the run ended at or before a step: an error or a divergence; empty until then.
  end(step) {
    return this.state.error || (this.outcome && step >= this.outcome.step ? this.outcome.sentence : "")
  }

  describe(header) {
    this.header = header
    this.last = header.last
    this.tracks = Object.fromEntries(header.tracks.map((track) => [track.name, track]))
    this.width = header.width * header.seeds
    this.touch(0)
  }

  // Makes room for so many rows, of `most` that there can be.
  reserve(count, most = Infinity) {
    const size = count * this.width
    if (size <= this.rows.length) return
    const room = Math.max(size, Math.min(GROWTH * size, most * this.width))
    const grown = (had) => {
      const more = new had.constructor(room)
      more.set(had)
      return more
    }
    this.rows = grown(this.rows)
    this.known &&= grown(this.known)
  }

  // Takes rows of every step from `start` on.
  put(start, numbers) {
    if (start > this.steps.length) return // no server of ours sends a gap
    const end = start + numbers.length / this.width
    this.reserve(end, this.last + 1)
    this.rows.set(numbers, start * this.width)
    while (this.steps.length < end) this.steps.push(this.steps.length)
    this.touch(start)
  }

  // Takes the row of a step, null for what was not measured.
  append(step, numbers) {
    this.known ??= new Uint8Array(this.rows.length)
    this.reserve(this.steps.length + 1)
    const from = this.steps.length * this.width
    for (const [at, value] of numbers.entries()) {
      this.rows[from + at] = value ?? NaN
      this.known[from + at] = Number(value !== null)
    }
    this.steps.push(step)
    this.last = step
    this.touch(step)
  }

  // Takes what holds from a step on, in place of what is known from there.
  replace(known, news, stepOf) {
    const from = stepOf(news[0])
    while (known.length && stepOf(known.at(-1)) >= from) known.pop()
    known.push(...news)
    this.touch(from)
  }

  add(seed, frames) {
    this.replace(this.frames[seed], frames, ({ step }) => step)
  }

  addSentences(changesByKind) {
    for (const [kind, changes] of Object.entries(changesByKind))
      this.replace((this.sentences[kind] ??= []), changes, ([step]) => step)
  }

  become(state) {
    if (JSON.stringify([state.outcomes, state.done]) !== JSON.stringify([this.state.outcomes, this.state.done]))
      this.touch(0)
    this.state = state
  }

  // How many rows there are up to a step: a recording may have one every few steps only.
  until(step) {
    if (this.steps[step] === step) return step + 1
    let [low, high] = [0, this.steps.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.steps[middle] <= step) low = middle + 1
      else high = middle
    }
    return low
  }

  rowAt(step) {
    return Math.max(0, this.until(step) - 1)
  }

  // The numbers of a track in one row; undefined where nothing was measured.
  at(track, row, seed = 0) {
    const { start, width } = this.tracks[track]
    const from = row * this.width + seed * this.header.width + start
    const values = this.rows.subarray(from, from + width)
    return this.known ? Array.from(values, (value, place) => (this.known?.[from + place] ? value : undefined)) : values
  }

  number(track, step, seed = 0) {
    return this.at(track, this.rowAt(step), seed)[0]
  }

  // The first number of a track in each of the first rows; NaN where not measured.
  column(track, rows, seed = 0) {
    return Float64Array.from({ length: rows }, (_, row) => this.at(track, row, seed)[0] ?? NaN)
  }

  // A vector at a position; between two rows, positive values are interpolated by their ratio.
  /** @returns {ArrayLike<number> & { map: any }} */
  vector(track, position, seed = 0) {
    if (!this.tracks[track]) return []
    const row = this.rowAt(position)
    const values = this.at(track, row, seed)
    const share = position - this.steps[row]
    if (!(share > 0) || this.steps[row + 1] !== this.steps[row] + 1) return values
    const next = this.at(track, row + 1, seed)
    return values.map((from, place) => {
      const to = next[place]
      return from > 0 && to > 0 && Number.isFinite(from) && Number.isFinite(to) ? from * (to / from) ** share : from
    })
  }

  // The last frame at or before a step; in a recording, that has measured this track.
  frame(step, seed = 0, track = "") {
    const measured = (frame) => !this.isRecording || !track || track in frame
    return this.frames[seed].findLast((frame) => frame.step <= step && measured(frame))
  }

  // The names of the places of a track, in a recording.
  names(track) {
    return SUMS.includes(track) ? this.header.sites : this.header.blocks
  }

  // The sentence at a step, or at the last one if the run has ended before.
  sentence(kind, at) {
    if (!this.length) return ""
    if (kind === "notes") return this.header.about?.notes.join(" ") ?? ""
    const step = this.steps[this.rowAt(at)]
    const texts = (TOGETHER[kind] ?? [kind]).map((part) => {
      const [, template] = this.sentences[part]?.findLast(([from]) => from <= step) ?? []
      return template?.replace("{step}", step).replace("{loss}", () => brief(this.number("loss", step)))
    })
    return texts.filter(Boolean).join(" ")
  }

  // The arrangement that a recording resembles in its first row.
  get like() {
    return this.sentence("like", 0)
  }
}
