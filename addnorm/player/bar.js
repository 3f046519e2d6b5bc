// The bar of the player: native buttons, a select and a slider that move a playhead.

import { translated, write } from "./dom.js"
import { SPEEDS } from "./playhead.js"

const HTML = `
<button type="button" class="player-main"></button>
<button type="button" class="player-step" title="One training step, then pause.">Step</button>
<button type="button" class="player-reset" title="Back to the net before training.">Reset</button>
<label class="player-speed">Speed<select></select></label>
<div class="player-scrub" role="group" aria-label="Step shown">
  <span aria-hidden="true">Step shown</span><output aria-hidden="true"></output>
  <input type="range" min="0" step="1" aria-label="Step shown" title="The number of updates the net has had. At step 0 it is new.">
</div>`

export class Bar {
  /** @type {{ down?: PointerEvent, row?: number } | undefined} */
  finger

  // `moves`: functions by name: play, pause, step, reset, seek(row), speed(word).
  constructor(place, moves) {
    place.innerHTML = HTML
    const find = (name) => place.querySelector(name)
    this.main = find(".player-main")
    this.scrub = find(".player-scrub")
    this.range = find("input")
    this.output = find("output")
    this.select = find("select")
    this.select.append(...Object.keys(SPEEDS).map((word) => new Option(translated(word), word)))
    this.main.onclick = () => (this.playing ? moves.pause() : moves.play())
    find(".player-step").onclick = () => moves.step()
    find(".player-reset").onclick = () => moves.reset()
    this.select.onchange = () => moves.speed(this.select.value)
    this.range.oninput = () => {
      const row = Number(this.range.value)
      if (!this.finger) return moves.seek(row)
      this.finger.row = row
      this.range.value = this.shown
    }
    // A finger on the slider may be about to scroll the page: it counts once it goes sideways, or when it is lifted.
    const counts = () => {
      const row = this.finger?.row ?? this.shown
      this.finger = undefined
      if (row !== this.shown) moves.seek(row)
    }
    this.range.onpointerdown = (event) => (this.finger = event.pointerType === "touch" ? { down: event } : undefined)
    this.range.onpointermove = ({ clientX, clientY }) => {
      const { down } = this.finger ?? {}
      if (down && Math.abs(clientX - down.clientX) > Math.abs(clientY - down.clientY)) counts()
    }
    this.range.onpointerup = counts
    this.range.onpointercancel = () => (this.finger = undefined) // the browser scrolls
  }

  // Puts a chart under the slider, which then covers its plot.
  under(home, { height, figure }) {
    if (home.parentElement !== this.scrub) this.scrub.prepend(home)
    const { margin, bind } = figure.layout
    this.scrub.style.setProperty("--height", `${height}px`)
    for (const [side, pixels] of Object.entries(margin)) // which `enlargedLayout` scales for a projector
      this.scrub.style.setProperty(`--${side}`, `${Math.round(pixels * (bind?.scale ?? 1))}px`)
  }

  // `start`: the word on the main button while the playhead rests.
  show(playhead, start) {
    this.playing = playhead.playing
    this.shown = playhead.shown
    write(this.main, playhead.playing ? "Pause" : start)
    this.main.style.setProperty("--letters", start.length)
    this.main.classList.toggle("playing", playhead.playing)
    const last = Math.max(1, playhead.last)
    if (this.range.max !== String(last)) this.range.max = last
    if (this.range.step !== String(playhead.stride)) this.range.step = playhead.stride
    if (Number(this.range.value) !== playhead.shown) this.range.value = playhead.shown
    this.output.textContent = playhead.shown
    if (this.select.value !== playhead.speed) this.select.value = playhead.speed
  }
}
