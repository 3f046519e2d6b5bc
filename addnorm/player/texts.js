// The panels of words: headline, heading, link, sentence, and the text of a language model.

import { appendElement, onPlainClick, setText } from "./dom.js"
import { percentage } from "./number.js"

/** @import { Moment } from "./playhead.js" */

// The verdict above the charts in a line; what it rests on behind "why", and beside it what to do next.
export class Headline {
  /** @type {number | undefined} width of the panel in pixels, set by the player */
  width

  constructor(place, { advanced }) {
    const line = appendElement(place, "div", "player-verdict")
    this.el = appendElement(line, "p", "player-headline")
    this.label = appendElement(this.el, "strong")
    this.brief = appendElement(this.el, "span")
    this.why = appendElement(line, "button", "player-unfold")
    this.next = appendElement(line, "button", "player-advance")
    this.next.onclick = () => advanced(this.panel.next)
    this.reasons = appendElement(place, "div", "player-reasons")
    this.reasons.id = `player-reasons-${++Headline.count}`
    this.reasons.hidden = true
    this.verdict = appendElement(this.reasons, "p")
    this.hint = appendElement(this.reasons, "p")
    this.note = appendElement(this.reasons, "p")
    this.about = appendElement(this.reasons, "p")
    this.help = appendElement(this.reasons, "p")
    this.why.setAttribute("aria-controls", this.reasons.id)
    this.why.onclick = () => this.unfold(this.reasons.hidden)
    this.unfold(false)
  }

  declare(panel) {
    this.panel = panel
    this.label.textContent = panel.label && `${panel.label} `
    setText(this.why, "why")
    this.why.setAttribute("aria-label", panel.label ? `why, of ${panel.label}` : "why")
    setText(this.next, panel.next)
    setText(this.note, panel.note)
    setText(this.help, panel.help)
  }

  unfold(open) {
    this.reasons.hidden = !open
    this.why.setAttribute("aria-expanded", open)
    this.highest = new Map()
    this.keepHeight(this.reasons)
  }

  /** @param {Moment} moment */
  draw(moment) {
    const log = moment.logs[this.panel.run]
    const step = moment.shown
    const brief = log?.sentence("brief", step) ?? ""
    const verdict = log?.sentence("verdict", step) ?? ""
    this.net = log?.link
    this.el.dataset.kind = log?.sentence("kind", step) ?? ""
    this.why.hidden = !brief // a recording's verdict has no short line
    this.el.classList.toggle("whole", !brief)
    this.next.hidden = !this.panel.next
    this.next.parentElement?.classList.toggle("leads", Boolean(this.panel.next))
    this.next.disabled = this.panel.next_step < 0
    this.next.classList.toggle("stale", moment.playing || (!this.next.disabled && step !== this.panel.next_step))
    setText(this.brief, brief || verdict)
    setText(this.verdict, brief && verdict)
    setText(this.hint, step === 0 ? [log?.sentence("loss", 0), this.panel.hint].filter(Boolean).join(" ") : "")
    setText(this.about, moment.logs.filter(({ beside }) => !beside).length === 1 ? moment.about : "")
    this.keepHeight(this.el)
    this.keepHeight(this.reasons)
  }

  // Keeps the height of an element's longest text of a net, so that a shorter one does not move the panels below.
  keepHeight(el) {
    const { net, width } = this
    const letters = el.textContent.length
    const last = this.highest.get(el)
    const isSame = last && last.net === net && last.width === width
    if (isSame && letters <= last.letters) return // measuring forces a layout of the page
    if (!isSame) el.style.minHeight = ""
    this.highest.set(el, { net, width, letters })
    el.style.minHeight = `${el.getBoundingClientRect().height}px`
  }
}
Headline.count = 0

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
