// The panels of words: headline, heading, link, sentence, and the text of a language model.

import { appendElement, onPlainClick, setText } from "./dom.js"
import { percentage } from "./number.js"

/** @import { Moment } from "./playhead.js" */

// The verdict above the charts, and before training a hint on where to look.
export class Headline {
  /** @type {number | undefined} width of the panel in pixels, set by the player */
  width

  constructor(place) {
    this.el = appendElement(place, "p", "player-headline")
    this.label = appendElement(this.el, "strong")
    this.verdict = appendElement(this.el, "span")
    this.hint = appendElement(this.el, "span", "player-headline-hint")
  }

  declare(panel) {
    this.panel = panel
    this.el.classList.toggle("labelled", Boolean(panel.label))
    this.label.textContent = panel.label && `${panel.label} `
    this.el.title = panel.help
  }

  /** @param {Moment} moment */
  draw(moment) {
    const log = moment.logs[this.panel.run]
    const step = moment.shown
    this.el.dataset.kind = log?.sentence("kind", step) ?? ""
    const verdict = log?.sentence("verdict", step) ?? ""
    const hint = verdict && step === 0 && this.panel.hint ? ` ${this.panel.hint}` : ""
    if (this.verdict.textContent === verdict && this.hint.textContent === hint) return
    this.verdict.textContent = verdict
    this.hint.textContent = hint
    this.keepHeight(log?.link, verdict.length + hint.length)
  }

  // Keeps the height of a net's longest verdict, so that a shorter one does not move the panels below.
  keepHeight(net, letters) {
    const isOutdated = this.net !== net || (this.measuredWidth && this.width !== this.measuredWidth)
    this.measuredWidth = this.width
    if (isOutdated) this.el.style.minHeight = ""
    else if (letters <= this.longest) return // measuring forces a layout of the page
    this.net = net
    this.longest = letters
    this.el.style.minHeight = `${this.el.getBoundingClientRect().height}px`
  }
}

export class Heading {
  constructor(place) {
    this.el = appendElement(place, "h3", "player-heading")
  }

  declare(panel) {
    setText(this.el, panel.title)
  }

  draw() {}
}

// A link that the page opens itself, so that the session survives.
export class Link {
  constructor(place, { opened }) {
    this.el = appendElement(appendElement(place, "p", "player-why"), "a", "player-link")
    onPlainClick(this.el, opened)
  }

  declare(panel) {
    setText(this.el, panel.title)
    this.el.href = panel.href
    this.panel = panel
  }

  /** @param {Moment} moment */
  draw(moment) {
    const { run, like } = this.panel
    if (like) this.el.closest(".player-panel").hidden = moment.logs[run]?.like !== like
  }
}

// A sentence of a log; hidden if there is none.
export class Sentence {
  constructor(place) {
    this.el = appendElement(place, "p", "player-sentence")
  }

  declare(panel) {
    this.panel = panel
  }

  /** @param {Moment} moment */
  draw(moment) {
    const { run, sentence } = this.panel
    const text = moment.logs[run]?.sentence(sentence, moment.shown) ?? ""
    setText(this.el, text)
    this.el.parentElement.hidden = !text
  }
}

// The text that a language model writes after a fixed prompt, its characters shaded by probability, above the likeliest
// characters after the prompt. Shows a recorded text until the net is trained here.
export class Text {
  constructor(place) {
    this.intro = appendElement(place, "p", "player-writes")
    this.el = appendElement(place, "p", "player-text")
    this.el.setAttribute("role", "img")
    this.next = appendElement(place, "ol", "player-next")
    this.note = appendElement(place, "p", "player-note")
  }

  declare(panel) {
    this.panel = panel
    this.frame = undefined
    this.note.textContent = panel.note
  }

  /** @param {Moment} moment */
  draw(moment) {
    const log = moment.logs[this.panel.run]
    const recorded = log?.trained ? null : this.panel.recorded
    const frame = recorded ?? log?.frame(moment.shown)
    if (frame === this.frame) return
    this.frame = frame
    const text = frame?.picture
    setText(this.intro, text ? this.headline(frame, recorded) : "The net has not been asked yet: press Train or Step.")
    this.next.hidden = this.el.hidden = !text
    if (!text) return
    const prompt = document.createElement("strong")
    prompt.textContent = text.prompt
    this.el.replaceChildren(
      prompt,
      ...[...text.sample].map((character, i) => this.shadedCharacter(character, text.p[i])),
    )
    this.el.setAttribute("aria-label", `${this.panel.title}: ${text.prompt}|${text.sample}`)
    this.next.setAttribute("aria-label", `Likeliest next after "${text.prompt}"`)
    this.next.replaceChildren(...text.next.map(([character, p]) => this.candidate(character, p)))
  }

  headline({ step, picture }, recorded) {
    const writer = this.panel.label || "the net"
    if (recorded)
      return `After ${step} steps of training this net writes (recorded; press Train to watch it get there):`
    if (!picture.sample) return `At step ${step} the numbers of ${writer} are not finite: it writes nothing.`
    return step ? `At step ${step} ${writer} writes:` : `At step 0, untrained, ${writer} writes:`
  }

  shadedCharacter(character, p) {
    const el = document.createElement("span")
    el.textContent = character === "\n" ? this.panel.signs[character] : character
    el.title = percentage(p)
    el.style.setProperty("--p", p)
    return el
  }

  candidate(character, p) {
    const el = document.createElement("li")
    appendElement(el, "code").textContent = this.panel.signs[character] ?? character
    appendElement(el, "span").textContent = percentage(p)
    appendElement(el, "i").style.setProperty("--p", p)
    return el
  }
}
