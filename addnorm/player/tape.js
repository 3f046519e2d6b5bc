// The tape of a run in the browser, and the connection over which its rows come.

const GROWTH = 2
const BACK_OFF = [500, 1000, 2000, 4000, 8000] // milliseconds before the next attempt to connect
const HEAD_BYTES = 16
const NOTE_PAUSE = 250 // milliseconds between two messages about the playhead
const REFUSED = 1008 // a websocket close code

const WRITTEN_OUT = 6 // decades, up and down, from which a number is written with a power of ten
const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 12 })
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
export const power = (exponent) => `10${String(exponent).replace(/./g, (sign) => RAISED[sign] ?? "⁻")}`

// A number with at most so many significant digits: 0.186, 63,000, 1.6·10¹⁶.
export const brief = (value, digits = 3) => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"
  const size = Math.abs(value)
  if (size >= 0.001 && size < 100) return String(Number(value.toPrecision(digits))) // a tenth of the time below
  const [mantissa, exponent] = value
    .toExponential(digits - 1)
    .split("e")
    .map(Number)
  if (exponent >= -WRITTEN_OUT && exponent < WRITTEN_OUT) return PLAIN.format(Number(value.toPrecision(digits)) + 0)
  if (Math.abs(mantissa) === 1) return `${mantissa < 0 ? "-" : ""}${power(exponent)}`
  return `${mantissa}·${power(exponent)}`
}

export class Tape {
  constructor({ link, seeds, last }) {
    this.link = link
    this.seeds = seeds
    this.last = last
    this.header = null
    this.length = 0
    this.fresh = 0
    /** @type {Float32Array | Float64Array} */
    this.rows = new Float32Array(0)
    this.frames = Array.from({ length: seeds }, () => [])
    this.said = {}
    this.state = { done: false, fates: [], error: "", place: 0, rate: 0, recomputing: false, parameters: 0, device: "" }
  }

  // Marks a row and all after it as changed; the stage sets `fresh` back to Infinity when it draws them.
  touch(row) {
    this.fresh = Math.min(this.fresh, row)
  }

  // How a connection asks for it: from which row on, which is the first while those that are here come with the app.
  /** @returns {object} */
  get asks() {
    return { link: this.link, seeds: this.seeds, have: this.state.recorded ? 0 : this.length }
  }

  // Whether there is more than the net before training.
  get trained() {
    return this.length > 1 || this.state.done
  }

  receive(start, count, data) {
    this.put(start, count, new Float32Array(data.buffer, data.byteOffset, data.length / 4))
  }

  // Whether no more rows will come: the run is done, or it has failed.
  get over() {
    return this.state.done || Boolean(this.state.error)
  }

  get fate() {
    return this.state.fates[0] ?? null
  }

  // Whether all seeds have diverged.
  get lost() {
    return this.state.fates.length > 0 && this.state.fates.every(Boolean)
  }

  // The row that a player plays to: the last one, of a run that diverged the last finite one.
  get playsTo() {
    return Math.max(0, Math.min(this.lost ? this.endsAt - 1 : Infinity, this.length - 1))
  }

  // The step at which the last seed diverged, of a run that is lost.
  get endsAt() {
    return Math.max(...this.state.fates.map(({ step }) => step))
  }

  // Where a run is drawn: what is lost is marked for whoever stands at that very step, and the last finite row otherwise.
  drawnAt({ position, shown, playing }) {
    if (this.lost && (playing || shown !== this.endsAt)) return Math.min(position, this.playsTo)
    return Math.min(position, this.length - 1)
  }

  // The row that sentences are about: at the rest of a run that was seen to diverge, its divergence.
  toldAt({ shown, furthest }) {
    const seen = this.lost && shown >= this.playsTo && furthest >= this.endsAt
    return seen ? this.endsAt : shown
  }

  // Why the run ended at or before a row: an error or a divergence; empty while it goes on.
  end(row) {
    return this.state.error || (this.fate && row >= this.fate.step ? this.fate.sentence : "")
  }

  describe(header) {
    this.header = header
    this.last = header.last
    this.tracks = Object.fromEntries(header.tracks.map((track) => [track.name, track]))
    this.width = header.width * header.seeds
  }

  put(start, count, numbers) {
    if (start > this.length) return // no server of ours sends a gap
    const end = start + count
    if (end * this.width > this.rows.length) {
      const most = Math.max(end, Math.min(GROWTH * end, this.last + 1))
      const grown = new Float32Array(most * this.width)
      grown.set(this.rows.subarray(0, this.length * this.width))
      this.rows = grown
    }
    this.rows.set(numbers, start * this.width)
    this.touch(start)
    this.length = Math.max(this.length, end)
  }

  // Takes what holds from a row on, in place of what is known from there.
  replace(known, news, rowOf) {
    const from = rowOf(news[0])
    while (known.length && rowOf(known.at(-1)) >= from) known.pop()
    known.push(...news)
    this.touch(from)
  }

  add(seed, frames) {
    this.replace(this.frames[seed], frames, ({ step }) => step)
  }

  say(said) {
    for (const [kind, changes] of Object.entries(said)) this.replace((this.said[kind] ??= []), changes, ([row]) => row)
  }

  become(state) {
    if (JSON.stringify([state.fates, state.done]) !== JSON.stringify([this.state.fates, this.state.done])) this.touch(0)
    this.state = state
  }

  // How many rows there are up to a step.
  until(step) {
    return Math.min(step + 1, this.length)
  }

  step(row) {
    return row
  }

  // Steps from one row to the next.
  get stride() {
    return 1
  }

