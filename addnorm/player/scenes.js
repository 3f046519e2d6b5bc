// A player that is scrolled: the scene in the middle of the screen decides what the picture beside it shows.

import { clock, made, onPlainClick, write } from "./dom.js"

const CHOICE_MILLISECONDS = 150 // without a change, before the page hears of a choice
const NARROW = "(max-width: 640px)" // the picture covers the upper part of the screen, and the text is below it
const BAR = 72 // pixels: Streamlit's header with a margin
// On a phone, where the reading line lies in the room below the picture (0 top, 1 bottom): the scene that crosses it is shown.
const COMES = 0.88
const SETTLE_SECONDS = 1
const ANSWER_SECONDS = 3 // in which the page hears of a scene that was gone to

// The controls for the reader's own net: depth, residual, norm.
class Choice {
  constructor(place, chosen) {
    this.el = made(place, "fieldset", "player-choice")
    made(this.el, "legend").textContent = "Your net"
    const depth = made(this.el, "label")
    this.depthLabel = made(depth, "span")
    this.depth = made(depth, "input")
    Object.assign(this.depth, { type: "range", min: 1, step: 1 })
    this.depth.setAttribute("aria-label", "Depth")
    const [residual, norm] = ["Residual", "Norm"].map((word) => {
      const label = made(this.el, "label")
      const box = made(label, "input")
      box.type = "checkbox"
      label.append(word)
      return box
    })
    this.residual = residual
    this.norm = norm
    this.el.oninput = () => {
      this.showDepth()
      clearTimeout(this.due)
      this.due = setTimeout(() => {
        this.due = undefined
        chosen({ depth: Number(this.depth.value), residual: residual.checked, norm: norm.checked })
      }, CHOICE_MILLISECONDS)
    }
  }

  declare({ depth, max_depth: maxDepth, residual, norm }) {
    if (this.due) return // the reader is dragging: that is newer
    this.depth.max = maxDepth
    this.depth.value = depth
    this.residual.checked = residual
    this.norm.checked = norm
    this.showDepth()
  }

  showDepth() {
    this.depthLabel.textContent = `Depth: ${this.depth.value}`
    this.depth.setAttribute("aria-valuetext", `${this.depth.value} blocks`)
  }
}

export class Scenes {
  /** @type {ResizeObserver | undefined} */
  sized

  // `entered()` is called whenever another scene comes to the middle; `at` is its number, counted from 0.
  constructor(root, { entered }) {
    this.root = root
    this.entered = entered
    this.at = 0
    this.until = 0
    this.answered = 0
    this.parts = []
    this.list = root.querySelector(".player-scenes")
    this.picture = root.querySelector(".player-picture")
    this.places = root.querySelector(".player-places")
  }

  declare({ scenes, scene }, fire) {
    this.fire = fire
    this.root.classList.toggle("story", scenes.length > 0)
    if (!scenes.length) return
    const fresh = this.parts.length !== scenes.length
    if (fresh) this.make(scenes)
    for (const [at, { title, choice }] of scenes.entries()) {
      const part = this.parts[at]
      part.heading.textContent = title
      if (choice) part.choice.declare(choice)
    }
    if (scene === this.wanted) return
    // After two quick moves the page may have heard of the first alone.
    if (clock() < this.answered) return fire("scene", this.wanted)
    this.wanted = scene
    this.show(scene - 1, fresh)
  }

  // Writes the texts. `watched(run)`: whether the reader has watched it to its end, which others may have done before.
  writeTexts(scenes, watched) {
    for (const [at, { text, after, run }] of scenes.entries())
      write(this.parts[at].text, after && watched(run) ? `${text} ${after}` : text)
  }

  make(scenes) {
    this.parts = scenes.map(({ choice }, at) => {
      const el = made(this.list, "li", "player-scene")
      const heading = made(el, "h2")
      const choicePanel = choice && new Choice(el, (chosen) => this.fire("choice", chosen)) // over the text, whose length changes
      const text = made(el, "p")
      const link = made(this.places, "a")
      link.textContent = at + 1
      link.href = `?scene=${at + 1}`
      onPlainClick(link, () => this.open(at))
      return { el, heading, text, link, choice: choicePanel }
    })
    this.watch()
    this.sized ??= new ResizeObserver(() => {
      this.watch()
      if (clock() < this.until) this.scroll()
    })
    this.sized.observe(this.picture)
  }

  // Watches which scene crosses the line where it is read: the middle of the screen, on a phone low in the room that the
  // picture leaves.
  watch() {
    const narrow = matchMedia(NARROW).matches
    const foot = Math.min(this.picture.offsetHeight + BAR, 0.9 * innerHeight)
    const line = narrow ? foot + COMES * (innerHeight - foot) : innerHeight / 2
    this.list.style.setProperty("--foot", narrow ? `${foot}px` : "22vh")
    this.observer?.disconnect()
    this.observer = new IntersectionObserver(
      (entries) => {
        const seen = entries.filter((entry) => entry.isIntersecting).at(-1)
        if (seen && clock() > this.until) this.enter(this.parts.findIndex(({ el }) => el === seen.target))
      },
      { rootMargin: `${-Math.floor(line)}px 0px ${-Math.floor(innerHeight - line - 1)}px 0px` },
    )
    for (const { el } of this.parts) this.observer.observe(el)
  }

  // Goes to a scene and says so.
  open(at) {
    this.wanted = at + 1
    this.answered = clock() + ANSWER_SECONDS
    this.fire("scene", at + 1)
    this.show(at)
  }

  // Goes some scenes on, or back, if there are any.
  turn(by) {
    if (this.parts[this.at + by]) this.open(this.at + by)
  }

  // Goes to a scene, and stays there while the picture settles; scenes that are scrolled past do not count.
  show(at, first = false) {
    this.enter(at, first)
    this.until = at || !first ? clock() + SETTLE_SECONDS : 0
    requestAnimationFrame(() => this.until && this.scroll())
  }

  scroll() {
    this.parts[this.at].el.scrollIntoView({ block: "start" })
  }

  enter(at, first = false) {
    for (const [place, { el, link }] of this.parts.entries()) {
      el.classList.toggle("shown", place === at)
      if (place === at) link.setAttribute("aria-current", "step")
      else link.removeAttribute("aria-current")
    }
    if (at === this.at && !first) return
    this.at = at
    this.entered()
  }

  leave() {
    this.observer?.disconnect()
    this.sized?.disconnect()
  }
}
