// The connection over which the logs of a page come, and the form of its messages.

const BACK_OFF = [500, 1000, 2000, 4000, 8000] // milliseconds before the next attempt to connect
const HEAD_BYTES = 16
const NOTE_PAUSE = 250 // milliseconds between two messages about the playhead
const REFUSED = 1008 // a websocket close code

// The rows of a message: run, first row, number of rows, turn of the hello; the rows follow.
const rowsOf = (buffer) => {
  const [run, start, count, turn] = new Uint32Array(buffer, 0, HEAD_BYTES / 4)
  return { kind: "rows", run, start, count, turn, data: new Uint8Array(buffer, HEAD_BYTES) }
}

export const bytes = (letters) => Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0))

// A message as it stands in a page or a file, where rows are text.
export const written = (message) => (typeof message === "string" ? rowsOf(bytes(message).buffer) : message)

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

  // Says which logs the page shows, whenever that changes.
  hello(ticket, logs, { wants, at, playing }) {
    this.ticket = ticket
    this.logs = logs
    this.wants = wants
    this.at = at
    this.playing = playing
    this.refusal = ""
    if (this.socket?.readyState === WebSocket.OPEN) this.greet()
    else this.connect()
  }

  // Sends at once how many rows are wanted, and a moment later where the playhead is and whether it plays.
  request({ wants, at, playing }) {
    const same = String(wants) === String(this.wants)
    if (same && at === this.at && playing === this.playing) return
    this.wants = wants
    this.at = at
    this.playing = playing
    if (!same) this.sendRequest()
    else this.later ??= setTimeout(() => this.sendRequest(), NOTE_PAUSE)
  }

  // Wants no more rows.
  rest() {
    if (this.logs) this.request({ wants: this.logs.map(() => 0), at: 0, playing: false })
  }

  sendRequest() {
    clearTimeout(this.later)
    this.later = undefined
    const { wants, at, playing } = this
    if (this.connected) this.socket.send(JSON.stringify({ kind: "request", wants, at, playing }))
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
    const runs = this.logs.map(({ asks }, at) => ({ ...asks, want: this.wants[at] ?? 0 }))
    this.socket.send(JSON.stringify({ kind: "hello", turn: ++this.turn, ticket: this.ticket, runs }))
    this.sendRequest()
    this.changed()
  }

  take(data) {
    const message = typeof data === "string" ? JSON.parse(data) : rowsOf(data)
    const log = this.logs[message.run]
    if (message.kind === "trainer") this.trainer = message
    else if (message.turn === this.turn && log) log.hear(message) // no reply to an earlier hello
    this.changed()
  }
}
