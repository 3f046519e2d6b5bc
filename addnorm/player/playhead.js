// A viewer's place on one or more logs. It knows no page: `tick` is given the time and how far the logs reach.

/** @import { RunLog } from "./runlog.js" */

/**
 * The moment that a frame draws: the logs of the page and the step of its playhead.
 * @typedef {object} Moment
 * @property {RunLog[]} logs by the number of their run on the page
 * @property {number} position in steps; between two steps while the playhead moves
 * @property {number} shown the step at or before the position
 * @property {number} furthest step that this viewer has seen
 * @property {boolean} playing
 * @property {boolean} [calm] whether the viewer prefers reduced motion
 * @property {boolean} [alone] whether only the run of a scene moves
 * @property {number} [time] seconds on the clock of the page; a chart without a player has none
 */

export const SPEEDS = { "1 step/s": 1, "5 steps/s": 5, "25 steps/s": 25, "full speed": null }
const WHOLE_SECONDS = 8 // to play a whole log at full speed, unless the trainer is slower
const SHORT = 300 // steps: a shorter log is played at the rate of one of this length
const AHEAD_SECONDS = 6 // how far ahead of a slow playhead rows are asked for
const MEASURED_SECONDS = 2 // over which the rate of arrivals is measured
const BUFFER_SECONDS = 0.3 // of rows that are held back, so that bursts do not show
const MAX_TICK = 0.25 // seconds: a page that was hidden goes on from where it was

// How far several logs reach together: to the end of the slowest that is not over, or else to the rest of the longest.
export const reach = (logs) => {
  const going = logs.filter((log) => !log.over)
  const ends = (going.length ? going : logs).map(({ length, playsTo = length - 1 }) => Math.max(0, playsTo))
  return { there: going.length ? Math.min(...ends) : Math.max(0, ...ends), over: !going.length }
}

export class Playhead {
  // `stride`: steps from one row to the next.
  constructor(last, speed = "full speed") {
    this.last = last
    this.speed = speed
    this.stride = 1
    this.position = 0
    this.furthest = 0
    this.playing = false
    this.ended = false
    this.arrivals = []
  }

  get shown() {
    return Math.floor(this.position)
  }

  // The first `tick` begins again from 0 if the playhead is at the end.
  play(time) {
    this.playing = true
    this.pressed = true
    this.ended = false
    this.ticked = time
    this.arrivals = []
  }

  pause() {
    this.playing = false
    this.position = this.shown // rests on a row, never between two
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

  // Moves on by the time that has passed, at most to the last row; stops when all logs are over.
  tick(time, { there, over }) {
    if (!this.playing) return
    if (this.pressed && (this.shown >= this.last || (over && this.shown >= there))) this.position = 0
    this.pressed = false
    const seconds = Math.min(Math.max(time - this.ticked, 0), MAX_TICK)
    this.ticked = time
    const further = this.position + this.velocity(time, there, over) * seconds
    this.position = Math.max(this.position, Math.min(further, there)) // never back, even if rows are missing
    this.furthest = Math.max(this.furthest, this.shown)
    if (over && this.position >= there) {
      this.pause()
      this.ended = true
    }
  }

  // Stops at the first row after `before` whose loss is at most the target, and returns that row; a target of 0 is none.
  stopAt(before, have, target, loss) {
    if (!this.playing || !(target > 0)) return null
    for (let row = before + 1; row <= Math.min(this.shown, have - 1); row++) {
      if (!(loss(row) <= target)) continue
      this.pause()
      this.seek(row)
      return row
    }
    return null
  }

  // Rows a second: at full speed the rate of arrivals, adjusted to keep a small buffer.
  velocity(time, there, over) {
    const fixed = SPEEDS[this.speed]
    if (fixed) return fixed * this.stride
    const most = Math.max(this.last, SHORT) / WHOLE_SECONDS
    const seen = this.arrivals
    seen.push([time, there])
    while (seen.length > 2 && seen[0][0] < time - MEASURED_SECONDS) seen.shift()
    const [since, before] = seen[0]
    const rate = time - since > BUFFER_SECONDS ? (there - before) / (time - since) : 0
    const buffered = there - this.position
    if (over || buffered > 2 * MEASURED_SECONDS * Math.max(rate, 1)) return most
    if (!rate) return Math.min(most, buffered / BUFFER_SECONDS)
    const wanted = Math.max(rate * BUFFER_SECONDS, 1)
    return Math.min(most, rate * Math.min(Math.max(buffered / wanted, 0.2), 3))
  }

  // How many rows this viewer needs now or soon.
  wanted() {
    if (!this.playing) return this.shown ? this.shown + 1 : 0
    const rate = SPEEDS[this.speed]
    // In whole seconds of rows, so that the request does not change with every frame.
    const soon = rate ? (Math.floor(this.position / rate) + AHEAD_SECONDS) * rate + 2 : this.last + 1
    return Math.min(this.last + 1, soon)
  }
}
