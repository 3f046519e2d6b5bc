// The panels of words: headline, heading, link, sentence, and the text of a language model.

import { made, onPlainClick, write } from "./dom.js"

/** @import { Moment } from "./playhead.js" */

// The verdict above the charts; after a divergence, where it began. Before training also where to look.
export class Headline {
  /** @type {number | undefined} of its place, told by the player */
  width

  constructor(place) {
    this.el = made(place, "p", "player-headline")
    this.label = made(this.el, "strong")
    this.verdict = made(this.el, "span")
    this.hint = made(this.el, "span", "player-headline-hint")
  }

  declare(panel) {
    this.panel = panel
    this.el.classList.toggle("labelled", Boolean(panel.label))
    this.label.textContent = panel.label && `${panel.label} `
    this.el.title = panel.help
  }

  /** @param {Moment} now */
  draw(now) {
    const log = now.logs[this.panel.run]
    const step = log?.sentenceStep(now)
    this.el.dataset.kind = log?.sentence("kind", step) ?? ""
    const verdict = log?.sentence("verdict", step) ?? ""
    const hint = verdict && step === 0 && this.panel.hint ? ` ${this.panel.hint}` : ""
    if (this.verdict.textContent === verdict && this.hint.textContent === hint) return
    this.verdict.textContent = verdict
    this.hint.textContent = hint
    this.hold(log?.link, verdict.length + hint.length)
  }

  // Keeps the room of a net's longest verdict, so that a shorter one does not move what stands below.
  hold(net, letters) {
    const other = this.net !== net || (this.across && this.width !== this.across) // its width is told after the first
    this.across = this.width
    if (other) this.el.style.minHeight = ""
    else if (letters <= this.longest) return // measuring has the browser lay out the page
    this.net = net
    this.longest = letters
    this.el.style.minHeight = `${this.el.getBoundingClientRect().height}px`
  }
}

// A heading above panels.
export class Heading {
  constructor(place) {
    this.el = made(place, "h3", "player-heading")
  }

  declare(panel) {
    write(this.el, panel.title)
  }

  draw() {}
}

// A link, which the page follows itself to keep the session.
export class Link {
  constructor(place, { opened }) {
    this.el = made(made(place, "p", "player-why"), "a", "player-link")
    onPlainClick(this.el, opened)
  }

  declare(panel) {
    write(this.el, panel.title)
    this.el.href = panel.href
    this.panel = panel
  }

  /** @param {Moment} now */
  draw(now) {
    const { run, like } = this.panel
    if (like) this.el.closest(".player-panel").hidden = now.logs[run]?.like !== like
  }
}

// A sentence of a log, if it has one.
export class Sentence {
  constructor(place) {
    this.el = made(place, "p", "player-sentence")
  }

  declare(panel) {
    this.panel = panel
  }

  /** @param {Moment} now */
  draw(now) {
    const { run, says } = this.panel
    const text = now.logs[run]?.sentence(says, now.shown) ?? ""
    write(this.el, text)
    this.el.parentElement.hidden = !text
  }
}

const share = (p) => `${Number((100 * p).toPrecision(2))}%`

// What a language model writes after a fixed prompt, in the last frame at or before the playhead: its characters shaded by
// their probability, and the likeliest ones after the prompt. Until the net is trained here, what is recorded of it.
export class Text {
  constructor(place) {
    this.intro = made(place, "p", "player-writes")
    this.el = made(place, "p", "player-text")
    this.el.setAttribute("role", "img")
    this.next = made(place, "ol", "player-next")
    this.note = made(place, "p", "player-note")
  }

  declare(panel) {
    this.panel = panel
    this.drawn = undefined
    this.note.textContent = panel.note
  }

  /** @param {Moment} now */
  draw(now) {
    const log = now.logs[this.panel.run]
    const recorded = log?.trained ? null : this.panel.recorded
    const frame = recorded ?? log?.frame(now.shown)
    if (frame === this.drawn) return
    this.drawn = frame
    const text = frame?.picture
    write(this.intro, text ? this.headline(frame, recorded) : "The net has not been asked yet: press Train or Step.")
    this.next.hidden = this.el.hidden = !text
    if (!text) return
    const prompt = document.createElement("strong")
    prompt.textContent = text.prompt
    this.el.replaceChildren(prompt, ...[...text.sample].map((character, at) => this.inked(character, text.p[at])))
    this.el.setAttribute("aria-label", `${this.panel.title}: ${text.prompt}|${text.sample}`)
    this.next.setAttribute("aria-label", `Likeliest next after "${text.prompt}"`)
    this.next.replaceChildren(...text.next.map(([character, p]) => this.candidate(character, p)))
  }

  headline({ step, picture }, recorded) {
    const who = this.panel.label || "the net"
    if (recorded)
      return `After ${step} steps of training this net writes (recorded; press Train to watch it get there):`
    if (!picture.sample) return `At step ${step} the numbers of ${who} are not finite: it writes nothing.`
    return step ? `At step ${step} ${who} writes:` : `At step 0, untrained, ${who} writes:`
  }

  inked(character, p) {
    const el = document.createElement("span")
    el.textContent = character === "\n" ? this.panel.signs[character] : character
    el.title = share(p)
    el.style.setProperty("--p", p)
    return el
  }

  candidate(character, p) {
    const el = document.createElement("li")
    made(el, "code").textContent = this.panel.signs[character] ?? character
    made(el, "span").textContent = share(p)
    made(el, "i").style.setProperty("--p", p)
    return el
  }
}
