// The player: holds the logs of a page, moves a playhead along them, and draws the declared panels once per frame.

import { Bar } from "./bar.js"
import { BlockPicture, RunHeading } from "./block.js"
import { Curve, Digit } from "./cell.js"
import { AGAIN, Chart, load, setHues, themeOf } from "./chart.js"
import { written } from "./connection.js"
import { clock, translated, translateTexts, usePhrases, whenGone, write } from "./dom.js"
import { Drop, droppedLog } from "./drop.js"
import { listen } from "./keys.js"
import { brief } from "./number.js"
import { keepPlace, knownPlace, placeBefore, storePlaces } from "./places.js"
import { Playhead, reach } from "./playhead.js"
import { RunLog } from "./runlog.js"
import { SamplePaths } from "./sample_paths.js"
import { Scenes } from "./scenes.js"
import { StackPanel } from "./stack.js"
import { Heading, Headline, Link, Sentence, Text } from "./texts.js"

/** @import { Moment } from "./playhead.js" */

const CALM_SECONDS = 0.5 // between two pictures, with reduced motion
const REST_SECONDS = 0.4 // after the last move, before the server hears where the playhead is
const SETTLED_SECONDS = 0.2 // after the last move, before what is out of sight is drawn
const FOLLOW_SECONDS = 1 // between two reports of a moving playhead
const LEAVING_SECONDS = 2 // after a link or Back, in which the next page is there
const EAGER_SECONDS = 10 // within which a page has heard of a control
const LATE_SECONDS = 10 // after which a growing recording without news is looked at again
const PROJECTED = 20 // pixels of the page's type for which a projector's charts are enlarged
const FRAME_SECONDS = 0.04 // of drawing in one frame; the other panels wait for the next
const PANELS = {
  chart: Chart,
  stack: StackPanel,
  headline: Headline,
  heading: Heading,
  link: Link,
  sentence: Sentence,
  text: Text,
  curve: Curve,
  digit: Digit,
  block: BlockPicture,
  outcome: RunHeading,
  paths: SamplePaths,
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".")
// A projector's charts grow with the page's type, which is larger on a large screen: half as much, to have room for titles.
const projected = (panel) => {
  const { layout } = panel.figure ?? {}
  if (!layout?.bind?.scale) return panel
  const type = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
  const scale = layout.bind.scale * Math.sqrt(type / PROJECTED)
  return { ...panel, figure: { ...panel.figure, layout: { ...layout, bind: { ...layout.bind, scale } } } }
}
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches

const usedTriggers = new Set() // the texts with which pages asked for a start or a reset: each works once
const once = (text) => Boolean(text) && !usedTriggers.has(text) && Boolean(usedTriggers.add(text))

// When a control outside of the players was last touched: a run that plays since then is the one from before.
let touched = Number.NEGATIVE_INFINITY
for (const kind of ["pointerdown", "keydown"])
  window.addEventListener(
    kind,
    ({ target }) => {
      if (!(target instanceof Element && target.closest(".player-bar"))) touched = clock()
    },
    true,
  )

// After a click on a link, or a button that looks like one, or on Back the page may be unloading. What it says then would
// make the server run it again.
const WAYS = "a[href], [data-testid=stBaseButton-tertiary]"
let tookWay = Number.NEGATIVE_INFINITY
const noteWay = () => {
  tookWay = touched = clock()
}
window.addEventListener("popstate", noteWay)
window.addEventListener("click", ({ target }) => target instanceof Element && target.closest(WAYS) && noteWay(), true)

