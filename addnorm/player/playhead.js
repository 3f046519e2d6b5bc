// A viewer's position in one or more logs. Independent of the page: `tick` gets the time and the extent of the logs.

/** @import { RunLog } from "./runlog.js" */

/**
 * What a frame draws: the logs of the page, and the state of its playhead.
 * @typedef {object} Moment
 * @property {RunLog[]} logs by the index of their run on the page
 * @property {number} position in steps; between two steps while the playhead moves
 * @property {number} shown the step at or before the position
 * @property {number} furthest step that this viewer has seen
 * @property {boolean} playing
 * @property {boolean} [calm] whether the viewer prefers reduced motion
 * @property {boolean} [alone] whether only one run moves, that of a scene
 * @property {string} [about] what does not change while the runs are trained
 * @property {number} [time] seconds on the clock of the page; undefined for a chart without a player
 */

export const SPEEDS = { "1 step/s": 1, "5 steps/s": 5, "25 steps/s": 25, "full speed": null }
const FULL_SPEED_SECONDS = 8 // in which full speed plays a whole log, unless the trainer is slower
const MIN_LENGTH = 300 // steps; shorter logs play at the rate of a log of this length
const AHEAD_SECONDS = 6 // how far ahead of a slow playhead to request rows
const RATE_SECONDS = 2 // window in which to measure the rate of arrivals
const BUFFER_SECONDS = 0.3 // rows held back to smooth out bursts
const MAX_TICK_SECONDS = 0.25 // a page that was hidden goes on from its old position

// The last step to which several logs can be played together, and whether all are over. Logs that are over do not limit
// the others; at the end it is the last step of the longest.
export const extentOf = (logs) => {
  const growing = logs.filter((log) => !log.isOver)
  const ends = (growing.length ? growing : logs).map(({ length }) => Math.max(0, length - 1))
  return { playable: growing.length ? Math.min(...ends) : Math.max(0, ...ends), isOver: !growing.length }
}

export class Playhead {
  constructor(last, speed = "full speed") {
    this.last = last
    this.speed = speed
    this.stride = 1 // steps from one row to the next
    this.position = 0
    this.furthest = 0
    this.playing = false
    this.ended = false
    this.arrivals = [] // [seconds, playable] of recent ticks
  }

  get shown() {
    return Math.floor(this.position)
  }

  // At the end, the first `tick` starts over from 0.
  play(time) {
    this.playing = true
    this.startsOver = true
    this.ended = false
    this.tickedAt = time
    this.arrivals = []
  }

  pause() {
    this.playing = false
    this.position = this.shown // on a row, never between two
  }

  step() {
    this.pause()
    this.seek(this.shown + this.stride)
  }

  reset() {
    this.pause()
    this.position = 0
    this.furthest = 0
    this.ended = false
  }

  seek(row) {
    this.position = Math.min(Math.max(Math.round(row / this.stride) * this.stride, 0), this.last)
    this.furthest = Math.max(this.furthest, this.position)
    this.ended = false
  }

  // Advances by the time passed, at most to the last row; stops at the end once all logs are over.
  tick(time, { playable, isOver }) {
    if (!this.playing) return
    if (this.startsOver && (this.shown >= this.last || (isOver && this.shown >= playable))) this.position = 0
    this.startsOver = false
    const seconds = Math.min(Math.max(time - this.tickedAt, 0), MAX_TICK_SECONDS)
    this.tickedAt = time
    const next = this.position + this.rowsPerSecond(time, playable, isOver) * seconds
    this.position = Math.max(this.position, Math.min(next, playable)) // never back, even if rows are missing
    this.furthest = Math.max(this.furthest, this.shown)
    if (isOver && this.position >= playable) {
      this.pause()
      this.ended = true
    }
  }

  // Stops at the first row after `before`, of the `rows` available, whose loss is at most `target`. Returns that row, or null
  // if there is none. A target of 0 never stops.
  stopAt(before, rows, target, lossOf) {
    if (!this.playing || !(target > 0)) return null
    for (let row = before + 1; row <= Math.min(this.shown, rows - 1); row++) {
      if (!(lossOf(row) <= target)) continue
      this.pause()
      this.seek(row)
      return row
    }
    return null
  }

  // Returns the speed: at full speed the rate at which rows arrive, adjusted to keep a small buffer.
  rowsPerSecond(time, playable, isOver) {
    const fixedRate = SPEEDS[this.speed]
    if (fixedRate) return fixedRate * this.stride
    const maxRate = Math.max(this.last, MIN_LENGTH) / FULL_SPEED_SECONDS
    const { arrivals } = this
    arrivals.push([time, playable])
    while (arrivals.length > 2 && arrivals[0][0] < time - RATE_SECONDS) arrivals.shift()
    const [since, playableThen] = arrivals[0]
    const rate = time - since > BUFFER_SECONDS ? (playable - playableThen) / (time - since) : 0
    const buffered = playable - this.position
    if (isOver || buffered > 2 * RATE_SECONDS * Math.max(rate, 1)) return maxRate
    if (!rate) return Math.min(maxRate, buffered / BUFFER_SECONDS)
    const targetBuffer = Math.max(rate * BUFFER_SECONDS, 1)
    return Math.min(maxRate, rate * Math.min(Math.max(buffered / targetBuffer, 0.2), 3))
  }

  // Returns the number of rows to request now, counted from step 0.
  rowsWanted() {
    if (!this.playing) return this.shown ? this.shown + 1 : 0
    const rate = SPEEDS[this.speed]
    if (!rate) return this.last + 1
    const seconds = Math.floor(this.position / rate) // whole ones: the request must not change with every frame
    return Math.min(this.last + 1, (seconds + AHEAD_SECONDS) * rate + 2)
  }
}
