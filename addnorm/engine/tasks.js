// The tasks of images and of points: batches, held-out samples and pictures of a net's answers, as in models/tasks.

import { sampleOf } from "./config.js"
import { answers, NO_LOSS } from "./loss.js"
import { generator, HELD_OUT_SEED } from "./random.js"
import { Book, Sequences } from "./sequences.js"

const { fround } = Math

// Indices of the first sample of each class, then of the second of each, and so on, at most `limit`.
export const roundRobin = (classes, limit) => {
  const seen = {}
  const ranked = Array.from(classes, (label, index) => ({
    index,
    label,
    rank: (seen[label] = (seen[label] ?? -1) + 1),
  }))
  ranked.sort((a, b) => a.rank - b.rank || a.label - b.label)
  return ranked.slice(0, limit).map(({ index }) => index)
}

const [SIDE, PIXELS, DIGITS, IMAGES_HELD_OUT, MAX_INK, MAX_MISTAKES] = [8, 64, 10, 359, 16, 8]

// Images of 64 pixels from the lines of the file, each of its pixels and its label.
class Digits {
  constructor(cfg, schema, digits) {
    this.tokens = sampleOf(cfg, schema).tokens
    const rows = digits
      .trim()
      .split("\n")
      .map((line) => line.split(",").map(Number))
    this.ink = rows.map((row) => Uint8Array.from(row.slice(0, PIXELS)))
    this.labels = Int32Array.from(rows, (row) => row[PIXELS])
    const trained = (this.trained = rows.length - IMAGES_HELD_OUT)
    const mean = new Float64Array(PIXELS)
    for (let i = 0; i < trained; i++) for (let p = 0; p < PIXELS; p++) mean[p] += this.ink[i][p] / MAX_INK
    for (let p = 0; p < PIXELS; p++) mean[p] /= trained
    let square = 0
    for (let i = 0; i < trained; i++)
      for (let p = 0; p < PIXELS; p++) square += (this.ink[i][p] / MAX_INK - mean[p]) ** 2
    const root = Math.sqrt(square / (trained * PIXELS))
    this.x = Float32Array.from({ length: rows.length * PIXELS }, (_, i) => {
      const pixel = i % PIXELS
      return (this.ink[(i - pixel) / PIXELS][pixel] / MAX_INK - mean[pixel]) / root
    })
    this.heldOut = this.samples(Array.from({ length: IMAGES_HELD_OUT }, (_, i) => trained + i))
    this.ten = roundRobin(this.labels.subarray(trained), DIGITS)
  }

  // Images by their numbers: the last token of each has its label.
  samples(chosen) {
    const { tokens } = this
    const x = new Float32Array(chosen.length * PIXELS)
    const y = new Int32Array(chosen.length * tokens).fill(NO_LOSS)
    for (const [at, i] of chosen.entries()) {
      x.set(this.x.subarray(i * PIXELS, (i + 1) * PIXELS), at * PIXELS)
      y[(at + 1) * tokens - 1] = this.labels[i]
    }
    return { x, y, n: y.length }
  }

  draw(count, source) {
    return this.samples(source.integers(count, this.trained))
  }

  // The most confident mistakes on held-out images, and the first image of every digit with the net's answer.
  picture(logitsOf) {
    const { x, n } = this.heldOut
    const said = answers(logitsOf(x, n), n, DIGITS)
    const isLast = (_, row) => (row + 1) % this.tokens === 0
    const [guess, confidence] = [said.guess.filter(isLast), said.confidence.filter(isLast)]
    const y = this.labels.subarray(this.trained)
    const image = (i) => this.ink[this.trained + i]
    const ink = (i) => Array.from({ length: SIDE }, (_, row) => [...image(i).subarray(SIDE * row, SIDE * (row + 1))])
    const wrong = [...guess.keys()].filter((i) => guess[i] !== y[i]).sort((a, b) => confidence[b] - confidence[a])
    const mistakes = wrong.slice(0, MAX_MISTAKES)
    return {
      kind: "image",
      mistakes: mistakes.map(ink),
      truth: mistakes.map((i) => y[i]),
      guess: mistakes.map((i) => guess[i]),
      confidence: mistakes.map((i) => confidence[i]),
      ten: this.ten.map(ink),
      ten_guess: this.ten.map((i) => guess[i]),
      ten_confidence: this.ten.map((i) => confidence[i]),
    }
  }
}

const [POINTS_HELD_OUT, GRID, EXTENT] = [300, 48, 1.2]
const UNIFORM_SQUARE = 1.11 / 3 // E[r^2] for r from 0.1 to 1
const TURN = fround(2 * Math.PI)
const onCircle = (radius, turn) => {
  const angle = fround(TURN * fround(turn))
  return [radius * Math.cos(angle), radius * Math.sin(angle)]
}

