// Attention up to its output matrix, forwards and backwards: the heads softmax(scale q k^T + bias) v of every sample.

import { angleOf } from "./embedding.js"
import { Linear } from "./layers.js"
import { normOf } from "./norms.js"
import { room } from "./parameters.js"
import { addScaled, products } from "./products.js"

// Cosines and sines by which a token's pairs of features (i, i + size / 2) are turned (Su 2021, 2104.09864).
const turnsOf = (tokens, size) => {
  const half = size / 2
  const angle = (_, i) => angleOf(Math.floor(i / half), 2 * (i % half), size)
  const angles = Float32Array.from({ length: tokens * half }, angle)
  return { cos: angles.map(Math.cos), sin: angles.map(Math.sin) }
}

// One of q, k and v: for every sample and head a matrix (tokens, size).
class Heads {
  constructor(name, letter, { width, heads, eps, affine }, parameters, norm = "none", turns = null) {
    this.linear = new Linear(`${name}.w_${letter}`, width, width, parameters)
    this.norm = normOf(norm, `${name}.norm_${letter}`, width / heads, { eps, affine }, parameters)
    this.turns = turns
    this.count = heads
    this.size = width / heads
  }

  // Copies n rows to matrices, or back.
  move(from, to, n, tokens, isBack) {
    const { count, size } = this
    let i = 0
    for (let row = 0; row < n; row++) {
      const token = row % tokens
      for (let head = 0; head < count; head++) {
        let at = ((((row - token) / tokens) * count + head) * tokens + token) * size
        for (let feature = 0; feature < size; feature++, i++, at++) {
          if (isBack) to[i] = from[at]
          else to[at] = from[i]
        }
      }
    }
  }

  // Turns rows by their positions in place, or with `sign` -1 back.
  turn(x, n, tokens, sign) {
    const half = this.size / 2
    for (let pair = 0; pair < n * this.count; pair++) {
      const token = Math.floor(pair / this.count) % tokens
      for (let k = 0; k < half; k++) {
        const first = pair * this.size + k
        const [cos, sin] = [this.turns.cos[token * half + k], sign * this.turns.sin[token * half + k]]
        const [a, b] = [x[first], x[first + half]]
        x[first] = a * cos - b * sin
        x[first + half] = b * cos + a * sin
      }
    }
  }

  forward(x, n, tokens) {
    const linear = this.linear.forward(x, n)
    const rows = this.norm?.forward(linear, n * this.count, {}) ?? linear
    if (this.turns) this.turn(rows, n, tokens, 1)
    this.y = room(this.y, n * this.count * this.size)
    this.move(rows, this.y, n, tokens, false)
    return this.y
  }

  backward(g, n, tokens) {
    this.rowGrad = room(this.rowGrad, n * this.count * this.size)
    this.move(g, this.rowGrad, n, tokens, true)
    if (this.turns) this.turn(this.rowGrad, n, tokens, -1)
    return this.linear.backward(this.norm?.backward(this.rowGrad, n * this.count) ?? this.rowGrad, n)
  }
}

export class Attention {
  constructor(name, cfg, tokens, parameters) {
    const size = (this.size = cfg.width / cfg.heads)
    const turns = cfg.position === "rotary" ? turnsOf(tokens, size) : null
    const part = (letter, ...more) => new Heads(name, letter, cfg, parameters, ...more)
    const norm = cfg.qk_norm ? "rms norm" : "none"
    this.parts = [part("q", norm, turns), part("k", norm, turns), part("v")]
    this.scratch = parameters.scratch
    this.tokens = tokens
    this.scale = size ** -0.5
    this.isCausal = cfg.mask === "causal"
    // ALiBi's bias for each token of distance, by head (Press 2021, 2108.12409).
    const slope = (_, head) => (cfg.position === "alibi" ? -(2 ** Math.fround((-8 * (head + 1)) / cfg.heads)) : 0)
    this.slopes = Float32Array.from({ length: cfg.heads }, slope)
  }

  // Calls `each` for every sample and head, with its shares, its matrices of `arrays` and its slope.
  /** @param {Function} each */
  eachHead(n, tokens, arrays, each) {
    const { shares, slopes } = this
    const [square, area] = [tokens * tokens, tokens * this.size]
    for (let at = 0; at < (n / tokens) * slopes.length; at++) {
      const matrices = arrays.map((array) => array.subarray(at * area, (at + 1) * area))
      each(shares.subarray(at * square, (at + 1) * square), matrices, slopes[at % slopes.length])
    }
  }

  // A pass of fewer rows than a sample has tokens is of one shorter sample.
  forward(x, n) {
    const { size, parts, scratch } = this
    const tokens = Math.min(this.tokens, n)
    const arrays = parts.map((part) => part.forward(x, n, tokens))
    const mixed = (scratch[0] = room(scratch[0], arrays[0].length))
    this.shares = room(this.shares, n * this.slopes.length * tokens)
    this.eachHead(n, tokens, [...arrays, mixed], (p, [q, k, v, out], slope) => {
      products.linear(q, k, null, p, tokens, size, tokens)
      this.softmax(p, tokens, slope)
      products.inputGradient(p, v, out, tokens, size, tokens) // p v: a share of 0 times infinity is NaN, as torch's is
    })
    this.y = room(this.y, arrays[0].length)
    parts[0].move(mixed, this.y, n, tokens, true)
    return this.y
  }

  // Turns scores into shares, in place. A token whose scores are all -Infinity reads nothing, as in torch.
  softmax(p, tokens, slope) {
    for (let i = 0; i < tokens; i++) {
      const seen = this.isCausal ? i + 1 : tokens
      const row = p.subarray(i * tokens, (i + 1) * tokens).fill(0, seen)
      let [largest, sum] = [-Number.MAX_VALUE, 0]
      for (let j = 0; j < seen; j++) {
        row[j] = row[j] * this.scale + slope * Math.abs(i - j)
        largest = Math.max(largest, row[j])
      }
      for (let j = 0; j < seen; j++) sum += row[j] = Math.exp(row[j] - largest)
      if (sum !== 0) for (let j = 0; j < seen; j++) row[j] /= sum
    }
  }

  backward(g, n) {
    const { size, scale, parts, scratch } = this
    const tokens = Math.min(this.tokens, n)
    const arrays = parts.map(({ y }) => y)
    const grads = [parts[0].y, ...arrays].map(({ length }, i) => (scratch[i] = room(scratch[i], length)))
    const gp = (scratch[4] = room(scratch[4], tokens * tokens))
    parts[0].move(g, grads[0], n, tokens, false)
    this.eachHead(n, tokens, [...arrays, ...grads], (p, [q, k, v, gOut, gq, gk, gv]) => {
      products.linear(gOut, v, null, gp, tokens, size, tokens)
      products.weightGradient(gOut, p, gv, tokens, size, tokens)
      for (let start = 0; start < tokens * tokens; start += tokens) {
        let along = 0
        for (let i = start; i < start + tokens; i++) along += p[i] * gp[i]
        for (let i = start; i < start + tokens; i++) gp[i] = scale * p[i] * (gp[i] - along)
      }
      products.inputGradient(gp, k, gq, tokens, size, tokens)
      products.weightGradient(q, gp, gk, tokens, size, tokens)
    })
    const [inputGrad, ...others] = parts.map((part, i) => part.backward(grads[i + 1], n, tokens))
    for (const other of others) addScaled(inputGrad, 1, other, inputGrad, n * this.slopes.length * size)
    return inputGrad
  }
}
