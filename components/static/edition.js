// A page of the static edition: the nets of its address, trained in this browser, with the app's controls and links.

import { configOf } from "../../addnorm/engine/config.js"
import { connection, mountParts, unpack } from "../../addnorm/player/file.js"
import { columnsOf, linkOf, settingsOf } from "./address.js"
import { Form } from "./form.js"
import { blocksOf, namesOf, overridesOf } from "./nets.js"

const COPIED_MS = 2000
const ALL = "all" // columns are changed
const LETTERS = ["A", "B"]
const OF_ONE_TASK = ["Loss", "Held-out loss"] // charts
const WIDE = "(min-width: 60rem)" // screens on which the settings stand beside the player

/** @returns {any} */
const find = (selector) => document.querySelector(selector)
const queryOf = (link) => new URLSearchParams(link).toString()
const linkIn = (query) => Object.fromEntries(new URLSearchParams(query))
const say = (selector, texts) => {
  find(selector).textContent = texts.join(" ")
  find(selector).hidden = !texts.length
}

// The exceptions of a net's blocks, whatever else the engine refuses of it.
const exceptionsOf = ({ depth, overrides }, schema) => configOf({ depth: String(depth), overrides }, schema)

// Torch's sentences on a net before training, where its numbers are torch's, stand in place of the engine's.
const rewordedBy = (toldOf) => (message, link) => {
  const told = message.kind === "sentences" && toldOf[link]
  if (!told) return message
  const [[, own]] = message.sentences.verdict
  const changes = ([kind, text]) => [
    kind,
    [
      [0, text],
      [1, kind === "verdict" ? own : ""],
    ],
  ]
  return { ...message, sentences: Object.fromEntries(Object.entries(told).map(changes)) }
}

class Page {
  constructor(main, given, engine) {
    this.main = main
    this.given = given // by pages/static.py
    this.schema = engine.schema
    this.host = { connect: () => connection, engine: async () => engine, reworded: rewordedBy(given.told) }
    this.norm = this.schema.fields.norm.default // what a net that had none gets
    this.target = ALL
    this.isCompare = given.page === "compare"
    this.isOver = false // the runs were watched to their ends
    this.heard = 0 // the last change that the drawing was asked for
    if (given.controls.length) {
      this.form = new Form(find("form"), given.controls, (name, text) => this.change(name, text))
      find("#settings").open = matchMedia(WIDE).matches
    }
    find("#copy").onclick = () => this.copy()
    addEventListener("popstate", () => this.adopt())
    this.adopt()
  }

  // Takes the nets of the address, or the page's own.
  adopt() {
    const { schema, given, isCompare } = this
    const read = (link) => settingsOf(link, schema, given.links)
    const link = linkIn(location.search)
    const alone = this.form && !isCompare ? read(link) : { settings: null, notes: [] }
    const { columns, notes } = isCompare ? columnsOf(link, schema, given.links) : { columns: [], notes: alone.notes }
    const own = alone.settings ? [alone.settings] : given.nets.map((net) => read(linkIn(net)).settings)
    this.columns = columns.length ? columns : own
    this.show(notes, "From the link: ")
  }

  // Takes what a control says, of the net or of the columns that the controls change.
  change(name, text) {
    if (name === "target") {
      this.target = text
      this.show([])
    } else this.set({ [name]: text })
  }

  // Sets fields, as texts of a link, and writes the address.
  set(texts) {
    const notes = []
    const { schema, given } = this
    this.columns = this.columns.map((column, index) => {
      if (this.isCompare && ![ALL, LETTERS[index]].includes(this.target)) return column
      const overrides = overridesOf(exceptionsOf(column, schema), +(texts.depth ?? column.depth))
      const read = settingsOf({ ...linkOf({ ...column, overrides }, given.links), ...texts }, schema, given.links)
      notes.push(...read.notes)
      return read.settings
    })
    try {
      if (location.search !== `?${this.query}`) history.pushState(null, "", `?${this.query}`)
    } catch {
      // a frame without an address of its own; "Copy link" knows the nets
    }
    this.show([...new Set(notes)])
  }

  get links() {
    return this.columns.map((settings) => queryOf(linkOf(settings, this.given.links)))
  }

  get query() {
    const { links } = this
    if (this.isCompare) return queryOf({ a: links[0], b: links[1] })
    return this.form ? links[0] : ""
  }

  // Shows the nets, or why they are not trained here, and `notes` on what was changed in them.
  show(notes, source = "") {
    const { given, columns, links, schema } = this
    const refusals = []
    const configs = links.map((link, index) => {
      try {
        return configOf(linkIn(link), schema)
      } catch ({ field, message }) {
        const isEditions = ["net", "task"].includes(field) // which the engine may take all the same
        const sentence = isEditions ? message.replace("in a browser", "on this page") : message
        refusals.push(this.isCompare ? `Column ${LETTERS[index]}: ${sentence}` : sentence)
        return null
      }
    })
    const tasks = columns.map(({ task }) => task).toSorted()
    const differ = new Set(tasks).size > 1
    const said = notes.length ? [`${source}${notes.join("; ")}.`] : []
    say("#notes", differ ? [...said, given.differ.replace("{tasks}", tasks.join(", "))] : said)
    say("#refusal", refusals)
    this.main.hidden = refusals.length > 0
    if (!refusals.length) this.play(configs, differ)
    this.showForm()
    find("#app").hidden = !given.app
    find("#app").href = `${given.app}/${given.page === "index" ? "" : given.page}?${this.query}`
    if (!this.form || this.isCompare) return
    const other = linkOf({ ...columns[0], residual: !columns[0].residual }, given.links)
    find("#compare").href = `compare.html?${queryOf({ a: links[0], b: queryOf(other) })}`
    find("#compare").hidden = refusals.length > 0
  }