  // A number over the first rows.
  /** @returns {Float32Array | Float64Array} */
  column(track, rows, seed = 0) {
    const values = new Float32Array(rows)
    const { start } = this.tracks[track]
    for (let row = 0, from = seed * this.header.width + start; row < rows; row++, from += this.width)
      values[row] = this.rows[from]
    return values
  }

  number(track, row, seed = 0) {
    return this.rows[row * this.width + seed * this.header.width + this.tracks[track].start]
  }

  // A vector at a position; between two rows, positive values are interpolated by their ratio.
  /** @returns {ArrayLike<number>} */
  vector(track, position, seed = 0) {
    const { start, width } = this.tracks[track]
    const row = Math.min(Math.floor(position), this.length - 1)
    const at = row * this.width + seed * this.header.width + start
    const share = row + 1 < this.length ? position - row : 0
    if (share <= 0) return this.rows.subarray(at, at + width)
    return this.rows.subarray(at, at + width).map((from, place) => {
      const to = this.rows[at + this.width + place]
      if (!(from > 0 && to > 0 && Number.isFinite(from) && Number.isFinite(to))) return from
      return from * (to / from) ** share
    })
  }

  // The last frame at or before a step.
  frame(step, seed = 0) {
    return this.frames[seed].findLast((frame) => frame.step <= step)
  }

  // The sentence at a row, or at the last one if the run has ended before.
  sentence(kind, at) {
    const row = Math.max(0, Math.min(at, this.length - 1))
    const [, template] = this.said[kind]?.findLast(([from]) => from <= row) ?? []
    if (!template || !this.length) return ""
    return template.replace("{step}", row).replace("{loss}", brief(this.number("loss", row)))
  }
}

// The rows of a message: run, first row, number of rows, turn of the hello; the rows follow.
const rowsOf = (buffer) => {
  const [run, start, count, turn] = new Uint32Array(buffer, 0, HEAD_BYTES / 4)
  return { kind: "rows", run, start, count, turn, data: new Uint8Array(buffer, HEAD_BYTES) }
}

export const bytes = (letters) => Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0))

// A message as it stands in a page or a file, where rows are text.
export const written = (message) => (typeof message === "string" ? rowsOf(bytes(message).buffer) : message)

// Changes a tape by a message about it, wherever it comes from.
export const hear = (tape, message) => {
  if (message.kind === "header") tape.describe(message)
  else if (message.kind === "rows") tape.receive(message.start, message.count, message.data)
  else if (message.kind === "frames") tape.add(message.seed, message.frames)
  else if (message.kind === "said") tape.say(message.said)
  else if (message.kind === "state") tape.become(message)
  else if (message.kind === "file") tape.follow(message)
}

export class Connection {
  constructor(address, changed) {
    this.address = address
    this.changed = changed
    this.at = 0
    this.playing = false
    this.tries = 0
    this.turn = 0
    this.trainer = null
    this.refusal = ""
    this.connected = false
  }

  // Says which tapes the page shows, whenever that changes.
  hello(ticket, tapes, { wants, at, playing }) {
    this.ticket = ticket
    this.tapes = tapes
    this.wants = wants
    this.at = at
    this.playing = playing
    this.refusal = ""
    if (this.socket?.readyState === WebSocket.OPEN) this.greet()
    else this.connect()
  }

  // Sends at once how many rows are wanted, and a moment later where the playhead is and whether it plays.
  wish({ wants, at, playing }) {
    const same = String(wants) === String(this.wants)
    if (same && at === this.at && playing === this.playing) return
    this.wants = wants
    this.at = at
    this.playing = playing
    if (!same) this.say()
    else this.later ??= setTimeout(() => this.say(), NOTE_PAUSE)
  }

  // Wants no more rows.
  rest() {
    if (this.tapes) this.wish({ wants: this.tapes.map(() => 0), at: 0, playing: false })
  }

  say() {
    clearTimeout(this.later)
    this.later = undefined
    const { wants, at, playing } = this
    if (this.connected) this.socket.send(JSON.stringify({ kind: "wish", wants, at, playing }))
  }

  close() {
    this.closed = true
    clearTimeout(this.timer)
    clearTimeout(this.later)
    this.socket?.close()
  }

  connect() {
    clearTimeout(this.timer)
    if (this.closed || this.socket?.readyState <= WebSocket.OPEN) return
    const socket = (this.socket = new WebSocket(this.address))
    socket.binaryType = "arraybuffer"
    socket.onopen = () => this.greet()
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket) return
      this.tries = 0
      this.take(data)
    }
    socket.onclose = ({ code, reason }) => {
      if (socket !== this.socket || this.closed) return
      this.connected = false
      if (code === REFUSED && reason) this.refusal = reason
      else
        this.timer = setTimeout(
          () => this.connect(),
          BACK_OFF[Math.min(this.tries++, BACK_OFF.length - 1)] * (0.8 + Math.random() / 2),
        )
      this.changed()
    }
  }

  greet() {
    this.connected = true
    const runs = this.tapes.map(({ asks }, at) => ({ ...asks, want: this.wants[at] ?? 0 }))
    this.socket.send(JSON.stringify({ kind: "hello", turn: ++this.turn, ticket: this.ticket, runs }))
    this.say()
    this.changed()
  }

  take(data) {
    const message = typeof data === "string" ? JSON.parse(data) : rowsOf(data)
    const tape = this.tapes[message.run]
    if (message.kind === "trainer") this.trainer = message
    else if (message.turn === this.turn && tape) hear(tape, message) // no reply to an earlier hello
    this.changed()
  }
}
