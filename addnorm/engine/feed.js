// A run of the engine as the messages that a server would send to the player, as in components/player/feed.py.

const INKS = "0123456789abcdefg" // characters for the darkness of a pixel
const SPREAD_STEPS = 46 // between no angle and a full circle, and again about the first that spreads enough

/**
 * What Python declares of the pictures: figures by how many mistakes they show, or of the plane; words and thresholds.
 * @typedef {{ figures: any[], paths: Record<string, any> }} Pictures
 */

const rounded = (value) => (Number.isFinite(value) ? Number(value.toPrecision(4)) : null)
const allRounded = (values) => Array.from(values, rounded)
const twoPlaces = (value) => Math.round(value * 100) / 100

// Angles scaled about their middle so that their mean cosine is `cosine`, or nearest to it.
const spread = (angles, cosine) => {
  const angleOf = (list) =>
    Math.atan2(
      list.reduce((sum, angle) => sum + Math.sin(angle), 0),
      list.reduce((sum, angle) => sum + Math.cos(angle), 0),
    )
  const middle = angleOf(angles)
  const offsets = angles.map((angle) => angleOf([angle - middle]))
  const count = angles.length
  const meanCosine = (scale) => {
    const across = offsets.reduce((sum, offset) => sum + Math.cos(scale * offset), 0)
    const up = offsets.reduce((sum, offset) => sum + Math.sin(scale * offset), 0)
    return (across ** 2 + up ** 2 - count) / (count * (count - 1))
  }
  let [low, high, scale] = [0, Math.PI / Math.max(...offsets.map(Math.abs), 1e-9), 0]
  for (let pass = 0; pass < 2; pass++) {
    const scales = Array.from({ length: SPREAD_STEPS }, (_, i) => low + ((high - low) * i) / (SPREAD_STEPS - 1))
    const means = scales.map(meanCosine)
    const reached = means.findIndex((mean) => mean <= cosine)
    const first = reached < 0 ? means.indexOf(Math.min(...means)) : reached
    scale = scales[first]
    low = scales[Math.max(first - 1, 0)]
    high = scales[Math.min(first + 1, SPREAD_STEPS - 1)]
  }
  return offsets.map((offset) => middle + scale * offset)
}

// What becomes of ten samples on their way, with the thresholds and words of models/insight/path_outcome.py.
const journeyOf = ({ ten_size, ten_at, ten_plane, ten_cosine, ten_names, ten_blocks }, words) => {
  const rootMeanSquare = (sizes) => Math.sqrt(sizes.reduce((sum, size) => sum + size * size, 0) / sizes.length)
  const areFinite = ten_size.flat().every(Number.isFinite)
  const sizeOutcome = (stop) => {
    const growth = areFinite ? rootMeanSquare(ten_size[stop]) / rootMeanSquare(ten_size[0]) : NaN
    if (growth < words.least) return words.vanish
    return growth <= words.most ? "" : words.fly
  }
  const directionOutcome = (stop) => {
    const cosine = twoPlaces(ten_cosine[stop])
    if (cosine < words.distinct) return words.apart
    return cosine > words.alike ? words.merge : words.similar
  }
  const last = ten_cosine.length - 1
  const outcome = sizeOutcome(last) || directionOutcome(last)
  const isTold = outcome !== words.vanish && Number.isFinite(ten_cosine[last])
  const turn = ten_at.map((points, stop) => {
    const angles = points.map(([across, up]) => Math.atan2(up, across))
    const shown = [...points.keys()].filter((i) => Math.hypot(...points[i]) > 0)
    if (Number.isFinite(ten_cosine[stop]) && shown.length > 1) {
      const turned = spread(
        shown.map((i) => angles[i]),
        ten_cosine[stop],
      )
      for (const [at, i] of shown.entries()) angles[i] = turned[at]
    }
    return angles.map(twoPlaces)
  })
  return {
    names: ten_names,
    blocks: ten_blocks,
    size: ten_size.map(allRounded),
    turn,
    in_plane: ten_at.map((points) => points.map((point) => twoPlaces(Math.hypot(...point)))),
    plane: allRounded(ten_plane),
    cosine: allRounded(ten_cosine),
    outcome,
    directions: isTold && outcome === words.fly ? words.directions[directionOutcome(last)] : "",
    alike: isTold ? `mean\u00a0cosine\u00a0${twoPlaces(ten_cosine[last]).toFixed(2)}` : "",
    unseparated: ten_cosine.map(
      (_, stop) => sizeOutcome(stop) === words.vanish || directionOutcome(stop) === words.merge,
    ),
    edge: words.most,
  }
}

