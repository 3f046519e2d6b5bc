// A run's settings from its link, and the plan of its net; what the engine does not take is refused by name.

/**
 * The Python side's `models.spec.schema`: the one list of fields, defaults and legal values.
 * @typedef {{ fields: Record<string, any>, placements: Record<string, string[]>, tasks: Record<string, any>,
 *   overrides: Record<string, any[]>, taken: Record<string, any[]>, most: number }} Schema
 */
/** @typedef {Record<string, any>} Config */

const BOOLEANS = new Map([
  ["true", true],
  ["false", false],
])
const GATES = ["zero gate", "layer scale"]
const KINDS = { mlp: ["mlp"], transformer: ["attn", "ffn"] } // the sublayers of a block

// Python's round.
export const halfToEven = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x))

export const SUBSET = 128 // rows on which a frame measures the stream
export const HELD_OUT = 64 // sequences, and windows of the book

// Why a run cannot be trained in the browser; `field` is the setting.
export class Refusal extends Error {
  constructor(field, message) {
    super(message)
    this.field = field
  }
}

const refuse = (field, sentence) => {
  throw new Refusal(field, sentence)
}

const settingOf = (name, text, field) => {
  const illegal = () => refuse(name, `${field.label} ${text.slice(0, 40)} is not legal; legal is ${field.legal}.`)
  if (field.types.includes("bool")) return BOOLEANS.get(text) ?? illegal()
  if (field.choices) return field.choices.includes(text) ? text : illegal()
  if (field.rules.includes(text)) return text
  const number = /^[\d.e+-]+$/i.test(text) ? Number(text) : NaN
  const isWhole = field.types.includes("float") || Number.isInteger(number)
  return isWhole && number >= field.low && number <= field.high ? number : illegal()
}

// The exceptions of single blocks, `1-8.norm.none,9.identity.true`, as settings by block.
const overridesOf = (text, depth, { overrides, fields }) => {
  const label = fields.overrides.label
  const byBlock = {}
  for (const part of text.split(",").filter(Boolean)) {
    const [, first, last = first, key, word] = /^(\d{1,4})(?:-(\d{1,4}))?\.(\w+)\.(.*)$/.exec(part) ?? []
    const value = BOOLEANS.get(word) ?? word
    const isLegal = Object.hasOwn(overrides, key ?? "") && overrides[key].includes(value)
    if (!isLegal || +first < 1 || +last > depth || +first > +last)
      refuse("overrides", `${label} ${part.slice(0, 40)} is not legal.`)
    for (let block = +first; block <= +last; block++) (byBlock[block] ??= {})[key] = value
  }
  return byBlock
}

// The settings of a link, complete and legal, with `overrides` by block. Raises Refusal.
/** @param {Record<string, string>} link @param {Schema} schema @returns {Config} */
export const configOf = (link, schema) => {
  const { fields } = schema
  const unknown = Object.keys(link).find((name) => !Object.hasOwn(fields, name))
  if (unknown !== undefined) refuse(unknown, `There is no setting ${unknown.slice(0, 40)}.`)
  const entries = Object.entries(fields).filter(([name]) => name !== "overrides")
  const cfg = Object.fromEntries(
    entries.map(([name, field]) => [name, name in link ? settingOf(name, link[name], field) : field.default]),
  )
  cfg.overrides = overridesOf(link.overrides ?? "", cfg.depth, schema)
  refuseOthers(cfg, schema)
  return cfg
}

// A sample of a task: its tokens, the numbers of each, or how many symbols it may be; the classes and held-out samples.
/** @param {Config} cfg @param {Schema} schema */
export const sampleOf = ({ net, task }, { tasks }) => {
  const { classes, vocabulary, features, row_tokens, answers } = tasks[task]
  const tokens = (net === "transformer" && row_tokens) || tasks[task].tokens
  const heldOut = vocabulary ? HELD_OUT : answers
  return { classes, vocabulary, tokens, features: (features * tasks[task].tokens) / tokens, heldOut }
}

