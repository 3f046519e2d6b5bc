// The player: holds the logs of a page, moves a playhead along them, and draws the declared panels in each frame.

import { Bar } from "./bar.js"
import { BlockPicture, RunHeading } from "./block.js"
import { Curve, Digit } from "./cell.js"
import { AGAIN, Chart, loadPlotly, prefetchPlotly, setHues, themeOf } from "./chart.js"
import { decodeEmbedded } from "./connection.js"
import { clock, setText, whenGone } from "./dom.js"
import { Drop, droppedLog } from "./drop.js"
import { listen } from "./keys.js"
import { brief } from "./number.js"
import { keepsPlaces, recallPlace, savePlace, storePlaces, takeStoredPlace } from "./places.js"
import { extentOf, Playhead } from "./playhead.js"
import { RunLog } from "./runlog.js"
import { SamplePaths } from "./sample_paths.js"
import { Scenes } from "./scenes.js"
import { StackPanel } from "./stack.js"
import { Heading, Headline, Link, Sentence, Text } from "./texts.js"
import { BrowserTrainer } from "./training.js"

/** @import { Moment } from "./playhead.js" */

const CALM_SECONDS = 0.5 // between two drawings with reduced motion
const REPORT_SECONDS = 0.4 // from the last move until the server learns of the playhead
const SETTLED_SECONDS = 0.2 // from the last move until panels out of sight are drawn
const FOLLOW_SECONDS = 1 // between two reports of a moving playhead
const LEAVING_SECONDS = 2 // from a click on a link until the next page appears
const HEARD_SECONDS = 0.1 // from a press to a report: Streamlit makes one request of both, and would rerun the player's part alone
const RERUN_SECONDS = 10 // the longest rerun of the page for a changed control
const REFRESH_SECONDS = 10 // between status updates of a growing recording without news
const PROJECTOR_FONT = 20 // pixels: the font size of the page for which projector scales are declared
const BEHIND_SECONDS = 2 // within which the page follows a net that its drawing asked for
const FRAME_SECONDS = 0.04 // for drawing in a frame; panels not drawn by then wait for the next frame
const SHARED_FRAME_SECONDS = 0.004 // the same while a run plays that the page trains, whose worker takes a core
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

const toSentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".")
// Scales a projector's chart with the square root of the page's font size, so that titles still fit.
const withProjectorScale = (panel) => {
  const { layout } = panel.figure ?? {}
  if (!layout?.bind?.scale) return panel
  const fontSize = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
  const scale = layout.bind.scale * Math.sqrt(fontSize / PROJECTOR_FONT)
  return { ...panel, figure: { ...panel.figure, layout: { ...layout, bind: { ...layout.bind, scale } } } }
}
const prefersCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches

// The name under which the place of a page's runs is stored, and those of its runs.
const namesOf = (data) => {
  const names = data.runs.map(({ link, seeds }) => JSON.stringify([link, seeds]))
  return [JSON.stringify([data.name, ...names]), names]
}

const usedTriggers = new Set() // the start and reset tokens of pages; each works once
const useTrigger = (token) => {
  const isNew = Boolean(token) && !usedTriggers.has(token)
  usedTriggers.add(token)
  return isNew
}

// When the viewer last used a control outside the players. A run started earlier belongs to the old settings.
let touchedAt = Number.NEGATIVE_INFINITY
for (const kind of ["pointerdown", "keydown", "click"])
  window.addEventListener(
    kind,
    ({ target }) => {
      if (!(target instanceof Element && target.closest(".player-bar"))) touchedAt = clock()
    },
    true,
  )

// When the viewer last followed a link, or a button in the style of one, or pressed Back: the page may be unloading, and a
// report would make the server rerun it.
const NAVIGATION_SELECTOR = "a[href], [data-testid=stBaseButton-tertiary]"
let navigatedAt = Number.NEGATIVE_INFINITY
const noteNavigation = () => {
  navigatedAt = touchedAt = clock()
}
window.addEventListener("popstate", noteNavigation)
window.addEventListener(
  "click",
  ({ target }) => target instanceof Element && target.closest(NAVIGATION_SELECTOR) && noteNavigation(),
  true,
)