// Fills the cells of a table of sequences: of each the input, and from the first target on the targets and the answers.
const fillTable = ({ z, text, zmax: wrong }, { input, target, guess }) => {
  for (const [row, { length }] of text.entries()) {
    const sequence = Math.floor(row / 3)
    const first = target[sequence].findIndex((symbol) => symbol >= 0)
    const part = (symbols, start) => symbols[sequence].slice(start, start + length)
    const targets = part(target, first)
    text[row] = [part(input, 0), targets, part(guess, first)][row % 3].map(String)
    for (const [i, symbol] of text[row].entries()) {
      if (row % 3 < 2 || symbol === String(targets[i])) continue
      z[row][i] = wrong
      text[row][i] += "<br>✗"
    }
  }
}

// The text, or the figure of mistaken digits, of sequences or of the plane, from what Python declares for as many.
const pictureOf = (picture, figures) => {
  if (picture.kind === "text") {
    const next = [...picture.candidates].map((character, i) => [character, rounded(picture.candidate_p[i])])
    return { prompt: picture.prompt, sample: picture.sample, p: allRounded(picture.p), next }
  }
  const isPlane = picture.kind === "points"
  const { data, layout } = structuredClone(figures[picture.mistakes?.length ?? 0])
  if (picture.kind === "sequence") fillTable(data[0], picture)
  if (picture.kind === "image") {
    for (const [i, trace] of data.entries()) trace.z = picture.mistakes[i]
    for (const [i, note] of picture.mistakes.length ? layout.annotations.entries() : [])
      note.text = `Said ${picture.guess[i]}, is ${picture.truth[i]}`
  }
  if (!isPlane) return { data, layout }
  const classes = data.length / 2
  for (const axis of [layout.xaxis, layout.yaxis]) axis.range = picture.extent
  const axis = allRounded(picture.axis)
  for (let label = 0; label < classes; label++) {
    const points = picture.points.filter((_, i) => picture.labels[i] === label)
    const strength = (row) => (guess, column) =>
      guess === label ? rounded(Math.min(Math.max(picture.confidence[row][column], 0), 1)) : null
    const z = picture.grid.map((guesses, row) => guesses.map(strength(row)))
    Object.assign(data[label], { x: axis, y: axis, z })
    Object.assign(data[classes + label], { x: points.map(([x]) => rounded(x)), y: points.map(([, y]) => rounded(y)) })
  }
  return { data, layout }
}

// A frame for the player, from a frame of the log.
/** @param {any} logged @param {Pictures} pictures */
export const frameMessage = ({ picture, ...frame }, { figures, paths }) => ({
  ...("ten" in picture && {
    ten: {
      images: picture.ten.map((image) => image.flatMap((row) => row.map((ink) => INKS[ink])).join("")),
      answers: picture.ten_guess.map((guess, i) => (Number.isFinite(picture.ten_confidence[i]) ? guess : null)),
    },
  }),
  journey: journeyOf(picture, paths),
  step: frame.step,
  sample_cosine: allRounded(frame.sample_cosine),
  update_to_weight: allRounded(frame.update_to_weight),
  dead_units: allRounded(frame.dead_units),
  held_out_loss: rounded(frame.held_out_loss),
  held_out_accuracy: rounded(frame.held_out_accuracy),
  train_mode_loss: rounded(frame.train_mode_loss),
  picture: pictureOf(picture, figures),
})

// The tracks of a row.
export const headerOf = (run) => {
  const { sites, branches, depth } = run.columns
  const sizes = { loss: 1, lr: 1, grad_norm: 1, clip_factor: 1, act_rms: sites.length, grad_rms: sites.length }
  const tracks = []
  let width = 0
  for (const [name, size] of Object.entries({ ...sizes, branch_rms: branches.length, weight_grad_rms: depth })) {
    tracks.push({ name, start: width, width: size })
    width += size
  }
  return { kind: "header", seeds: 1, width, tracks, sites, depth, last: run.cfg.steps }
}

const PARTS = { attn: "the attention of ", ffn: "the feed-forward net of " }

// As models/trace.py says it.
const sentenceOf = ({ step, quantity, site, block }) => {
  const part = PARTS[site.split(".")[1]] ?? ""
  const place = site && quantity !== "loss" ? ` of ${block ? `${part}block ${block}` : "the input"}` : ""
  return `Diverged at step ${step}: the numbers overflow first in the ${quantity}${place}.`
}

// Whether and how the run ended. `device` is where it trains, in words.
export const stateOf = (run, device, rate) => ({
  kind: "state",
  done: run.done,
  outcomes: [run.divergence && { step: run.divergence.step, sentence: sentenceOf(run.divergence) }],
  parameters: run.parameters,
  device,
  unsaved: false,
  error: "",
  place: 0,
  rate: run.done ? 0 : rate,
  recomputing: false,
  recorded: false,
})