class Player {
  constructor(root, host, parts) {
    this.root = root
    this.host = host
    this.parts = parts
    this.panels = new Map()
    this.scales = {}
    this.stale = new Set()
    this.logs = []
    this.watched = new Set() // of a story, the links of the runs that its reader has watched to their end
    this.reported = ""
    this.moved = 0
    this.drawnAt = 0
    this.inSight = () => {} // while a run plays that was begun by a key
    this.back = () => {} // to where the page was before it
    this.status = root.querySelector(".player-status")
    this.error = root.querySelector(".player-error")
    this.hint = root.querySelector(".player-hint")
    this.playhead = new Playhead(1)
    this.moves = this.movesOf()
    this.bar = new Bar(root.querySelector(".player-bar"), this.moves)
    this.drop = new Drop(root, (number, log) => this.take(number, log))
    this.scenes = new Scenes(root, { entered: () => this.enter() })
    this.connection = host.connect(() => this.go())
    this.watch()
    this.here = () => this.go()
    document.addEventListener("visibilitychange", this.here)
  }

  // What the bar, the keys and the page do with the playhead, by name.
  movesOf() {
    const moved = (move) => (value) => {
      move(value)
      this.before = undefined
      this.moved = clock()
      this.follows = false // whether the playhead stays at the end of a growing recording
      this.bar.show(this.playhead, this.word) // at once; the charts follow in the next frame
      this.request()
      this.go()
    }
    return {
      play: moved(() => {
        for (const other of players.values()) if (other.playhead.playing) other.moves.pause() // one player plays at a time
        this.pressedAt = clock()
        this.playhead.play(this.pressedAt)
      }),
      pause: moved(() => this.playhead.pause()),
      step: moved(() => this.playhead.step()),
      reset: moved(() => this.playhead.reset()),
      seek: moved((row) => {
        this.playhead.pause()
        this.playhead.seek(row)
      }),
      speed: moved((word) => (this.playhead.speed = word)),
    }
  }

