// A stage that is scrolled: the scene in the middle of the screen says which run the picture beside it is of.

const CHOICE_MILLISECONDS = 150 // of rest, before the page hears what was chosen
const MIDDLE = "-50% 0px -50% 0px"
const NARROW = "(max-width: 640px)" // the picture lies over the upper half: what is read is below it
const BELOW = "-80% 0px -20% 0px"
const BAR = 72 // pixels of Streamlit's own above the picture, and a little air

const made = (place, name, className = "") => {
  const el = place.appendChild(document.createElement(name))
  if (className) el.className = className
  return el
}

// The net that a reader chooses: depth, residual, norm.
class Choice {
  constructor(place, chosen) {
    this.el = made(place, "fieldset", "stage-choice")
    made(this.el, "legend").textContent = "Your net"
    const depth = made(this.el, "label")
    this.said = made(depth, "span")
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
    Object.assign(this, { residual, norm })
    this.el.oninput = () => {
      this.say()
      clearTimeout(this.due)
      this.due = setTimeout(() => {
        this.due = undefined
        chosen({ depth: Number(this.depth.value), residual: residual.checked, norm: norm.checked })
      }, CHOICE_MILLISECONDS)
    }
  }

  declare({ depth, most, residual, norm }) {
    if (this.due) return // what is being dragged is newer
    this.depth.max = most
    this.depth.value = depth
    Object.assign(this.residual, { checked: residual })
    Object.assign(this.norm, { checked: norm })
    this.say()
  }

  say() {
    this.said.textContent = `Depth: ${this.depth.value}`
    this.depth.setAttribute("aria-valuetext", `${this.depth.value} blocks`)
  }
}

export class Scenes {
  // `entered()` is called whenever another scene is in the middle; `at` says which, counted from 0.
  constructor(root, { entered }) {
    Object.assign(this, { root, entered, at: 0, parts: [] })
    this.list = root.querySelector(".stage-scenes")
    this.places = root.querySelector(".stage-places")
  }

  declare({ scenes, scene }, fire) {
    this.fire = fire
    this.root.classList.toggle("story", scenes.length > 0)
    if (!scenes.length) return
    const fresh = this.parts.length !== scenes.length
    if (fresh) this.make(scenes)
    for (const [at, { title, text, choice }] of scenes.entries()) {
      const part = this.parts[at]
      part.heading.textContent = title
      if (part.text.textContent !== text) part.text.textContent = text
      if (choice) part.choice.declare(choice)
    }
    if (scene === this.wanted) return
    this.wanted = scene
    this.show(scene - 1, fresh)
  }

  make(scenes) {
    this.parts = scenes.map(({ choice }, at) => {
      const el = made(this.list, "li", "stage-scene")
      const heading = made(el, "h2")
      const text = made(el, "p")
      const link = made(this.places, "a")
      link.textContent = at + 1
      link.href = `?scene=${at + 1}`
      link.onclick = (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
        event.preventDefault()
        this.wanted = at + 1
        this.fire("scene", at + 1)
        this.show(at)
      }
      const part = { el, heading, text, link }
      if (choice) part.choice = new Choice(el, (chosen) => this.fire("choice", chosen))
      return part
    })
    const rootMargin = matchMedia(NARROW).matches ? BELOW : MIDDLE
    this.observer = new IntersectionObserver(
      (entries) => {
        const seen = entries.filter((entry) => entry.isIntersecting).at(-1)
        if (seen) this.enter(this.parts.findIndex(({ el }) => el === seen.target))
      },
      { rootMargin },
    )
  }

  // Scrolls there. At first at once, and only then whatever is scrolled to counts.
  show(at, first = false) {
    this.enter(at, first)
    requestAnimationFrame(() => {
      const { el } = this.parts[at]
      const picture = this.list.previousElementSibling
      el.style.scrollMarginTop = matchMedia(NARROW).matches ? `${picture.offsetHeight + BAR}px` : ""
      if (at || !first) el.scrollIntoView({ block: "start" })
      for (const part of this.parts) this.observer.observe(part.el)
    })
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
  }
}