const refuseOthers = (cfg, schema) => {
  const { fields, taken, most } = schema
  for (const [name, choices] of Object.entries(taken)) {
    if (!fields[name].nets.includes(cfg.net)) continue
    for (const own of [cfg, ...Object.values(cfg.overrides)]) {
      const what = typeof own[name] === "string" ? `${fields[name].label} ${own[name]}` : fields[name].label
      if (name in own && !choices.includes(own[name]))
        refuse(name, `${what} is not trained in a browser; the app trains it.`)
    }
  }
  const { tokens, heldOut } = sampleOf(cfg, schema)
  const usesBatch = [cfg, ...Object.values(cfg.overrides)].some(({ norm }) => norm === "batch norm")
  const rows = Math.max(tokens * Math.max(cfg.batch, usesBatch ? heldOut : 0), SUBSET)
  const isTransformer = cfg.net === "transformer"
  const attention = isTransformer ? 8 * cfg.width + tokens * cfg.heads : 0
  if (rows * cfg.depth * (cfg.width * (4 + 2 * cfg.expansion) + attention) > most)
    refuse("width", `Width ${cfg.width} at depth ${cfg.depth} needs more memory than a tab has; the app trains it.`)
  if (usesBatch && cfg.batch * tokens === 1)
    refuse("batch", "Batch 1 has no variance for batch norm; choose a batch of 2 or more.")
  if (isTransformer && cfg.width % cfg.heads)
    refuse("width", `Width ${cfg.width} does not divide into ${cfg.heads} heads.`)
  if (isTransformer && cfg.position === "rotary" && (cfg.width / cfg.heads) % 2)
    refuse("position", `Position rotary turns pairs of features, and a head of ${cfg.width / cfg.heads} has no pairs.`)
  if (!isTransformer && Object.values(cfg.overrides).some(({ identity }) => typeof identity === "string"))
    refuse("overrides", "Overrides take attention or a feed-forward net out, and an MLP's block has neither.")
}

const weightOf = (rule, sublayers) =>
  ({
    deepnorm: sublayers ** 0.25,
    depth: sublayers,
    "1/sqrt(depth)": 1 / Math.sqrt(sublayers),
    "1/sqrt(2)": 1 / Math.sqrt(2),
  })[rule] ?? rule

const initialGate = (rule, depth) => {
  if (rule === "zero gate") return 0
  if (depth <= 18) return 0.1
  return depth <= 24 ? 1e-5 : 1e-6
}

export const blockName = (block) => `b${String(block).padStart(2, "0")}`

// y = N_add( skip x + scale N_out( F( c_in N_in(x) ) ) ) for each block, with all norms and numbers resolved.
/** @param {Config} cfg @param {Schema} schema */
export const planOf = (cfg, { placements }) => {
  const gate = GATES.includes(cfg.branch_scale) ? cfg.branch_scale : ""
  const kinds = KINDS[cfg.net]
  const count = cfg.depth * kinds.length
  const scale = gate ? initialGate(gate, cfg.depth) : weightOf(cfg.branch_scale, count)
  const sublayers = Array.from({ length: count }, (_, index) => {
    const block = Math.floor(index / kinds.length) + 1
    const kind = kinds[index % kinds.length]
    const name = blockName(block)
    const own = { ...cfg, ...cfg.overrides[block] }
    const normIn = (slot) => (placements[own.placement].includes(slot) ? own.norm : "none")
    return {
      block,
      kind,
      site: kind === "mlp" ? name : `${name}.${kind}`,
      normIn: normIn("norm_in"),
      normMid: normIn("norm_mid"),
      normOut: normIn("norm_out"),
      normAdd: normIn("norm_add"),
      skip: own.residual ? weightOf(cfg.skip_scale, count) : 0,
      scale,
      gate,
      inputScale: cfg.input_scale === "one" ? 1 : block ** -0.5,
      repeats: cfg.skip_repeats,
      identity: own.identity === true || own.identity === kind,
      activation: own.activation,
    }
  })
  return { sublayers, finalNorm: placements[cfg.placement].includes("final_norm") ? cfg.norm : "none" }
}

// The learning rate of update k: a linear warm-up, then a constant rate or half a cosine.
/** @param {number} k @param {Config} cfg */
export const learningRate = (k, { lr, warmup, schedule, steps }) => {
  const rise = warmup ? Math.min(1, (k + 1) / warmup) : 1
  if (schedule === "constant" || k < warmup) return lr * rise
  return lr * rise * 0.5 * (1 + Math.cos((Math.PI * (k - warmup)) / Math.max(1, steps - warmup)))
}

// The steps at which a run records a frame: 0, 1, 2, 4, 8, 12, 16, 24, ... and the end.
export const frameSteps = (steps) => {
  const found = new Set([0, steps])
  for (let power = 1; power <= steps; power *= 2) {
    found.add(power)
    if (power >= 8) found.add((power * 3) / 2)
  }
  return new Set([...found].filter((step) => step <= steps))
}