  // Follows the size of each panel, and whether it is in sight.
  watch() {
    this.resized = 0
    this.sized = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries)
        for (const panel of this.panels.values())
          if (panel.home === target) Object.assign(panel, { width: contentRect.width, measured: undefined })
      this.resized += 1
      this.inSight()
      this.go()
    })
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries)
        for (const panel of this.panels.values()) {
          if (panel.home !== target) continue
          panel.away = !isIntersecting
          if (isIntersecting) this.stale.add(panel)
        }
      this.go()
    })
  }

  // Takes what the page declares, at every rerun that changes it and when the theme changes.
  declare(component) {
    const { data } = component
    this.data = data
    setHues(data.hues)
    this.setState = component.setStateValue
    if (data.speed && !this.asked) this.playhead.speed = data.speed // a projector's; a page's own is the playhead's first
    this.declareRuns(data)
    this.drop.declare([...data.runs.keys()].filter((number) => data.runs[number].recording === null))
    this.scenes.declare(data, component.setTriggerValue)
    const drawnAt = data.at.join(" ") // where the page believed the playhead to be when it ran
    if (drawnAt !== this.pageAt) this.reported = this.pageAt = drawnAt
    this.declarePanels()
    this.hint.textContent = data.keys
    if (Boolean(this.unlisten) !== Boolean(data.keys)) {
      this.unlisten?.()
      const { play, pause, step, reset } = this.moves
      const [next, back] = [1, -1].map((by) => () => this.scenes.turn(by))
      const along = this.scene ? { right: next, next, left: back, back } : { right: step }
      this.unlisten = data.keys
        ? listen({ space: () => (this.playhead.playing ? pause() : this.lead(play)), r: reset, ...along })
        : undefined
    }
    if (!this.asked) {
      this.asked = true
      load(this.host.plotly)
        .then((plotly) => (this.plotly = plotly))
        .catch((error) => (this.without = `Charts cannot be drawn here, their tables can be opened: ${error.message}.`))
        .then(() => this.go())
    }
    if (once(data.reset)) this.moves.reset()
    // A recording that begins by itself rests where motion is unwelcome.
    if (once(data.start) && !(calm() && this.active.every((log) => log.state.recorded))) this.moves.play()
    this.theme = themeOf(this.root)
    this.bar.show(this.playhead, this.word) // before the first frame: a button that gets its word later moves the rest
    this.go()
  }

  declareRuns(data) {
    const names = data.runs.map(({ link, seeds }) => JSON.stringify([link, seeds]))
    const name = JSON.stringify([data.name, ...names])
    const fresh = name !== this.name
    if (fresh) {
      const { playhead, logs: before, names: had } = this
      // Train may be pressed before the page has heard of a moved control: it means the net that the control says, even
      // if the run before was so short that it has been played to its end since.
      const recent = clock() - this.pressedAt < EAGER_SECONDS
      const plays = playhead.playing ? !playhead.shown || recent : playhead.ended && recent
      const eager = plays && touched <= this.pressedAt
      if (had) this.keep()
      this.name = name
      this.names = names
      const opened = (run, number) => (run.recording === null && droppedLog(number)) || new RunLog(run)
      const left = [...before]
      this.logs = data.runs.map((run, number) => {
        const at = left.findIndex(({ link, seeds }) => link === run.link && seeds === run.seeds)
        return at < 0 || run.recording !== undefined ? opened(run, number) : left.splice(at, 1)[0]
      })
      this.playhead = new Playhead(Math.max(...this.active.map((log) => log.last)), playhead.speed)
      const within = (some, all) => some.every((run) => all.includes(run))
      const same = had && (within(had, names) || within(names, had)) // but for runs that were added or taken away
      const { follows = true, ...place } = (same && this.placeOf(playhead)) || knownPlace(name) || {}
      this.follows = follows
      if (!data.scenes.length) Object.assign(this.playhead, place, had && { speed: playhead.speed })
      this.before = data.restore ? placeBefore(name) : undefined
      if (eager) this.playhead.play(clock())
      this.pageAt = ""
    }
    const empty = this.logs.map((log) => !log.header) // the others know more than the page
    for (const message of data.messages.map(written)) if (empty[message.run]) this.logs[message.run].hear(message)
    if (fresh || data.ticket !== this.ticket) {
      this.ticket = data.ticket
      this.greet()
    }
  }

  // Where a playhead stands, for whoever comes back to these runs.
  placeOf({ position, furthest, speed }) {
    return { position: Math.floor(position), furthest, speed, follows: this.follows }
  }

  // After a reload the playhead stands where it stood, once the rows are there: this alone starts no training.
  recall(logs) {
    if (!this.before || !logs.every((log) => log.over || log.length > this.before.position)) return
    const { position, furthest } = this.before
    Object.assign(this.playhead, { position, furthest })
    this.before = undefined
  }

  keep() {
    if (!this.data.scenes.length) keepPlace(this.name, this.placeOf(this.playhead))
  }

  // The logs that come over the connection: all but the visitor's files.
  get remote() {
    return this.logs.filter((log) => !log.local)
  }

  greet() {
    if (this.remote.length) this.connection.hello(this.ticket, this.remote, this.requests())
    else this.connection.rest()
  }

  request() {
    if (this.remote.length) this.connection.request(this.requests())
  }

  // Takes a file of the visitor's, as far as it has been read.
  take(number, log) {
    if (this.data.runs[number]?.recording !== null) return // the page shows something else by now
    if (this.logs[number] !== log) {
      this.logs[number] = log
      this.follows = true
      this.playhead = new Playhead(log.last, this.playhead.speed)
    }
    this.go()
  }

  get word() {
    return this.data.verb || `Train${this.data.scope}`
  }

  // Whether the page shows recordings and nothing of them has come yet.
  get empty() {
    const recorded = this.active.filter((log) => log.isRecording)
    return recorded.length > 0 && !recorded.some((log) => log.header)
  }

  // Plays on a projector, which nobody scrolls: what moves is in sight meanwhile, and at the end what was before.
  lead(play) {
    const pane = this.root.closest("[data-testid=stMain]")
    const top = pane?.scrollTop
    this.inSight = () => this.root.scrollIntoView({ block: "nearest" })
    this.back = () => {
      this.back = this.inSight = () => {}
      pane?.scrollTo({ top })
    }
    this.inSight()
    play()
  }

  // Declares the player's panels, and those of its parts further down the page.
  declarePanels() {
    const wanted = new Set()
    this.root.classList.toggle("empty", this.empty)
    for (const [root, part] of this.parts) {
      if (root !== this.root && !part.data.below) continue // an old player of this name, not yet unmounted
      const declarations = this.scene && root === this.root ? this.scene.panels : part.data.panels
      const panels = this.empty ? [] : declarations.map(projected)
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
    this.root.classList.toggle("pinned", Boolean(this.data?.panels.some(({ scrubs }) => scrubs)))
    this.declared = (this.declared ?? 0) + 1
    this.go()
  }

  panel(key, part, declared) {
    let panel = this.panels.get(key)
    if (!panel) {
      const home = document.createElement("div")
      home.className = "player-panel"
      home.dataset.kind = declared.kind
      panel = new PANELS[declared.kind](home, {
        toggled: (block) => part.fire("toggled", [declared.run, block]),
        opened: () => part.fire("opened", declared.target ?? declared.run),
        pointed: (run) => this.pointed(run),
        scales: this.scales,
      })
      panel.home = home
      this.sized.observe(home)
      this.seen.observe(home)
      this.panels.set(key, panel)
    }
    panel.home.style.setProperty("--span", declared.span)
    panel.home.style.setProperty("--row", declared.row)
    panel.home.hidden = Boolean(declared.like || declared.needs)
    panel.run = declared.runs || declared.points ? undefined : declared.run
    panel.declare(declared)
    return panel
  }

  // Marks the panels of the run whose line the pointer is on.
  pointed(run) {
    for (const panel of this.panels.values())
      panel.home.classList.toggle("pointed", run !== undefined && panel.run === run)
  }

  // The scene shown, if there are scenes.
  get scene() {
    return this.data?.scenes?.[this.scenes.at]
  }

  // The logs along which the playhead moves: all, or the one of the scene.
  get active() {
    return this.scene ? [this.logs[this.scene.run]] : this.logs
  }

  // Enters a scene: its run from the beginning, which plays if the scene says so.
  enter() {
    this.moves.pause()
    this.playhead = new Playhead(this.active[0].last, this.playhead.speed)
    this.reported = ""
    this.arrived = false
    this.declarePanels()
    if (this.scene.plays && !calm()) this.moves.play()
    this.request()
  }

  // The step that the server hears of: a run that diverged at the first step rests at step 0, but has been trained.
  get step() {
    const { playhead, active } = this
    const trained = !playhead.shown && active.every((log) => log.lost)
    return trained ? Math.max(...active.map((log) => log.sentenceStep(playhead))) : playhead.shown
  }

  // How many rows of each run are wanted, and where the playhead is. The rows of a scene are wanted from the scene before.
  requests() {
    const { active } = this
    const soon = this.scene ? this.data.scenes.slice(0, this.scenes.at + 2) : []
    const wants = this.remote.map((log) => {
      const run = this.logs.indexOf(log)
      const shown = active.includes(log) ? this.playhead.wanted() : 0
      return soon.some((scene) => scene.prefetch && scene.run === run) ? log.last + 1 : Math.min(shown, log.last + 1)
    })
    return { wants, at: this.step, playing: this.playhead.playing }
  }

  // Asks for a frame, one for everything that happens before it.
  go() {
    this.due ??= requestAnimationFrame(() => {
      this.due = undefined
      this.frame()
    })
  }

  // One frame: moves the playhead by the time passed, asks for rows, draws what changed, reports the place.
  frame() {
    if (!this.root.isConnected || !this.logs.length) return
    const time = clock()
    this.recall(this.active)
    const extent = this.extent()
    this.follow(extent)
    this.expireReport()
    this.move(time, extent)
    this.request()
    const now = this.moment(time, extent)
    this.paint(now)
    this.report(time)
    this.showStatus(now)
    if (this.playhead.playing || this.stale.size || this.unreported) this.go()
    if (extent.recorded.some((log) => !log.over)) this.late ??= setTimeout(() => this.lookAgain(), LATE_SECONDS * 1000)
  }

  // How far the active logs reach: `there` and `over` as in `reach`, `end` their last row, `newest` that of recordings.
  extent() {
    const { active } = this
    const recorded = active.filter((log) => log.isRecording)
    const newest = Math.max(0, ...recorded.map((log) => log.last))
    return { ...reach(active), end: Math.max(0, ...active.map((log) => log.length - 1)), recorded, newest }
  }

  // Gives the playhead the length of the logs; at rest it stays at the end of a growing recording.
  follow({ recorded, newest }) {
    const { playhead, active } = this
    playhead.last = Math.max(...active.map((log) => log.last))
    playhead.stride = Math.min(...active.map((log) => log.stride))
    if (recorded.length && !playhead.playing && this.follows) playhead.position = newest
  }

  // Has the place reported again where the page has more to say of it now.
  expireReport() {
    const { playhead, logs, active } = this
    const ended = logs.filter((log) => log.over).length
    if (this.scene && ended !== this.ended) {
      this.ended = ended
      this.reported = "" // the text may be about the end
    }
    const come = active.filter((log) => log.over || log.length > playhead.shown).length // to the step shown
    if (come > this.come && playhead.shown && !playhead.playing) this.reported = "" // a run that was added has caught up
    this.come = come
  }

  // Moves the playhead by the time passed, and stops it at the target loss and at the end.
  move(time, { there, over, end }) {
    const { playhead } = this
    if (this.scene?.plays && over && there && calm() && !this.arrived) {
      this.arrived = true
      playhead.seek(there) // with reduced motion the end is shown at once
      playhead.ended = true
    }
    const { shown: before, playing } = playhead
    playhead.tick(time, { there, over })
    if (playing && playhead.ended) playhead.position = there // its last row may have come before the news that it is lost
    this.stopAtLoss(before)
    if (playhead.ended) playhead.furthest = Math.max(playhead.furthest, end) // a divergence has been seen, too
    if (this.scene) this.note(playhead.ended || (over && end > 0 && playhead.furthest >= end))
    if (over && !playhead.playing) playhead.position = Math.min(playhead.position, end)
  }

  /** @returns {Moment} */
  moment(time, { there, end, recorded, newest }) {
    const { playhead, logs } = this
    const quiet = calm()
    const until = playhead.playing ? Math.max(there, 0) : end // at rest a run that was added catches up beside the others
    const smooth = playhead.playing && !quiet // between two steps only while it moves
    const position = Math.min(smooth ? playhead.position : playhead.shown, until)
    return {
      logs,
      position,
      shown: Math.floor(position),
      // A recording is shown whole, played or not.
      furthest: recorded.length ? Math.max(playhead.furthest, newest, 1) : playhead.furthest,
      playing: playhead.playing,
      calm: quiet,
      alone: Boolean(this.scene),
      time,
    }
  }

  // Shows the bar and draws the panels; with reduced motion the step changes only every CALM_SECONDS.
  /** @param {Moment} now */
  paint(now) {
    const waits = now.calm && now.playing && now.time - this.drawnAt < CALM_SECONDS
    if (this.empty !== this.root.classList.contains("empty")) this.declarePanels()
    this.bar.show(this.playhead, this.word)
    if (this.playhead.ended) this.back()
    if (!waits) {
      this.drawnAt = now.time
      this.root.dataset.step = now.shown
      this.mark(now)
    }
    this.draw(now)
  }

  // The line of status says for how long no row has come.
  lookAgain() {
    this.late = undefined
    this.go()
  }

  // Notes whether the run of the scene has been watched to its end, and says what may be said then.
  note(ended) {
    const { scenes } = this.data
    if (ended) this.watched.add(this.active[0].link)
    this.scenes.writeTexts(scenes, (run) => this.watched.has(this.logs[run].link))
  }

  // Marks the panels to draw: all if anything changed since the last picture, else those that move on their own.
  /** @param {Moment} moment */
  mark({ logs, position, furthest, playing }) {
    const look = [position, furthest, playing, Boolean(this.plotly), this.resized, this.declared].join()
    const changed = look !== this.look || logs.some((log) => log.fresh <= furthest + 1)
    if (changed) for (const log of logs) log.fresh = Infinity
    for (const panel of this.panels.values()) if (changed || (playing && panel.lives)) this.stale.add(panel)
    this.look = look
  }

  // Draws the panels that have waited longest, for as long as a frame may take; the others follow in the next frames.
  // Those out of sight wait until the playhead rests or they are scrolled into view.
  /** @param {Moment} now */
  draw(now) {
    const moves = now.playing || now.time - this.moved < SETTLED_SECONDS
    const due = [...this.stale].filter((panel) => !(moves && panel.away))
    for (const panel of due) {
      this.stale.delete(panel)
      if (panel.draw(now, this.plotly, this.theme) === AGAIN) this.stale.add(panel)
      if (clock() - now.time > FRAME_SECONDS) break
    }
    if (due.length && !due.some((panel) => this.stale.has(panel)))
      this.root.dataset.draws = Number(this.root.dataset.draws ?? 0) + 1
  }

  stopAtLoss(before) {
    const [log] = this.logs
    const target = this.data.stop_loss
    const reached = this.playhead.stopAt(before, log.length, target, (row) => log.number("loss", row))
    if (reached !== null) this.stopped = `stopped: the loss has reached ${target} at step ${reached}`
  }

  place() {
    return `${this.step} ${this.playhead.playing}`
  }

  // Tells the server where the playhead is: at rest, and with "follow" once a second while it plays.
  report(time) {
    const { data, playhead } = this
    this.unreported = this.place() !== this.reported && (!playhead.playing || data.reports === "follow")
    if (data.reports === "never") this.unreported = false
    if (!this.unreported || time - tookWay < LEAVING_SECONDS || time - this.moved < REST_SECONDS) return
    if (playhead.playing && time - this.reportedAt < FOLLOW_SECONDS) return
    this.reported = this.place()
    this.reportedAt = time
    this.unreported = false
    this.connection.sendRequest() // before the page runs again, so that the server knows the same place
    this.setState("at", {
      step: this.step,
      playing: playhead.playing,
      scene: this.scene && this.scenes.at + 1,
      runs: data.runs.map((run) => run.link),
      ended: this.ended,
      caught_up: this.come,
    })
  }

  // Writes the line of status (step, speed, device, what is awaited) and the errors.
  /** @param {Moment} now */
  showStatus(now) {
    const { active: logs, connection, playhead, data } = this
    const states = logs.map((log) => log.state)
    const steps = Math.max(...logs.map((log) => log.last))
    const recorded = logs.filter((log) => log.isRecording)
    const facts = [
      `step ${now.shown} of ${steps}`,
      ...recorded.map((log) => log.decoder.facts(data.status_words)).filter(Boolean),
    ]
    const rate = states.reduce((sum, state) => sum + state.rate, 0)
    const together = logs.length > 1 ? " together" : ""
    if (rate) facts.push(`${brief(rate)} step${brief(rate) === "1" ? "" : "s"}/s${together}`)
    const known = !recorded.length && states.find((state) => state.device)
    if (known)
      facts.push(known.device, ...(logs.length > 1 ? [] : [`${known.parameters.toLocaleString("en")} parameters`]))
    facts.push(...data.facts)
    const behind = logs.find(
      (log) => !log.isRecording && !log.over && log.length <= playhead.shown + (playhead.playing ? 1 : 0),
    )
    const awaited = playhead.playing && behind
    const place = Math.max(...states.map((state) => state.place))
    if (connection.refusal) facts.push(`the server refused the connection: ${connection.refusal}`)
    else if (this.remote.length && !connection.connected) facts.push("connecting; the charts stay as they are")
    else if (recorded.length < logs.length && connection.trainer?.sentence) facts.push(connection.trainer.sentence)
    else if (states.some((state) => state.recomputing)) facts.push("recomputing this run; the charts stay as they are")
    else if (place) facts.push(`waiting as number ${place} in the queue: no more runs fit beside those in training`)
    else if (awaited || (playhead.shown && behind)) facts.push("computing")
    else if (playhead.ended && recorded.length < logs.length) facts.push(this.ending())
    if (this.stopped && !playhead.playing) facts.push(this.stopped)
    if (playhead.playing) this.stopped = ""
    const errors = states.flatMap(({ error }, at) =>
      error ? [sentence([data.names[at], error].filter(Boolean).join(": "))] : [],
    )
    const troubles = [...new Set(errors)].join(" ")
    write(this.error, troubles)
    const text = [...facts, ...(this.without ? [this.without] : [])].map(translated).join(" · ")
    const kind = logs.some((log) => log.state.recorded) ? "recorded" : "measured"
    if (this.status.dataset.text === text + kind) return
    this.status.dataset.text = text + kind
    const badge = document.createElement("span")
    badge.className = `player-badge ${kind}`
    badge.textContent = translated(kind)
    badge.title = data.badge_help[kind]
    this.status.replaceChildren(`${text} · ${translated("numbers")} `, badge)
  }

  ending() {
    const { active: logs, data } = this
    const lost = logs.filter((log) => log.lost).length
    if (logs.length === 1) return lost ? "diverged" : "done"
    if (!lost) return "all are done"
    if (lost < logs.length || !data.names.length) return `all finished, ${lost} diverged`
    return `all have diverged: ${logs.map(({ outcome }, at) => `${data.names[at]} at step ${outcome.step}`).join(", ")}`
  }

  leave() {
    this.keep()
    this.connection.close()
    this.sized.disconnect()
    this.seen.disconnect()
    this.scenes.leave()
    this.unlisten?.()
    document.removeEventListener("visibilitychange", this.here)
    cancelAnimationFrame(this.due)
    clearTimeout(this.late)
    for (const panel of this.panels.values()) {
      panel.clear?.(this.plotly)
      panel.home.remove()
    }
  }
}

