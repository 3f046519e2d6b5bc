// The panels of words: headline, heading, link, sentence, and the text of a language model.

import { made, onPlainClick, write } from "./dom.js"

// The verdict above the charts; after a divergence, where it began. Before training also where to look.
export class Headline {
  constructor(place) {
    this.el = made(place, "p", "stage-headline")
    this.label = made(this.el, "strong")
    this.said = made(this.el, "span")
    this.look = made(this.el, "span", "stage-look")
  }

  declare(panel) {
    this.panel = panel
    this.el.classList.toggle("labelled", Boolean(panel.label))
    this.label.textContent = panel.label && `${panel.label} `
    this.el.title = panel.help
  }

  draw(now) {
    const tape = now.tapes[this.panel.run]
    const told = tape?.toldAt(now)
    this.el.dataset.kind = tape?.sentence("kind", told) ?? ""
    const verdict = tape?.sentence("verdict", told) ?? ""
    const look = verdict && told === 0 && this.panel.look ? ` ${this.panel.look}` : ""
    if (this.said.textContent === verdict && this.look.textContent === look) return
    this.said.textContent = verdict
    this.look.textContent = look
    this.hold(tape?.link, verdict.length + look.length)
  }

  // Keeps the room of a net's longest verdict, so that a shorter one does not move what stands below.
  hold(net, letters) {
    const other = this.net !== net || (this.across && this.width !== this.across) // its width is told after the first
    this.across = this.width
    if (other) this.el.style.minHeight = ""
    else if (letters <= this.longest) return // measuring has the browser lay out the page
    Object.assign(this, { net, longest: letters })
    this.el.style.minHeight = `${this.el.getBoundingClientRect().height}px`
  }
}

// A heading above panels.
export class Heading {
  constructor(place) {
    this.el = made(place, "h3", "stage-heading")
  }

  declare(panel) {
    this.el.textContent = panel.title
  }

  draw() {}
}

// A link, which the page follows itself to keep the session.
export class Link {
  constructor(place, { opened }) {
    this.el = made(made(place, "p", "stage-why"), "a", "stage-link")
    onPlainClick(this.el, opened)
  }

  declare(panel) {
    this.el.textContent = panel.title
    this.el.href = panel.href
    this.panel = panel
  }

  draw(now) {
    const { run, like } = this.panel
    if (like) this.el.closest(".stage-panel").hidden = now.tapes[run]?.like !== like
  }
}

// A sentence of a tape, if it has one.
export class Sentence {
  constructor(place) {
    this.el = made(place, "p", "stage-sentence")
  }

  declare(panel) {
    this.panel = panel
  }

  draw(now) {
    const { run, says, text: fixed } = this.panel
    const text = fixed || (now.tapes[run]?.sentence(says, now.shown) ?? "")
    write(this.el, text)
    this.el.parentElement.hidden = !text
  }
}

// How a language model continues a prompt, in the last frame at or before the playhead.
export class Text {
  constructor(place) {
    this.said = made(place, "p", "stage-sentence")
    this.el = made(place, "pre", "stage-text")
  }

  declare(panel) {
    this.panel = panel
    this.el.setAttribute("aria-label", panel.title)
    this.said.hidden = !panel.says
  }

  draw(now) {
    const tape = now.tapes[this.panel.run]
    write(this.said, this.panel.says ? (tape?.sentence(this.panel.says, now.shown) ?? "") : "")
    const picture = tape?.frame(now.shown)?.picture
    write(this.el, picture?.prompt === undefined ? "" : `${picture.prompt}|${picture.sample}`)
  }
}
