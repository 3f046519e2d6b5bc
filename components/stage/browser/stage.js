// The stage: holds the tapes of a page, moves along them, and draws what the page has declared, at most once a frame.

import { Bar } from "./bar.js"
import { Curve, Digit, Digits, Guess } from "./cell.js"
import { AGAIN, Chart, load, themeOf } from "./chart.js"
import { Drop, kept } from "./drop.js"
import { listen } from "./keys.js"
import { Playhead, reach } from "./playhead.js"
import { RecordedTape } from "./recording.js"
import { Scenes } from "./scenes.js"
import { Stack } from "./stack.js"
import { brief, Connection, Tape } from "./tape.js"

const CALM_SECONDS = 0.5 // between two pictures for whoever wants no motion
const REST_SECONDS = 0.4 // after the last move, before the server hears where the playhead is
const FOLLOW_SECONDS = 1
const EAGER_SECONDS = 3 // that a page may take to hear of a control
const FRAME_SECONDS = 0.04 // of drawing; whatever is not drawn by then waits for the next frame
const PANELS = { chart: Chart, stack: Stack, curve: Curve, digit: Digit, digits: Digits, guess: Guess }

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".")
const clock = () => performance.now() / 1000
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches

// What the app says of all charts together; after a divergence where it began.
class Headline {
  constructor(place) {
    this.el = place.appendChild(document.createElement("p"))
    this.el.className = "stage-headline"
    this.label = this.el.appendChild(document.createElement("strong"))
    this.said = this.el.appendChild(document.createElement("span"))
  }

  declare(panel) {
    this.panel = panel
    this.el.classList.toggle("labelled", Boolean(panel.label))
    this.label.textContent = panel.label && `${panel.label} `
    this.el.title = panel.help
  }

  draw(now) {
    const tape = now.tapes[this.panel.run]
    this.el.dataset.kind = tape?.sentence("kind", now.row) ?? ""
    const text = tape?.sentence("verdict", now.row) ?? ""
    if (this.said.textContent !== text) this.said.textContent = text
  }
}

// What the panels below it are of.
class Heading {
  constructor(place) {
    this.el = place.appendChild(document.createElement("h3"))
    this.el.className = "stage-heading"
  }

  declare(panel) {
    this.el.textContent = panel.title
  }

  draw() {}
}

// A click is the page's, which keeps the visit; a new tab or window is the browser's.
class Link {
  constructor(place, { opened }) {
    const line = place.appendChild(document.createElement("p"))
    line.className = "stage-why"
    this.said = line.appendChild(document.createElement("span"))
    this.el = line.appendChild(document.createElement("a"))
    this.el.className = "stage-link"
    this.el.onclick = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
      event.preventDefault()
      opened()
    }
  }

  declare(panel) {
    this.el.textContent = panel.title
    this.el.href = panel.href
    this.panel = panel
  }

  draw(now) {
    const { run, says, before, text, like } = this.panel
    if (like) this.el.closest(".stage-panel").hidden = now.tapes[run]?.like !== like
    if (!says) return
    const said = `${text || now.tapes[run]?.sentence(says, now.row) || before} `
    if (this.said.textContent !== said) this.said.textContent = said
  }
}

// A sentence of a tape, where it has one.
class Said {
  constructor(place) {
    this.el = place.appendChild(document.createElement("p"))
    this.el.className = "stage-sentence"
  }

  declare(panel) {
    this.panel = panel
  }

  draw(now) {
    const { run, says, text: fixed } = this.panel
    const text = fixed || (now.tapes[run]?.sentence(says, now.row) ?? "")
    if (this.el.textContent !== text) this.el.textContent = text
    this.el.parentElement.hidden = !text
  }
}

// How a net goes on with a prompt, at the frame before the playhead.
class Text {
  constructor(place) {
    this.said = place.appendChild(document.createElement("p"))
    this.said.className = "stage-sentence"
    this.el = place.appendChild(document.createElement("pre"))
    this.el.className = "stage-text"
  }

  declare(panel) {
    this.panel = panel
    this.el.setAttribute("aria-label", panel.title)
    this.said.hidden = !panel.says
  }

  draw(now) {
    const said = this.panel.says ? (now.tapes[this.panel.run]?.sentence(this.panel.says, now.row) ?? "") : ""
    if (this.said.textContent !== said) this.said.textContent = said
    const picture = now.tapes[this.panel.run]?.frame(now.shown)?.picture
    const text = picture?.prompt === undefined ? "" : `${picture.prompt}|${picture.sample}`
    if (this.el.textContent !== text) this.el.textContent = text
  }
}
Object.assign(PANELS, { headline: Headline, heading: Heading, link: Link, said: Said, text: Text })