// By task: noise, mean square of a coordinate, and the point of each label, given draws that are made in torch's order.
const CLOUDS = {
  spiral: {
    noise: 0.03,
    square: UNIFORM_SQUARE / 2 + 0.03 ** 2,
    draw: (labels, source) => {
      const t = source.uniform(labels.length)
      return (i) => onCircle(0.1 + 0.9 * t[i], t[i] + fround(labels[i] / 3))
    },
  },
  circles: {
    noise: 0.06,
    square: (0.5 ** 2 + 1) / 4 + 0.06 ** 2,
    draw: (labels, source) => {
      const t = source.uniform(labels.length)
      return (i) => onCircle(0.5 + 0.5 * labels[i], t[i])
    },
  },
  xor: {
    noise: 0.06,
    square: UNIFORM_SQUARE + 0.06 ** 2,
    draw: (labels, source) => {
      const drawn = source.uniform(2 * labels.length)
      const signs = source.integers(labels.length, 2)
      const size = (i) => 0.1 + 0.9 * drawn[i]
      return (i) => {
        const sign = 2 * signs[i] - 1
        return [size(2 * i) * sign, size(2 * i + 1) * sign * (2 * labels[i] - 1)]
      }
    },
  },
  linear: {
    noise: 0.03,
    square: (0.73 + 0.64) / 6 + 0.03 ** 2,
    draw: (labels, source) => {
      const [t, u] = [source.uniform(labels.length), source.uniform(labels.length)]
      return (i) => {
        const along = 1.6 * t[i] - 0.8
        const across = (0.1 + 0.7 * u[i]) * (2 * labels[i] - 1)
        return [Math.SQRT1_2 * (across - along), Math.SQRT1_2 * (across + along)]
      }
    },
  },
}

// Classes of points in the plane, drawn anew for every batch and scaled to unit mean square.
class Points {
  constructor({ task }, schema) {
    this.classes = schema.tasks[task].classes
    this.cloud = CLOUDS[task]
    this.scale = this.cloud.square ** -0.5
    const labels = Int32Array.from({ length: POINTS_HELD_OUT }, (_, i) => i % this.classes)
    this.heldOut = this.samples(labels, generator(HELD_OUT_SEED, "held out", task))
  }

  samples(labels, source) {
    const point = this.cloud.draw(labels, source)
    const noise = source.normal(2 * labels.length)
    const x = new Float32Array(2 * labels.length)
    for (const i of labels.keys()) {
      for (const [axis, clean] of point(i).entries()) {
        x[2 * i + axis] = (clean + this.cloud.noise * noise[2 * i + axis]) * this.scale
      }
    }
    return { x, y: labels, n: labels.length }
  }

  draw(count, source) {
    return this.samples(source.integers(count, this.classes), source)
  }

  // The likeliest class on a grid over the plane and its probability, and the held-out points.
  picture(logitsOf) {
    const axis = Float32Array.from({ length: GRID }, (_, i) => EXTENT * ((2 * i) / (GRID - 1) - 1))
    const plane = new Float32Array(2 * GRID * GRID)
    for (let i = 0; i < GRID * GRID; i++) {
      plane[2 * i] = axis[i % GRID] * this.scale
      plane[2 * i + 1] = axis[Math.floor(i / GRID)] * this.scale
    }
    const { guess, confidence } = answers(logitsOf(plane, GRID * GRID), GRID * GRID, this.classes)
    const rows = (flat) => Array.from({ length: GRID }, (_, i) => [...flat.subarray(i * GRID, (i + 1) * GRID)])
    const { x, y, n } = this.heldOut
    return {
      kind: "points",
      grid: rows(guess),
      confidence: rows(confidence),
      axis: [...axis],
      extent: [-EXTENT, EXTENT],
      points: Array.from({ length: n }, (_, i) => [x[2 * i] / this.scale, x[2 * i + 1] / this.scale]),
      labels: [...y],
    }
  }
}

// The data of a run's task, of which `data` has the texts by name.
export const openTask = (cfg, schema, data) => {
  if (cfg.task === "book") return new Book(data.book)
  if (schema.tasks[cfg.task].vocabulary) return new Sequences(cfg.task)
  return cfg.task === "digits" ? new Digits(cfg, schema, data.digits) : new Points(cfg, schema)
}

// The logits of n rows of inputs as a function that answers in passes of at most `size` rows.
export const inPasses = (net, size) => (x, n) => {
  const logits = new Float32Array(n * net.classes)
  for (let at = 0; at < n; at += size) {
    const count = Math.min(size, n - at)
    const some = net.forward(x.subarray(at * net.features, (at + count) * net.features), count, { running: true })
    logits.set(some.subarray(0, count * net.classes), at * net.classes)
  }
  return logits
}
