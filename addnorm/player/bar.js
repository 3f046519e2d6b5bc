// The bar of the player: buttons, a select and a slider that move a playhead.

import { setText } from "./dom.js"
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
  /** @type {{ down?: PointerEvent, row?: number } | undefined} a touch on the slider that may become a scroll */
  touch

  // `moves`: the functions play, pause, step, reset, seek(row) and speed(name).
  constructor(place, moves) {
    place.innerHTML = HTML
    const find = (name) => place.querySelector(name)
    this.main = find(".player-main")
    this.scrub = find(".player-scrub")
    this.range = find("input")
    this.output = find("output")
    this.select = find("select")
    this.select.append(...Object.keys(SPEEDS).map((name) => new Option(name, name)))
    this.main.onclick = () => (this.playing ? moves.pause() : moves.play())
    find(".player-step").onclick = () => moves.step()
    find(".player-reset").onclick = () => moves.reset()
    this.select.onchange = () => moves.speed(this.select.value)
    this.range.oninput = () => {
      const row = Number(this.range.value)
      if (!this.touch) return moves.seek(row)
      this.touch.row = row
      this.range.value = this.shown
    }
    // A touch on the slider may scroll the page: it moves the playhead once it goes sideways, or when it ends.
    const acceptTouch = () => {
      const row = this.touch?.row ?? this.shown
      this.touch = undefined
      if (row !== this.shown) moves.seek(row)
    }
    this.range.onpointerdown = (event) => (this.touch = event.pointerType === "touch" ? { down: event } : undefined)
    this.range.onpointermove = ({ clientX, clientY }) => {
      const { down } = this.touch ?? {}
      if (down && Math.abs(clientX - down.clientX) > Math.abs(clientY - down.clientY)) acceptTouch()
    }
    this.range.onpointerup = acceptTouch
    this.range.onpointercancel = () => (this.touch = undefined) // the browser scrolls
  }

  // Puts the element of a chart under the slider, which then covers its plot.
  putUnderSlider(home, { height, figure }) {
    this.scrub.style.setProperty("--height", `${height}px`)
    if (home.parentElement === this.scrub) return
    this.scrub.prepend(home)
    this.cover(figure.layout.margin) // until the plot is drawn
  }

  // Makes the slider cover a plot with these margins in pixels.
  cover(margins) {
    for (const side of ["l", "r", "t", "b"]) this.scrub.style.setProperty(`--${side}`, `${margins[side]}px`)
  }

  // `startLabel`: the label of the main button while the playhead rests.
  show(playhead, startLabel) {
    this.playing = playhead.playing
    this.shown = playhead.shown
    setText(this.main, playhead.playing ? "Pause" : startLabel)
    this.main.style.setProperty("--letters", startLabel.length)
    this.main.classList.toggle("playing", playhead.playing)
    const last = Math.max(1, playhead.last)
    if (this.range.max !== String(last)) this.range.max = last
    if (this.range.step !== String(playhead.stride)) this.range.step = playhead.stride
    if (Number(this.range.value) !== playhead.shown) this.range.value = playhead.shown
    this.output.textContent = playhead.shown
    if (this.select.value !== playhead.speed) this.select.value = playhead.speed
  }
}