class Player {
  constructor(root, host, parts) {
    this.root = root
    this.host = host
    this.parts = parts
    this.panels = new Map()
    this.scales = {}
    this.stale = new Set()
    this.logs = []
    this.reported = "" // the last reported place
    this.reportedHere = false // whether this browser trained the runs then
    this.movedAt = 0
    this.drawnAt = 0
    this.keepInSight = () => {} // while a run plays that a key has started
    this.scrollBack = () => {} // after that run
    this.status = root.querySelector(".player-status")
    this.error = root.querySelector(".player-error")
    this.hint = root.querySelector(".player-hint")
    this.here = root.querySelector(".player-here")
    this.hereWords = this.here.querySelector("span")
    this.hereButton = this.here.querySelector("button")
    this.hereButton.onclick = () => this.changeTrainer(!this.trainsHere)
    this.playhead = new Playhead(1)
    this.moves = this.createMoves()
    this.bar = new Bar(root.querySelector(".player-bar"), this.moves)
    this.drop = new Drop(root, (number, log) => this.takeFile(number, log))
    this.scenes = new Scenes(root, { onEnter: () => this.enter() })
    this.connection = host.connect(() => this.requestFrame())
    this.connection.onNet = (message) => this.showAsked(message)
    this.browser = new BrowserTrainer(
      () => host.engine(this.data.here.engine),
      () => this.requestFrame(),
      host.reworded,
    )
    this.wantsHere = this.trainsHere = false // whether the viewer wants the runs trained in this browser, and whether they are
    this.isAhead = false // of the page: it shows a net that the page is still to declare
    this.observePanels()
    this.onVisible = () => {
      this.requestHere()
      this.requestFrame()
    }
    document.addEventListener("visibilitychange", this.onVisible)
  }

  // The functions with which the bar, the keys and the page move the playhead.
  createMoves() {
    const withUpdate = (move) => (value) => {
      move(value)
      this.storedPlace = undefined
      this.movedAt = clock()
      this.follows = false // the end of a growing recording
      this.bar.show(this.playhead, this.startLabel) // at once; the charts follow in the next frame
      this.request()
      this.requestFrame()
    }
    return {
      play: withUpdate(() => {
        for (const other of players.values()) if (other.playhead.playing) other.moves.pause() // only one player plays
        this.pressedAt = clock()
        this.playhead.play(this.pressedAt)
      }),
      pause: withUpdate(() => this.playhead.pause()),
      step: withUpdate(() => this.playhead.step()),
      reset: withUpdate(() => this.playhead.reset()),
      seek: withUpdate((row) => {
        this.playhead.pause()
        this.playhead.seek(row)
      }),
      speed: withUpdate((speed) => (this.playhead.speed = speed)),
    }
  }

