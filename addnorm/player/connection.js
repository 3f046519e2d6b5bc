// The websocket that delivers the logs of a page, and the format of its binary messages.

const BACK_OFF_MS = [500, 1000, 2000, 4000, 8000] // before the next attempt to connect
const HEAD_BYTES = 16 // of a binary message
const PLAYHEAD_DELAY_MS = 250 // before a moved playhead is sent, so that several moves share a message
const REFUSED = 1008 // websocket close code: policy violation

// A binary message: run, first row, number of rows and turn of the hello as uint32, then the rows.
const decodeRows = (buffer) => {
  const [run, start, count, turn] = new Uint32Array(buffer, 0, HEAD_BYTES / 4)
  return { kind: "rows", run, start, count, turn, data: new Uint8Array(buffer, HEAD_BYTES) }
}

export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))

// A message embedded in a page or a file, where rows are base64 text.
export const decodeEmbedded = (message) =>
  typeof message === "string" ? decodeRows(fromBase64(message).buffer) : message

export class Connection {
  constructor(address, onChange) {
    this.address = address
    this.onChange = onChange
    this.onNet = (_message) => {} // a net that was asked for is measured
    this.at = 0 // step of the playhead
    this.playing = false
    this.tries = 0
    this.turn = 0
    this.trainer = null
    this.refusal = ""
    this.connected = false
  }

  // Announces which logs the page shows; call it whenever they change.
  hello(ticket, logs, { wants, at, playing }) {
    this.ticket = ticket
    this.logs = logs
    this.wants = wants
    this.at = at
    this.playing = playing
    this.refusal = ""
    if (this.socket?.readyState === WebSocket.OPEN) this.sendHello()
    else this.connect()
  }

  // Sends a changed number of wanted rows at once, and a moved playhead after a pause.
  request({ wants, at, playing }) {
    const wantsSameRows = String(wants) === String(this.wants)
    if (wantsSameRows && at === this.at && playing === this.playing) return
    this.wants = wants
    this.at = at
    this.playing = playing
    if (!wantsSameRows) this.sendRequest()
    else this.requestTimer ??= setTimeout(() => this.sendRequest(), PLAYHEAD_DELAY_MS)
  }

  // Asks for the net that a drawing is to show; see control.js.
  ask(net) {
    if (this.connected) this.socket.send(JSON.stringify({ kind: "ask", net }))
  }

  // Requests no more rows.
  stopRequests() {
    if (this.logs) this.request({ wants: this.logs.map(() => 0), at: 0, playing: false })
  }

  sendRequest() {
    clearTimeout(this.requestTimer)
    this.requestTimer = undefined
    const { wants, at, playing } = this
    if (this.connected) this.socket.send(JSON.stringify({ kind: "request", wants, at, playing }))
  }

  close() {
    this.closed = true
    clearTimeout(this.timer)
    clearTimeout(this.requestTimer)
    this.socket?.close()
  }

  connect() {
    clearTimeout(this.timer)
    if (this.closed || this.socket?.readyState <= WebSocket.OPEN) return
    const socket = (this.socket = new WebSocket(this.address))
    socket.binaryType = "arraybuffer"
    socket.onopen = () => this.sendHello()
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket) return
      this.tries = 0
      this.receive(data)
    }
    socket.onclose = ({ code, reason }) => {
      if (socket !== this.socket || this.closed) return
      this.connected = false
      if (code === REFUSED && reason) this.refusal = reason
      else {
        const delay = BACK_OFF_MS[Math.min(this.tries++, BACK_OFF_MS.length - 1)]
        const jitter = 0.8 + Math.random() / 2 // so that not all browsers come back at once
        this.timer = setTimeout(() => this.connect(), delay * jitter)
      }
      this.onChange()
    }
  }

  sendHello() {
    this.connected = true
    const runs = this.logs.map(({ request }, index) => ({ ...request, want: this.wants[index] ?? 0 }))
    this.socket.send(JSON.stringify({ kind: "hello", turn: ++this.turn, ticket: this.ticket, runs }))
    this.sendRequest()
    this.onChange()
  }

  receive(data) {
    const message = typeof data === "string" ? JSON.parse(data) : decodeRows(data)
    const log = this.logs[message.run]
    if (message.kind === "trainer") this.trainer = message
    else if (message.kind === "net") this.onNet(message)
    else if (message.turn === this.turn && log) log.receive(message) // else the answer to an earlier hello
    this.onChange()
  }
}