const places = new Map() // where playheads stood when their page was left: whoever comes back finds the picture as it was
const heard = new Set() // words with which a page has asked for a start or a reset: each is heeded once
const once = (text) => Boolean(text) && !heard.has(text) && Boolean(heard.add(text))

class Stage {
  constructor(root, { base, script }, parts) {
    Object.assign(this, {
      root,
      script,
      parts,
      panels: new Map(),
      scales: {},
      stale: new Set(),
      tapes: [],
      told: "",
      moved: 0,
      drawnAt: 0,
    })
    this.status = root.querySelector(".stage-status")
    this.error = root.querySelector(".stage-error")
    this.hint = root.querySelector(".stage-hint")
    this.head = new Playhead(1)
    const moved = (move) => (value) => {
      move(value)
      this.moved = clock()
      this.follows = false // a recording that grows, at whose end it stands
      this.bar.show(this.head, this.word) // at once; the charts follow with the next frame
      this.wish()
      this.go()
    }
    this.moves = {
      play: moved(() => {
        for (const other of stages.values()) if (other.head.playing) other.moves.pause() // one thing is trained at a time
        this.pressedAt = clock()
        this.head.play(this.pressedAt)
      }),
      pause: moved(() => this.head.pause()),
      step: moved(() => this.head.step()),
      reset: moved(() => this.head.reset()),
      seek: moved((row) => {
        this.head.pause()
        this.head.seek(row)
      }),
      speed: moved((word) => (this.head.speed = word)),
    }
    this.bar = new Bar(root.querySelector(".stage-bar"), this.moves)
    this.drop = new Drop(root, (place, tape) => this.take(place, tape))
    this.scenes = new Scenes(root, { entered: (at) => this.enter(at) })
    const address = new URL("tape", base)
    address.protocol = address.protocol.replace("http", "ws")
    this.connection = new Connection(address.href, () => this.go())
    this.resized = 0
    this.sized = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries)
        for (const panel of this.panels.values()) if (panel.home === target) panel.width = contentRect.width
      this.resized += 1
      this.go()
    })
    // What is out of sight is drawn once the playhead rests, or when it is scrolled to.
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries)
        for (const panel of this.panels.values()) {
          if (panel.home !== target) continue
          panel.away = !isIntersecting
          if (isIntersecting) this.stale.add(panel)
        }
      this.go()
    })
    this.here = () => this.go()
    document.addEventListener("visibilitychange", this.here)
  }

  // What the page declares now; called at every rerun that changes it, and when the theme does.
  declare(component) {
    const { data } = component
    Object.assign(this, { data, say: component.setStateValue })
    this.declareRuns(data)
    this.drop.declare([...data.runs.keys()].filter((place) => data.runs[place].recording === null))
    this.scenes.declare(data, component.setTriggerValue)
    const heard = data.at.join(" ") // the page was drawn of this place, whatever it was told
    if (heard !== this.heard) this.told = this.heard = heard
    this.declarePanels()
    this.hint.textContent = data.keys
    if (Boolean(this.unlisten) !== Boolean(data.keys)) {
      this.unlisten?.()
      const { play, pause, step, reset } = this.moves
      this.unlisten = data.keys
        ? listen({ space: () => (this.head.playing ? pause() : play()), right: step, r: reset })
        : undefined
    }
    if (!this.asked) {
      this.asked = true
      load(data.chunk, this.script)
        .then((plotly) => (this.plotly = plotly))
        .catch((error) => (this.without = `Charts are plain lines here: ${error.message}.`))
        .then(() => this.go())
    }
    if (once(data.reset)) this.moves.reset()
    if (once(data.start)) this.moves.play()
    this.theme = themeOf(this.root)
    this.go()
  }

  declareRuns(data) {
    const name = JSON.stringify([data.name, ...data.runs.map(({ link, seeds }) => [link, seeds])])
    const fresh = name !== this.name
    if (fresh) {
      // Whoever presses Train before the page has taken a moved control over means what the controls say.
      const eager = this.head.playing && (!this.head.shown || clock() - this.pressedAt < EAGER_SECONDS)
      this.name = name
      const known = data.scenes.length ? this.tapes : [] // the net that a reader chooses changes, the others stay
      const made = (run, place) => {
        if (run.recording === undefined) return new Tape(run)
        return (run.recording === null && kept(place)) || new RecordedTape(run)
      }
      this.tapes = data.runs.map((run, place) => known.find(({ link }) => link === run.link) ?? made(run, place))
      this.head = new Playhead(Math.max(...this.active.map((tape) => tape.last)), this.head.speed)
      const { follows = true, ...place } = places.get(name) ?? {}
      this.follows = follows
      if (!data.scenes.length) Object.assign(this.head, place)
      places.delete(name)
      if (eager) this.head.play(clock())
      this.heard = ""
    } else {
      for (const [at, run] of data.runs.entries()) if (run.opening) this.tapes[at].open(run.opening)
    }
    if (fresh || data.ticket !== this.ticket) {
      this.ticket = data.ticket
      this.greet()
    }
  }

  // The tapes that come over the connection: all but a file that was dropped on the page.
  get remote() {
    return this.tapes.filter((tape) => !tape.local)
  }

  greet() {
    if (this.remote.length) this.connection.hello(this.ticket, this.remote, this.wishes())
    else this.connection.rest()
  }

  wish() {
    if (this.remote.length) this.connection.wish(this.wishes())
  }

  // A file of the visitor's, as far as it has been read.
  take(place, tape) {
    if (this.data.runs[place]?.recording !== null) return // the page shows something else by now
    if (this.tapes[place] !== tape) {
      this.tapes[place] = tape
      this.follows = true
      this.head = new Playhead(tape.last, this.head.speed)
    }
    this.go()
  }

  get word() {
    return this.data.verb || `Train${this.data.shared}`
  }

  // Nothing of a recording has come yet: there is nothing to draw.
  get empty() {
    const recorded = this.active.filter((tape) => tape.names)
    return recorded.length > 0 && !recorded.some((tape) => tape.header)
  }

  // Its own panels, and those of its parts further down the page.
  declarePanels() {
    const wanted = new Set()
    this.root.classList.toggle("empty", this.empty)
    for (const [root, part] of this.parts) {
      if (root !== this.root && !part.data.below) continue // another stage of this name, on its way out
      const own = this.cast && root === this.root ? this.cast.panels : part.data.panels
      const panels = this.empty ? [] : own
      panels.forEach((declared, at) => {
        const key = `${part.data.name} ${declared.key}`
        const { home } = this.panel(key, part, declared)
        wanted.add(key)
        if (declared.scrubs) this.bar.under(home, declared)
        else if (part.grid.children[at] !== home) part.grid.insertBefore(home, part.grid.children[at] ?? null)
      })
    }
    for (const [key, panel] of this.panels) {
      if (wanted.has(key)) continue
      panel.clear?.(this.plotly)
      this.sized.unobserve(panel.home)
      this.seen.unobserve(panel.home)
      this.stale.delete(panel)
      panel.home.remove()
      this.panels.delete(key)
    }
    const player = Boolean(this.data?.panels.some(({ scrubs }) => scrubs))
    this.root.classList.toggle("player", player)
    this.declared = (this.declared ?? 0) + 1
    this.go()
  }

  panel(key, part, declared) {
    let panel = this.panels.get(key)
    if (!panel) {
      const home = document.createElement("div")
      home.className = "stage-panel"
      panel = new PANELS[declared.kind](home, {
        toggled: (block) => part.fire("toggled", [declared.run, block]),
        opened: () => part.fire("opened", declared.opens ?? declared.run),
        scales: this.scales,
      })
      panel.home = home
      this.sized.observe(home)
      this.seen.observe(home)
      this.panels.set(key, panel)
    }
    panel.home.style.setProperty("--span", declared.span)
    panel.home.style.setProperty("--row", declared.row)
    panel.home.hidden = Boolean(declared.like)
    panel.declare(declared)
    return panel
  }

  // The scene that is shown, where there are scenes.
  get cast() {
    return this.data?.scenes?.[this.scenes.at]
  }

  // The tapes that the playhead moves along: all, or that of the scene.
  get active() {
    return this.cast ? [this.tapes[this.cast.run]] : this.tapes
  }

  // Another scene: its run from the beginning, which plays where the scene says so.
  enter() {
    this.moves.pause()
    this.head = new Playhead(this.active[0].last, this.head.speed)
    Object.assign(this, { told: "", arrived: false })
    this.declarePanels()
    if (this.cast.plays && !calm()) this.moves.play()
    this.wish()
  }

  // How many rows of each run are wanted, which is shown, and whether that moves on. A scene's are asked for one scene before.
  wishes() {
    const { active } = this
    const soon = this.cast ? this.data.scenes.slice(0, this.scenes.at + 2) : []
    const wants = this.remote.map((tape) => {
      const run = this.tapes.indexOf(tape)
      const shown = active.includes(tape) ? this.head.wanted() : 0
      return soon.some((scene) => scene.whole && scene.run === run) ? tape.last + 1 : Math.min(shown, tape.last + 1)
    })
    return { wants, at: this.head.shown, playing: this.head.playing }
  }

  // Draws at the next frame, once for however much has happened until then.
  go() {
    this.due ??= requestAnimationFrame(() => {
      this.due = undefined
      this.frame()
    })
  }

  frame() {
    if (!this.root.isConnected || !this.tapes.length) return
    const { head, tapes, active } = this
    const time = clock()
    const last = Math.max(...active.map((tape) => tape.last))
    if (last !== head.last) head.last = last
    head.stride = Math.min(...active.map((tape) => tape.stride))
    const { there, over } = reach(active)
    const recorded = active.filter((tape) => tape.names)
    const newest = Math.max(0, ...recorded.map((tape) => tape.last))
    if (recorded.length && !head.playing && this.follows) head.position = newest
    const ended = tapes.filter((tape) => tape.over).length
    if (this.cast && ended !== this.ended) Object.assign(this, { ended, told: "" }) // the text of a scene may be of its end
    if (this.cast?.plays && over && there && calm() && !this.arrived) {
      this.arrived = true
      head.seek(there) // who wants no motion sees the end at once
    }
    const before = head.shown
    head.tick(time, { there, over })
    this.stopAtLoss(before)
    if (over && !head.playing) head.position = Math.min(head.position, there)
    this.wish()
    const quiet = calm()
    const position = Math.min(quiet || !head.playing ? head.shown : head.position, Math.max(there, 0))
    const shown = Math.floor(position)
    const now = {
      tapes,
      position,
      shown,
      row: shown,
      furthest: recorded.length ? Math.max(head.furthest, newest, 1) : head.furthest, // of a recording all is known
      playing: head.playing,
      calm: quiet,
      alone: Boolean(this.cast),
      time,
    }
    const waits = quiet && head.playing && time - this.drawnAt < CALM_SECONDS
    if (this.empty !== this.root.classList.contains("empty")) this.declarePanels()
    this.bar.show(head, this.word)
    if (!waits) {
      this.drawnAt = time
      this.root.dataset.step = shown
      this.mark(now)
    }
    this.draw(now)
    this.tell(time)
    this.sayHow(now)
    if (head.playing || this.stale.size || this.untold) this.go()
  }

  // Which panels the next pictures are of: all, where there is anything to see that the last did not have.
  mark({ tapes, position, furthest, playing }) {
    const all = [...this.panels.values()].filter((panel) => !(playing && panel.away))
    const look = [position, furthest, playing, Boolean(this.plotly), this.resized, this.declared].join()
    if (look !== this.look || tapes.some((tape) => tape.fresh <= furthest + 1)) {
      for (const tape of tapes) tape.fresh = Infinity
      for (const panel of all) this.stale.add(panel)
    } else if (playing) {
      for (const panel of all) if (panel.lives) this.stale.add(panel)
    }
    this.look = look
  }

  // Draws what has waited longest, as much of it as a frame has time for; the rest follows, as it stands then.
  draw(now) {
    const whole = this.stale.size > 0
    for (const panel of [...this.stale]) {
      this.stale.delete(panel)
      if (panel.draw(now, this.plotly, this.theme) === AGAIN) this.stale.add(panel)
      if (clock() - now.time > FRAME_SECONDS) break
    }
    if (whole && !this.stale.size) this.root.dataset.draws = Number(this.root.dataset.draws ?? 0) + 1
  }

  stopAtLoss(before) {
    const [{ have }] = this.tapes
    const target = this.data.stop_loss
    const reached = this.head.stopAt(before, have, target, (row) => this.tapes[0].number("loss", row))
    if (reached !== null) this.stopped = `stopped: the loss has reached ${target} at step ${reached}`
  }

  place() {
    return `${this.head.shown} ${this.head.playing}`
  }

  // The server hears of the playhead at rest, and while it plays once a second where it asks for that.
  tell(time) {
    const { data, head } = this
    this.untold = this.place() !== this.told && (!head.playing || data.tells === "follow")
    if (data.tells === "never") this.untold = false
    if (!this.untold || time - this.moved < REST_SECONDS || (head.playing && time - this.toldAt < FOLLOW_SECONDS))
      return
    Object.assign(this, { told: this.place(), toldAt: time, untold: false })
    this.connection.say() // first: what it said last is of a moment ago
    this.say("at", {
      step: head.shown,
      playing: head.playing,
      runs: data.runs.map((run) => run.link),
      ended: this.ended,
    })
  }

  // One line: where the page is, how fast, on what; and what is awaited.
  sayHow(now) {
    const { active: tapes, connection, head, data } = this
    const states = tapes.map((tape) => tape.state)
    const steps = Math.max(...tapes.map((tape) => tape.last))
    const recorded = tapes.filter((tape) => tape.names)
    const facts = [`step ${now.shown} of ${steps}`, ...recorded.map((tape) => tape.facts()).filter(Boolean)]
    const rate = states.reduce((sum, state) => sum + state.rate, 0)
    if (rate) facts.push(`${brief(rate)} steps/s${tapes.length > 1 ? " together" : ""}`)
    const known = !recorded.length && states.find((state) => state.device)
    if (known)
      facts.push(known.device, ...(tapes.length > 1 ? [] : [`${known.parameters.toLocaleString("en")} parameters`]))
    facts.push(...data.facts)
    const behind = tapes.find((tape) => !tape.over && tape.length <= head.shown + (head.playing ? 1 : 0))
    const awaited = head.playing && behind
    const place = Math.max(...states.map((state) => state.place))
    if (connection.refusal) facts.push(`the server refused the connection: ${connection.refusal}`)
    else if (this.remote.length && !connection.connected) facts.push("connecting; what is drawn stays")
    else if (behind?.names) facts.push("waiting for the next row")
    else if (recorded.length < tapes.length && connection.trainer?.sentence) facts.push(connection.trainer.sentence)
    else if (states.some((state) => state.recomputing)) facts.push("recomputing this run, what is drawn stays")
    else if (place) facts.push(`waiting at place ${place} of the queue, for no more runs fit beside those that train`)
    else if (awaited || (head.shown && behind)) facts.push("computing")
    else if (head.ended) facts.push(this.ending())
    if (this.stopped && !head.playing) facts.push(this.stopped)
    if (head.playing) this.stopped = ""
    const errors = states.flatMap(({ error }, at) =>
      error ? [sentence([data.names[at], error].filter(Boolean).join(": "))] : [],
    )
    const troubles = [...new Set(errors)].join(" ")
    if (this.error.textContent !== troubles) this.error.textContent = troubles
    const text = [...facts, ...(this.without ? [this.without] : [])].join(" · ")
    const kind = tapes.some((tape) => tape.recorded) ? "recorded" : "measured"
    if (this.status.dataset.text === text + kind) return
    this.status.dataset.text = text + kind
    const badge = document.createElement("span")
    badge.className = `stage-badge ${kind}`
    badge.textContent = kind
    this.status.replaceChildren(`${text} · `, badge)
  }

  ending() {
    const { active: tapes, data } = this
    const lost = tapes.filter((tape) => tape.lost).length
    if (tapes.length === 1) return lost ? "diverged" : "done"
    if (!lost) return "all are done"
    if (lost < tapes.length || !data.names.length) return `all have ended, ${lost} of them diverged`
    return `all have diverged: ${tapes.map(({ fate }, at) => `${data.names[at]} at step ${fate.step}`).join(", ")}`
  }

  leave() {
    const { position, furthest, speed } = this.head
    places.set(this.name, { position: Math.floor(position), furthest, speed, follows: this.follows })
    this.connection.close()
    this.sized.disconnect()
    this.seen.disconnect()
    this.scenes.leave()
    this.unlisten?.()
    document.removeEventListener("visibilitychange", this.here)
    cancelAnimationFrame(this.due)
    for (const panel of this.panels.values()) {
      panel.clear?.(this.plotly)
      panel.home.remove()
    }
  }
}

const stages = new Map() // by name, which is one for a stage and its parts
const parts = new Map() // of a stage by its name: what is declared, by the element that it is drawn in

export const mount = (component, where) => {
  const { data, parentElement, setTriggerValue: fire } = component
  const root = parentElement.querySelector(".stage")
  const name = data.below ?? data.name
  if (!parts.has(name)) parts.set(name, new Map())
  const declared = parts.get(name)
  if (!declared.has(root)) declared.set(root, { grid: root.querySelector(".stage-grid") })
  const part = declared.get(root)
  const turn = (part.turn ?? 0) + 1
  Object.assign(part, { data, fire, turn })
  root.classList.toggle("below", Boolean(data.below))
  if (data.below) {
    stages.get(name)?.declarePanels()
  } else {
    if (stages.get(name)?.root !== root) stages.set(name, new Stage(root, where, declared))
    stages.get(name).declare(component)
  }
  const stage = stages.get(name)
  return () => {
    if (part.turn !== turn) return // Streamlit ends a mount that is overtaken by the next one of the same element
    declared.delete(root)
    if (data.below) return stages.get(name)?.declarePanels()
    if (stages.get(name) === stage) stages.delete(name)
    stage.leave()
  }
}