window.addEventListener("pagehide", () => {
  for (const player of players.values()) player.keep()
  storePlaces()
})

const players = new Map() // by name, which a player shares with its parts
const parts = new Map() // by the name of their player: what is declared, by element

// `host`: where the player stands. `connect(changed)` gives what its logs come over (`connection.js`, `file.js`), `plotly` is the
// address of plotly where it is not on the page yet.
export const mount = (component, host) => {
  const { data, parentElement, setTriggerValue: fire } = component
  const root = parentElement.querySelector(".player")
  const name = data.below ?? data.name
  usePhrases(data.words ?? {})
  if (!parts.has(name)) parts.set(name, new Map())
  const declared = parts.get(name)
  if (!declared.has(root)) declared.set(root, { grid: root.querySelector(".player-grid") })
  Object.assign(declared.get(root), { data, fire })
  root.classList.toggle("below", Boolean(data.below))
  if (data.below) {
    players.get(name)?.declarePanels()
  } else {
    if (players.get(name)?.root !== root) players.set(name, new Player(root, host, declared))
    players.get(name).declare(component)
  }
  const player = players.get(name)
  translateTexts(root)
  return whenGone(root, () => {
    if (!declared.delete(root)) return
    if (data.below) return players.get(name)?.declarePanels()
    if (players.get(name) === player) players.delete(name)
    player.leave()
  })
}