  showForm() {
    const { columns, target } = this
    const shown = columns[Math.max(LETTERS.indexOf(target), 0)]
    const differs = (name) => columns.some((column) => column[name] !== shown[name])
    const fixed = target === ALL ? Object.keys(shown).filter(differs) : []
    this.form?.show({ ...shown, target }, shown.norm === "none" ? [...fixed, "placement"] : fixed)
  }

  // Declares the player and the panels above and below it; mounts them at first.
  play(configs, differ) {
    const { given, links } = this
    const [over, panels, under] = this.panelsOf(configs, differ)
    const below = (panels, index) => ({ name: `file_${index}`, below: "file", panels })
    const player = {
      ...given.player,
      panels,
      runs: configs.map(({ steps }, index) => ({ link: links[index], seeds: 1, last: steps })),
      facts: given.player.facts.map((fact) => fact.replace("seed 0", `seed ${configs[0].seed}`)),
    }
    const parts = [below(over, 0), player, below(under, 1)]
    const hear = (name, value) => this.hear(name, value)
    if (this.declare) this.declare(parts)
    else this.declare = mountParts(this.main, parts, this.host, { setStateValue: hear, setTriggerValue: hear })
  }

  // The declared panels, cut from the widest nets' to these.
  panelsOf(configs, differ) {
    const { given, links } = this
    const depth = Math.max(...configs.map((cfg) => cfg.depth))
    const steps = Math.max(...configs.map((cfg) => cfg.steps))
    const norms = configs.flatMap((cfg) => [cfg, ...Object.values(cfg.overrides)].map(({ norm }) => norm))
    const fit = (key, value) => {
      if (value?.max_ticks) {
        const count = depth + (value.names[0] === "input" ? 1 : 0)
        return { ...value, names: value.names.slice(0, count), labels: value.labels.slice(0, count) }
      }
      if (key === "range" && value[1] === given.steps) return [0, steps]
      if (key === "data" && !norms.includes("batch norm"))
        return value.filter(({ bind }) => bind?.track !== "train_mode_loss")
      if (value?.kind === "stack") return { ...value, ...this.stackOf(configs[value.run], value) }
      if (value?.kind === "link") return { ...value, href: `playground.html?${links[value.run]}` }
      if (value?.kind === "outcome" && this.isOver) return { ...value, outcome: given.outcomes[value.run] }
      return value
    }
    const names = namesOf(this.columns, this.schema)
    const text = JSON.stringify(given.panels[configs[0].task])
    const named = given.labels.reduce((whole, label, index) => whole.replaceAll(label, names[index]), text)
    return JSON.parse(named, fit).map((panels) => panels.filter(({ title }) => !differ || !OF_ONE_TASK.includes(title)))
  }

  // The blocks of a stack, and what makes its drawing a control where it has a hint.
  stackOf(cfg, { hint }) {
    const blocks = blocksOf(cfg, this.schema)
    if (!hint) return { blocks }
    if (cfg.norm !== "none") this.norm = cfg.norm
    const out = blocks.filter((block) => block.out).map(({ block }) => block)
    const net = { depth: cfg.depth, residual: cfg.residual, norm: cfg.norm !== "none", out, own: null }
    return { blocks, net: { ...net, most: this.schema.fields.depth.high, heard: this.heard, kind: this.norm } }
  }

  // What the player reports: a press on its drawing or on a link, or where its playhead rests.
  hear(name, value) {
    if (name === "opened") location.assign(`playground.html?${this.links[value]}`)
    if (name === "choice") this.redraw(value)
    if (name !== "at" || !this.given.outcomes) return
    const isOver = value.step > 0 && (this.isOver || value.step >= this.columns[0].steps)
    if (isOver === this.isOver) return
    this.isOver = isOver
    find("#conclusion").hidden = !isOver
    this.show([])
  }

  // Takes the net that its drawing asks for.
  redraw({ depth, residual, norm, out, asked }) {
    this.heard = asked
    const overrides = overridesOf(exceptionsOf(this.columns[0], this.schema), depth, out)
    this.set({ depth: String(depth), residual: String(residual), norm: norm ? this.norm : "none", overrides })
  }

  async copy() {
    const address = location.href.split(/[?#]/)[0] + (this.query && `?${this.query}`)
    const button = find("#copy")
    const label = button.textContent
    try {
      // A denied attempt would log an error.
      if (/** @type {any} */ (document).featurePolicy?.allowsFeature("clipboard-write") === false) throw new Error()
      await navigator.clipboard.writeText(address)
      button.textContent = this.given.copied
      setTimeout(() => (button.textContent = label), COPIED_MS)
    } catch {
      const box = find("#address") // over http, or in another site's frame: to copy by hand
      Object.assign(box, { hidden: false, value: address })
      box.select()
    }
  }
}

export const open = async (main) => {
  const { messages, engine } = await unpack()
  new Page(main, messages[0], engine)
  find("#still").remove()
}
