// A story that is scrolled: the scene at the reading line decides what the picture beside it shows.

import { appendElement, clock, onPlainClick, setText } from "./dom.js"

const NARROW_SCREEN = "(max-width: 640px)" // the picture covers the upper part of the screen, above the text
const HEADER_HEIGHT = 72 // pixels: Streamlit's header and a margin
// Position of the reading line on a phone, as a share of the space below the picture. The scene that crosses it is shown.
const NARROW_READING_LINE = 0.88
const SETTLE_SECONDS = 1 // after opening a scene, before scrolling can change it
const ANSWER_SECONDS = 3 // within which the page reruns for an opened scene
const REACHED_MS = 300 // for which a scene that was reached by scrolling is shown before the page learns of it

export class Scenes {
  /** @type {ResizeObserver | undefined} */
  resizeObserver

  // Calls `onEnter()` whenever another scene is shown; `shown` is its index.
  constructor(root, { onEnter }) {
    this.root = root
    this.onEnter = onEnter
    this.shown = 0
    this.settledAt = 0 // seconds; before, scrolling changes no scene
    this.answerDue = 0 // seconds; before, the page may not know of the requested scene
    this.parts = []
    this.list = root.querySelector(".player-scenes")
    this.picture = root.querySelector(".player-picture")
    this.links = root.querySelector(".player-places")
  }

  declare({ scenes, scene }, fire) {
    this.fire = fire
    this.root.classList.toggle("story", scenes.length > 0)
    if (!scenes.length) return
    const isNew = this.parts.length !== scenes.length
    if (isNew) this.createScenes(scenes)
    for (const [index, { title, text }] of scenes.entries()) {
      setText(this.parts[index].heading, title)
      setText(this.parts[index].text, text)
    }
    if (scene === this.requested) return
    // After two quick moves the page may know only the first.
    if (clock() < this.answerDue) return fire("scene", this.requested)
    this.requested = scene
    this.show(scene - 1, isNew)
  }

  createScenes(scenes) {
    this.parts = scenes.map((_, index) => {
      const el = appendElement(this.list, "li", "player-scene")
      const heading = appendElement(el, "h2")
      const text = appendElement(el, "p")
      const link = appendElement(this.links, "a")
      link.textContent = index + 1
      link.href = `?scene=${index + 1}`
      onPlainClick(link, () => this.open(index))
      return { el, heading, text, link }
    })
    this.observeReadingLine()
    this.resizeObserver ??= new ResizeObserver(() => {
      this.observeReadingLine()
      if (clock() < this.settledAt) this.scroll()
    })
    this.resizeObserver.observe(this.picture)
  }

  // Enters the scene that crosses the reading line: the middle of the screen, on a phone low in the space below the picture.
  observeReadingLine() {
    const narrow = matchMedia(NARROW_SCREEN).matches
    const pictureEnd = Math.min(this.picture.offsetHeight + HEADER_HEIGHT, 0.9 * innerHeight)
    const line = narrow ? pictureEnd + NARROW_READING_LINE * (innerHeight - pictureEnd) : innerHeight / 2
    this.list.style.setProperty("--foot", narrow ? `${pictureEnd}px` : "22vh")
    this.observer?.disconnect()
    this.observer = new IntersectionObserver(
      (entries) => {
        const crossing = entries.filter((entry) => entry.isIntersecting).at(-1)
        if (crossing && clock() > this.settledAt) this.reach(this.parts.findIndex(({ el }) => el === crossing.target))
      },
      { rootMargin: `${-Math.floor(line)}px 0px ${-Math.floor(innerHeight - line - 1)}px 0px` },
    )
    for (const { el } of this.parts) this.observer.observe(el)
  }

  // Tells the page, whose address and class follow, of a scene.
  tell(index) {
    clearTimeout(this.telling)
    this.requested = index + 1
    this.answerDue = clock() + ANSWER_SECONDS
    this.fire("scene", index + 1)
  }

  // Shows a scene and tells the page.
  open(index) {
    this.tell(index)
    this.show(index)
  }

  // Shows a scene that the reader has scrolled to, and tells the page if it stays.
  reach(index) {
    this.enter(index)
    clearTimeout(this.telling)
    if (this.requested !== index + 1) this.telling = setTimeout(() => this.tell(index), REACHED_MS)
  }

  // Moves by a number of scenes, negative for back, if there is such a scene.
  turn(by) {
    if (this.parts[this.shown + by]) this.open(this.shown + by)
  }

  // Scrolls to a scene, and enters no other one until the picture has settled.
  show(index, isFirst = false) {
    this.enter(index, isFirst)
    this.settledAt = index || !isFirst ? clock() + SETTLE_SECONDS : 0
    requestAnimationFrame(() => this.settledAt && this.scroll())
  }

  scroll() {
    this.parts[this.shown].el.scrollIntoView({ block: "start" })
  }

  enter(index, isFirst = false) {
    for (const [i, { el, link }] of this.parts.entries()) {
      el.classList.toggle("shown", i === index)
      if (i === index) link.setAttribute("aria-current", "step")
      else link.removeAttribute("aria-current")
    }
    if (index === this.shown && !isFirst) return
    this.shown = index
    this.onEnter()
  }

  leave() {
    clearTimeout(this.telling)
    this.observer?.disconnect()
    this.resizeObserver?.disconnect()
  }
}