  // Observes the size of each panel, and whether it is in sight.
  observePanels() {
    this.resizes = 0
    this.resizeObserver = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries)
        for (const panel of this.panels.values())
          if (panel.home === target) Object.assign(panel, { width: contentRect.width, measured: undefined })
      this.resizes += 1
      this.keepInSight()
      this.requestFrame()
    })
    this.sightObserver = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries)
        for (const panel of this.panels.values()) {
          if (panel.home !== target) continue
          panel.away = !isIntersecting
          if (isIntersecting) this.stale.add(panel)
        }
      this.requestFrame()
    })
  }

  // Takes the declaration of the page, after every rerun that changes it and when the theme changes.
  declare(component) {
    const { data } = component
    clearTimeout(this.behind)
    if (this.isAhead && data.runs[0].link !== this.logs[0].link) {
      const follow = () => {
        this.isAhead = false
        this.declare(component)
      }
      this.behind = setTimeout(follow, 1000 * BEHIND_SECONDS) // unless the page shows the newer net by then
      return
    }
    this.data = data
    setHues(data.hues)
    this.setState = component.setStateValue
    if (data.speed && !this.isDeclared) this.playhead.speed = data.speed // only at first: the viewer may change it
    this.declareRuns(data)
    this.drop.declare([...data.runs.keys()].filter((number) => data.runs[number].recording === null))
    this.scenes.declare(data, component.setTriggerValue)
    const pageAt = data.at.join(" ") // the place of the playhead that the page knew when it ran
    if (pageAt !== this.pageAt) this.reported = this.pageAt = pageAt
    this.declarePanels()
    this.hint.textContent = data.keys
    this.listenToKeys(data.keys)
    this.isDeclared = true
    if (useTrigger(data.reset)) this.moves.reset()
    // With reduced motion no recording starts by itself.
    if (useTrigger(data.start) && !(prefersCalm() && this.active.every((log) => log.state.recorded))) this.moves.play()
    this.theme = themeOf(this.root)
    this.bar.show(this.playhead, this.startLabel) // before the first frame: a later label would shift the bar
    this.requestFrame()
  }

  listenToKeys(hint) {
    if (Boolean(this.unlisten) === Boolean(hint)) return
    this.unlisten?.()
    const { play, pause, step, reset } = this.moves
    const next = () => this.scenes.turn(1)
    const back = () => this.scenes.turn(-1)
    const arrows = this.scene ? { right: next, next, left: back, back } : { right: step }
    const space = () => (this.playhead.playing ? pause() : this.playInSight(play))
    this.unlisten = hint ? listen({ space, r: reset, ...arrows }) : undefined
  }

  async loadPlotly() {
    try {
      this.plotly = await loadPlotly(this.host.plotly)
    } catch (error) {
      this.plotlyProblem = `Charts cannot be drawn here, their tables can be opened: ${error.message}.`
    }
    this.requestFrame()
  }

  declareRuns(data) {
    const [name, names] = namesOf(data)
    const beside = JSON.stringify(data.beside)
    const isNew = name !== this.name
    const changesTrainer = !isNew && this.chooseTrainer(data)
    const hasOtherLogs = isNew || changesTrainer || beside !== this.beside
    this.beside = beside
    if (isNew) this.showRuns(data, name, names)
    else if (hasOtherLogs) this.openLogs(data)
    const isEmpty = this.logs.map((log) => !log.header) // the other logs know more than the page
    for (const message of data.messages.map(decodeEmbedded))
      if (isEmpty[message.run]) this.logs[message.run].receive(message)
    if (hasOtherLogs || data.ticket !== this.ticket || this.isAhead) {
      this.ticket = data.ticket
      this.isAhead = false
      this.sendHello()
    }
  }

  // Switches to other runs. Keeps the logs of runs that stay, and starts a new playhead where these runs were last left.
  showRuns(data, name, names) {
    const { playhead, names: previous } = this
    const playsOn = this.wantsNextRun()
    if (previous) this.savePlace()
    this.name = name
    this.names = names
    const left = recallPlace(name)
    const stored = data.restore ? takeStoredPlace(name) : undefined
    this.wantsHere ||= Boolean((left ?? stored)?.here)
    this.chooseTrainer(data)
    this.openLogs(data)
    this.playhead = new Playhead(Math.max(...this.active.map((log) => log.last)), playhead.speed)
    const includesAll = (all, some) => some.every((run) => all.includes(run))
    const onlyAddedOrRemoved = previous && (includesAll(names, previous) || includesAll(previous, names))
    const { follows = true, here: _, ...place } = (onlyAddedOrRemoved && this.placeOf(playhead)) || left || {}
    this.follows = follows
    if (!data.scenes.length) Object.assign(this.playhead, place, previous && { speed: playhead.speed })
    this.storedPlace = stored
    if (playsOn) this.playhead.play(clock())
    this.pageAt = ""
  }

  // Shows the net that its drawing asked for, as the trainer has measured it, before the page follows with all else.
  showAsked({ asked, link, last, blocks, messages }) {
    const panel = [...this.panels.values()].find(({ control }) => control?.asked === asked)
    const run = { ...this.data.runs[0], link, last }
    const data = { ...this.data, runs: [run] }
    const [name, names] = namesOf(data)
    if (!panel || name === this.name || recallPlace(name)?.position) return // that run was left at a later step
    this.isAhead = true
    this.showRuns(data, name, names)
    for (const message of messages.map(decodeEmbedded)) this.logs[0].receive(message)
    panel.declaredText = undefined // the page's own is to replace it
    panel.preview(blocks, this.logs[0].sentence("brief", 0))
    this.requestFrame()
  }

  // Takes the logs of the page's runs, and of those that lie beside them; those that stay keep their rows.
  openLogs({ runs, beside }) {
    const openLog = (run, number) => (run.recording === null && droppedLog(number)) || new RunLog(run)
    const reusable = [...this.logs]
    this.logs = [...runs, ...beside].map((run, number) => {
      const isHere = this.trainsHere && number < runs.length
      const isSame = (log) => log.link === run.link && log.seeds === run.seeds && log.isHere === isHere
      const index = reusable.findIndex(isSame)
      const log = index < 0 || run.recording !== undefined ? openLog(run, number) : reusable.splice(index, 1)[0]
      return Object.assign(log, { isHere, beside: number >= runs.length })
    })
  }

  // Chooses who trains the page's runs, this browser or the server; returns whether that is another one than before.
  chooseTrainer({ here }) {
    const before = this.trainsHere
    this.trainsHere = Boolean(here && !here.refusal && (here.always || this.wantsHere))
    return this.trainsHere !== before
  }

  // Has the runs trained in this browser, or on the server again, from their beginning.
  changeTrainer(wantsHere) {
    this.wantsHere = wantsHere
    this.chooseTrainer(this.data)
    this.openLogs(this.data)
    this.moves.reset()
    this.sendHello()
    if (wantsHere) this.moves.play()
  }

  // Whether the viewer pressed Train while the page was rerunning for a changed control. The press then meant the net with
  // that change, even if the old run was so short that it has already ended.
  wantsNextRun() {
    const { playhead } = this
    const isRecent = clock() - this.pressedAt < RERUN_SECONDS
    const plays = playhead.playing ? !playhead.shown || isRecent : playhead.ended && isRecent
    return plays && touchedAt <= this.pressedAt
  }

  // The place of a playhead, to restore it for the same runs.
  placeOf({ position, furthest, speed }) {
    return { position: Math.floor(position), furthest, speed, follows: this.follows, here: this.wantsHere }
  }

  // After a reload, returns to the stored place once the rows have arrived; that alone makes no server train.
  restorePlace(logs) {
    if (!this.storedPlace || !logs.every((log) => log.isOver || log.length > this.storedPlace.position)) return
    const { position, furthest } = this.storedPlace
    Object.assign(this.playhead, { position, furthest })
    this.storedPlace = undefined
  }

  savePlace() {
    if (!this.data.scenes.length) savePlace(this.name, this.placeOf(this.playhead))
  }

  // The logs that the connection delivers. Files of the visitor are read in the browser, and runs may be trained there.
  get remote() {
    return this.logs.filter((log) => !log.isLocal && !log.isHere)
  }

  sendHello() {
    if (this.remote.length) this.connection.hello(this.ticket, this.remote, this.requests())
    else this.connection.stopRequests()
  }

  request() {
    if (this.isAhead) return
    if (this.remote.length) this.connection.request(this.requests())
    this.requestHere()
  }

  requestHere() {
    const logs = this.logs.filter(({ isHere }) => isHere)
    this.browser.request(logs, this.requests(logs).wants)
  }

  // Shows the log of a file of the visitor, which may still be growing.
  takeFile(number, log) {
    if (this.data.runs[number]?.recording !== null) return // the page shows other runs by now
    if (this.logs[number] !== log) {
      this.logs[number] = log
      this.follows = true
      this.playhead = new Playhead(log.last, this.playhead.speed)
    }
    this.requestFrame()
  }

  get startLabel() {
    return this.data.verb || `Train${this.data.scope}`
  }

  // Whether the page shows recordings and none has arrived yet.
  get isEmpty() {
    const recorded = this.active.filter((log) => log.isRecording)
    return recorded.length > 0 && !recorded.some((log) => log.header)
  }

  // Plays on a projector, which nobody scrolls: keeps the player in sight while it plays, and scrolls back at the end.
  playInSight(play) {
    const pane = this.root.closest("[data-testid=stMain]")
    const top = pane?.scrollTop
    this.keepInSight = () => this.root.scrollIntoView({ block: "nearest" })
    this.scrollBack = () => {
      this.scrollBack = this.keepInSight = () => {}
      pane?.scrollTo({ top })
    }
    this.keepInSight()
    play()
  }

  // Declares the panels of the player and of its parts further down the page.
  declarePanels() {
    const keys = new Set()
    this.root.classList.toggle("empty", this.isEmpty)
    for (const [root, part] of this.parts) {
      if (root !== this.root && !part.data.below) continue // a player of the same name that is about to unmount
      const declarations = this.scene && root === this.root ? this.scene.panels : part.data.panels
      const panels = this.isEmpty ? [] : declarations.map(withProjectorScale)
      panels.forEach((declared, index) => {
        const key = `${part.data.name} ${declared.key}`
        const { home } = this.declarePanel(key, part, declared)
        keys.add(key)
        if (declared.scrubs) this.bar.putUnderSlider(home, declared)
        else if (part.grid.children[index] !== home) part.grid.insertBefore(home, part.grid.children[index] ?? null)
      })
    }
    for (const [key, panel] of this.panels) {
      if (keys.has(key)) continue
      panel.clear?.(this.plotly)
      this.resizeObserver.unobserve(panel.home)
      this.sightObserver.unobserve(panel.home)
      this.stale.delete(panel)
      panel.home.remove()
      this.panels.delete(key)
    }
    this.root.classList.toggle("pinned", Boolean(this.data?.panels.some(({ scrubs }) => scrubs)))
    this.declarations = (this.declarations ?? 0) + 1
    this.requestFrame()
  }

  declarePanel(key, part, declared) {
    let panel = this.panels.get(key)
    if (declared.kind === "chart" && !this.plotly) this.loadPlotly()
    if (!panel) {
      const home = document.createElement("div")
      home.className = "player-panel"
      home.dataset.kind = declared.kind
      panel = new PANELS[declared.kind](home, {
        changed: (net) => {
          this.connection.ask(net)
          part.fire("choice", net)
        },
        advanced: (next) => part.fire("advanced", next),
        redraw: () => {
          this.stale.add(panel)
          this.requestFrame()
        },
        opened: () => part.fire("opened", declared.target ?? declared.run),
        plotted: (margins) => this.bar.cover(margins),
        scales: this.scales,
      })
      panel.home = home
      this.resizeObserver.observe(home)
      this.sightObserver.observe(home)
      this.panels.set(key, panel)
    }
    const text = JSON.stringify(declared)
    const isOlder = this.isAhead && declared.net && declared.net.heard !== panel.control?.asked
    if (panel.declaredText === text || isOlder) return panel // else every part of a page would draw the others' charts anew
    panel.declaredText = text
    panel.home.style.setProperty("--span", declared.span)
    panel.home.style.setProperty("--row", declared.row)
    panel.home.hidden = Boolean(declared.like || declared.needs)
    panel.declare(declared)
    return panel
  }

  // The scene shown, if there are scenes.
  get scene() {
    return this.data?.scenes?.[this.scenes.shown]
  }

  // The logs along which the playhead moves: those of the page's runs, or that of the scene.
  get active() {
    return this.scene ? [this.logs[this.scene.run]] : this.logs.filter(({ beside }) => !beside)
  }

  // Shows the run of the current scene from its beginning, and plays it if the scene does.
  enter() {
    this.moves.pause()
    this.playhead = new Playhead(this.active[0].last, this.playhead.speed)
    this.reported = ""
    this.hasArrived = false
    this.declarePanels()
    if (this.scene.plays && !prefersCalm()) this.moves.play()
    this.request()
  }

  // The rows to request of each run, and the state of the playhead. A scene's rows are requested one scene earlier.
  requests(logs = this.remote) {
    const { active } = this
    const upcoming = this.scene ? this.data.scenes.slice(0, this.scenes.shown + 2) : []
    const wants = logs.map((log) => {
      const run = this.logs.indexOf(log)
      const again = log.isHere && this.storedPlace ? this.storedPlace.position + 1 : 0
      const shown = active.includes(log) ? Math.max(this.playhead.rowsWanted(), again) : 0
      return upcoming.some((scene) => scene.prefetch && scene.run === run)
        ? log.last + 1
        : Math.min(shown, log.last + 1)
    })
    return { wants, at: this.playhead.shown, playing: this.playhead.playing }
  }

  // Schedules a frame; several calls before it share one.
  requestFrame() {
    this.frameRequest ??= requestAnimationFrame(() => {
      this.frameRequest = undefined
      this.frame()
    })
  }

  // Moves the playhead, requests rows, draws changed panels, reports the place.
  frame() {
    if (!this.root.isConnected || !this.logs.length) return
    const time = clock()
    this.restorePlace(this.active)
    const extent = this.extent()
    this.follow(extent)
    this.expireReport()
    this.advance(time, extent)
    this.request()
    const moment = this.momentAt(time, extent)
    this.paint(moment)
    this.report(time)
    this.showStatus(moment)
    if (this.playhead.playing || this.stale.size || this.unreported) this.requestFrame()
    if (extent.recorded.some((log) => !log.isOver))
      this.refreshTimer ??= setTimeout(() => this.refreshStatus(), REFRESH_SECONDS * 1000)
  }

  // Returns the extent of the active logs, as `extentOf` does, with the last step of all (`end`), the recordings among them
  // (`recorded`) and their last step (`newest`).
  extent() {
    const { active } = this
    const recorded = active.filter((log) => log.isRecording)
    const newest = Math.max(0, ...recorded.map((log) => log.last))
    const end = Math.max(0, ...active.map((log) => log.length - 1))
    return { ...extentOf(active), end, recorded, newest }
  }

  // Sets the length of the playhead; at rest it stays at the end of a growing recording.
  follow({ recorded, newest }) {
    const { playhead, active } = this
    playhead.last = Math.max(...active.map((log) => log.last))
    playhead.stride = Math.min(...active.map((log) => log.stride))
    if (recorded.length && !playhead.playing && this.follows) playhead.position = newest
  }

  // Forgets the reported place if the page can say more about it now, so that it is reported again.
  expireReport() {
    const { playhead, logs, active } = this
    const ended = logs.filter((log) => log.isOver).length
    if (this.scene && ended !== this.ended) {
      this.ended = ended
      this.reported = "" // the text may quote the end
    }
    const caughtUp = active.filter((log) => log.isOver || log.length > playhead.shown).length
    if (caughtUp > this.caughtUp && playhead.shown && !playhead.playing) this.reported = "" // an added run has caught up
    this.caughtUp = caughtUp
  }

  // Moves the playhead by the time passed, and stops it at the target loss and at the end.
  advance(time, { playable, isOver, end }) {
    const { playhead } = this
    if (this.scene?.plays && isOver && playable && prefersCalm() && !this.hasArrived) {
      this.hasArrived = true
      playhead.seek(playable) // with reduced motion, show the end at once
      playhead.ended = true
    }
    const { shown: before } = playhead
    playhead.tick(time, { playable, isOver })
    this.stopAtLoss(before)
    if (isOver && !playhead.playing) playhead.position = Math.min(playhead.position, end)
  }

  /** @returns {Moment} */
  momentAt(time, { playable, end, recorded, newest }) {
    const { playhead, logs } = this
    const calm = prefersCalm()
    const until = playhead.playing ? Math.max(playable, 0) : end // at rest an added run still catches up
    const isSmooth = playhead.playing && !calm // between two steps only while moving
    const position = Math.min(isSmooth ? playhead.position : playhead.shown, until)
    return {
      logs,
      position,
      shown: Math.floor(position),
      // A recording is shown to its end, played or not.
      furthest: recorded.length ? Math.max(playhead.furthest, newest, 1) : playhead.furthest,
      playing: playhead.playing,
      calm,
      alone: Boolean(this.scene),
      about: this.about().join(" · "),
      time,
    }
  }

  // Updates the bar and the panels; with reduced motion the step changes only every CALM_SECONDS.
  /** @param {Moment} moment */
  paint(moment) {
    const isWaiting = moment.calm && moment.playing && moment.time - this.drawnAt < CALM_SECONDS
    if (this.isEmpty !== this.root.classList.contains("empty")) this.declarePanels()
    this.bar.show(this.playhead, this.startLabel)
    if (this.playhead.ended) this.scrollBack()
    if (!isWaiting) {
      this.drawnAt = moment.time
      this.root.dataset.step = moment.shown
      this.markStale(moment)
    }
    this.draw(moment)
  }

  // Draws a frame, because the status line says how long a recording has been silent.
  refreshStatus() {
    this.refreshTimer = undefined
    this.requestFrame()
  }

  // Marks the panels to draw: all if anything has changed since the last drawing, else those that are animated.
  /** @param {Moment} moment */
  markStale({ logs, position, furthest, playing }) {
    const state = [position, furthest, playing, Boolean(this.plotly), this.resizes, this.declarations].join()
    const changed = state !== this.drawnState || logs.some((log) => log.changedFrom <= furthest + 1)
    if (changed) for (const log of logs) log.changedFrom = Infinity
    for (const panel of this.panels.values()) if (changed || (playing && panel.isAnimated)) this.stale.add(panel)
    this.drawnState = state
  }

  // Draws stale panels, the oldest first, for at most FRAME_SECONDS. Panels out of sight wait until the playhead rests or
  // they are scrolled into view.
  /** @param {Moment} moment */
  draw(moment) {
    const moves = moment.playing || moment.time - this.movedAt < SETTLED_SECONDS
    const due = [...this.stale].filter((panel) => !(moves && panel.away))
    const most = this.trainsHere && moment.playing ? SHARED_FRAME_SECONDS : FRAME_SECONDS
    for (const panel of due) {
      this.stale.delete(panel)
      if (panel.draw(moment, this.plotly, this.theme) === AGAIN) this.stale.add(panel)
      if (clock() - moment.time > most) break
    }
    if (!due.length || due.some((panel) => this.stale.has(panel))) return
    if (!this.root.dataset.draws) prefetchPlotly(this.host.plotly)
    this.root.dataset.draws = Number(this.root.dataset.draws ?? 0) + 1
  }

  stopAtLoss(before) {
    const [log] = this.logs
    const target = this.data.stop_loss
    const reached = this.playhead.stopAt(before, log.length, target, (row) => log.number("loss", row))
    if (reached !== null) this.stopped = `stopped: the loss has reached ${target} at step ${reached}`
  }

  placeKey() {
    return `${this.playhead.shown} ${this.playhead.playing}${this.trainsHere ? " true" : ""}`
  }

  // Reports the place of the playhead to the page: at rest, and with "follow" once a second while it plays.
  report(time) {
    const { data, playhead } = this
    const isTold = !playhead.playing || data.reports === "follow" || this.trainsHere !== this.reportedHere
    this.unreported = this.placeKey() !== this.reported && isTold
    if (data.reports === "never" || this.isAhead) this.unreported = false
    if (!this.unreported || time - navigatedAt < LEAVING_SECONDS || time - this.movedAt < REPORT_SECONDS) return
    if (time - touchedAt < HEARD_SECONDS) return
    if (playhead.playing && time - this.reportedAt < FOLLOW_SECONDS) return
    this.reported = this.placeKey()
    this.reportedHere = this.trainsHere
    this.reportedAt = time
    this.unreported = false
    this.connection.sendRequest() // before the page reruns, so that the server knows the same place
    this.setState("at", {
      step: playhead.shown,
      playing: playhead.playing,
      here: this.trainsHere,
      scene: this.scene && this.scenes.shown + 1,
      runs: data.runs.map((run) => run.link),
      ended: this.ended,
      caught_up: this.caughtUp,
    })
  }

  // What does not change while the runs are trained: device, size, and what the page says of them.
  about() {
    const { active: logs, data } = this
    const trained = !logs.some((log) => log.isRecording) && logs.find(({ state }) => state.device)?.state
    const facts = trained && !this.trainsHere ? [trained.device] : []
    if (trained && logs.length === 1) facts.push(`${trained.parameters.toLocaleString("en")} parameters`)
    return [...facts, ...data.facts]
  }

  // Whether a verdict tells these behind "why".
  get hasReasons() {
    const [log, ...others] = this.active
    return !others.length && !log.isRecording && [...this.panels.values()].some((panel) => panel instanceof Headline)
  }

  // Writes the status line (step, speed, what is awaited, and what no verdict tells) and the errors.
  /** @param {Moment} moment */
  showStatus(moment) {
    const { active: logs, playhead, data } = this
    const states = logs.map((log) => log.state)
    const recorded = logs.filter((log) => log.isRecording)
    const isNew = !moment.furthest && !moment.playing
    const facts = isNew ? [] : [`step ${moment.shown} of ${Math.max(...logs.map((log) => log.last))}`]
    facts.push(...recorded.map((log) => log.decoder.facts(data.status_words)).filter(Boolean))
    const rate = states.reduce((sum, state) => sum + state.rate, 0)
    const together = logs.length > 1 ? " together" : ""
    if (rate) facts.push(`${brief(rate)} step${brief(rate) === "1" ? "" : "s"}/s${together}`)
    if (!this.hasReasons) facts.push(...this.about())
    if (states.some((state) => state.unsaved))
      facts.push("the server cannot write to its disk: this run is kept in memory")
    const progress = this.progressFact(states, recorded.length < logs.length)
    if (progress) facts.push(progress)
    if (this.stopped && !playhead.playing) facts.push(this.stopped)
    if (playhead.playing) this.stopped = ""
    if (this.plotlyProblem) facts.push(this.plotlyProblem)
    const errors = states.flatMap(({ error }, index) =>
      error ? [toSentence([data.names[index], error].filter(Boolean).join(": "))] : [],
    )
    setText(this.error, [...new Set(errors)].join(" "))
    const kind = this.trainsHere ? "here" : states.some((state) => state.recorded) ? "recorded" : "measured"
    this.writeStatus(facts.join(" · "), kind)
    this.showTrainer(states)
  }

  // Offers to train in this browser where the server cannot, or says why not; and offers the way back.
  showTrainer(states) {
    const { here } = this.data
    const { refusal, trainer } = this.connection
    const isStuck = refusal || trainer?.state === "failed" || states.some(({ place }) => place)
    const label = this.trainsHere ? "Train on the server" : "Train in this browser"
    this.here.hidden = !here || (this.trainsHere ? here.always : !isStuck)
    this.hereButton.hidden = this.here.hidden || Boolean(here.refusal)
    setText(this.hereWords, this.here.hidden ? "" : ` · ${here.refusal}`)
    setText(this.hereButton, this.hereButton.hidden ? "" : label)
  }

  // What the viewer waits for, or how the runs ended; empty in between.
  progressFact(states, hasRuns) {
    const { active: logs, connection, playhead, browser } = this
    const place = Math.max(...states.map((state) => state.place))
    if (browser.problem) return browser.problem
    if (this.trainsHere && this.storedPlace)
      return `training again to step ${this.storedPlace.position}, shown before the reload`
    if (this.trainsHere && !keepsPlaces) return "this browser keeps nothing: after a reload the run starts again"
    if (connection.refusal) return `the server refused the connection: ${connection.refusal}`
    if (this.remote.length && !connection.connected) return "connecting; the charts stay as they are"
    if (hasRuns && !this.trainsHere && connection.trainer?.sentence) return connection.trainer.sentence
    if (states.some((state) => state.recomputing)) return "recomputing this run; the charts stay as they are"
    if (place) return `the trainer is full: waiting as number ${place} in the queue`
    const nextStep = playhead.shown + (playhead.playing ? 1 : 0)
    const isBehind = logs.some((log) => !log.isRecording && !log.isOver && log.length <= nextStep)
    if (isBehind && (playhead.playing || playhead.shown)) return "computing"
    return playhead.ended && hasRuns ? this.endingText() : ""
  }

  writeStatus(text, kind) {
    if (this.status.dataset.text === text + kind) return
    this.status.dataset.text = text + kind
    const badge = document.createElement(kind === "here" ? "a" : "span")
    badge.className = `player-badge ${kind}`
    badge.textContent = { measured: "measured live", here: "trained in this browser" }[kind] ?? kind
    if (badge instanceof HTMLAnchorElement) Object.assign(badge, { href: this.data.here.meaning, target: "_blank" })
    badge.title = this.data.badge_help[kind]
    this.status.firstElementChild.replaceChildren(text && `${text} · `, badge)
  }

  endingText() {
    const { active: logs, data } = this
    const diverged = logs.filter((log) => log.hasDiverged).length
    if (logs.length === 1) return diverged ? "diverged" : "done"
    if (!diverged) return "all are done"
    if (diverged < logs.length || !data.names.length) return `all finished, ${diverged} diverged`
    const places = logs.map(({ outcome }, index) => `${data.names[index]} at step ${outcome.step}`)
    return `all have diverged: ${places.join(", ")}`
  }

  leave() {
    this.savePlace()
    this.connection.stopRequests()
    this.connection.close()
    this.browser.close()
    this.resizeObserver.disconnect()
    this.sightObserver.disconnect()
    this.scenes.leave()
    this.unlisten?.()
    document.removeEventListener("visibilitychange", this.onVisible)
    cancelAnimationFrame(this.frameRequest)
    clearTimeout(this.refreshTimer)
    clearTimeout(this.behind)
    for (const panel of this.panels.values()) {
      panel.clear?.(this.plotly)
      panel.home.remove()
    }
  }
}

window.addEventListener("pagehide", () => {
  for (const player of players.values()) player.savePlace()
  storePlaces()
})

const players = new Map() // by name
const parts = new Map() // by name of their player: { grid, data, fire } by root element

// `host.connect(onChange)` returns the connection of the logs (connection.js, file.js); `host.plotly` is plotly's address,
// undefined if the page has it already.
export const mount = (component, host) => {
  const { data, parentElement, setTriggerValue: fire } = component
  const root = parentElement.querySelector(".player")
  const name = data.below ?? data.name
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
  return whenGone(root, () => {
    if (!declared.delete(root)) return
    if (data.below) return players.get(name)?.declarePanels()
    if (players.get(name) === player) players.delete(name)
    player.leave()
  })
}
