// The net of a plan: logits = head(final_norm(stream(embed(x)))), forwards and backwards.

import { Attention } from "./attention.js"
import { blockName, planOf, sampleOf } from "./config.js"
import { Embedding, Positions } from "./embedding.js"
import { initialise } from "./initialise.js"
import { Activation, Gate, Linear, scaleOf } from "./layers.js"
import { normOf } from "./norms.js"
import { Parameters, room } from "./parameters.js"
import { addScaled, sumOfSquares } from "./products.js"

/**
 * What differs between passes: `running` statistics instead of the batch's, and whether batch norm `learns` from it.
 * @typedef {{ running?: boolean, learns?: boolean }} Mode
 */

const forwardAll = (layers, x, n, mode) => layers.reduce((h, layer) => layer.forward(h, n, mode), x)
const backwardAll = (layers, g, n) => layers.reduceRight((h, layer) => layer.backward(h, n), g)

export const rms = (x, size) => Math.sqrt(sumOfSquares(x, size) / size)

// y = N_add( skip x + scale N_out( F( c_in N_in(x) ) ) )
class Sublayer {
  constructor(plan, cfg, tokens, parameters) {
    const { width } = cfg
    const name = `stream.blocks.${blockName(plan.block)}.${plan.kind}`
    const norm = (kind, slot, features = width) => normOf(kind, `${name}.${slot}`, features, cfg, parameters)
    const linear = (matrix, ins, outs) => new Linear(`${name}.function.${matrix}`, ins, outs, parameters)
    const isAttention = plan.kind === "attn"
    const isOneLayer = plan.kind === "mlp" && cfg.layers_per_branch === 1
    const hidden = isAttention || isOneLayer ? width : cfg.expansion * width
    const channels = plan.gate === "layer scale" ? width : 1
    this.width = width
    this.skip = plan.skip
    this.branchLayers = [
      norm(plan.normIn, "norm_in"),
      scaleOf(plan.inputScale, width),
      isAttention
        ? new Attention(`${name}.function`, cfg, tokens, parameters)
        : linear(isOneLayer ? "w" : "w1", width, hidden),
      norm(plan.normMid, "function.norm_mid", hidden),
      isAttention ? null : new Activation(plan.activation, hidden),
      isOneLayer ? null : linear(isAttention ? "w_o" : "w2", hidden, width),
      norm(plan.normOut, "norm_out"),
      plan.gate
        ? new Gate(parameters.add(`${name}.scale.gate`, channels, 1, { start: plan.scale }), width)
        : scaleOf(plan.scale, width),
    ].filter(Boolean)
    // One add, or two where the skip repeats: each adds the skip, then its norm follows.
    this.adds = ["norm_add", "norm_again"]
      .slice(0, plan.repeats)
      .map((slot) => ({ sum: null, norm: norm(plan.normAdd, slot) }))
  }

  get activation() {
    return this.branchLayers.find((layer) => layer instanceof Activation)
  }

  forward(x, n, mode) {
    const size = n * this.width
    this.branch = forwardAll(this.branchLayers, x, n, mode)
    let y = this.branch
    for (const add of this.adds) {
      add.sum = room(add.sum, size)
      addScaled(add.sum, this.skip, x, y, size)
      y = add.norm?.forward(add.sum, n, mode) ?? add.sum
    }
    return (this.y = y)
  }

  // The gradient `g` of the output, which becomes that of the input.
  backward(g, n) {
    const size = n * this.width
    this.inner = room(this.inner, size)
    this.skipped = room(this.skipped, size).fill(0, 0, size)
    let { inner } = this
    inner.set(g.subarray(0, size))
    for (const { norm } of this.adds.toReversed()) {
      inner = norm?.backward(inner, n) ?? inner
      addScaled(this.skipped, this.skip, inner, this.skipped, size)
    }
    inner = backwardAll(this.branchLayers, inner, n)
    addScaled(g, 1, this.skipped, inner, size)
  }
}

// A sublayer that was taken out: y = x, and a branch of 0.
class Identity {
  forward(x) {
    this.branch = null
    return (this.y = x)
  }

  backward() {}
}

export class Net {
  constructor(cfg, schema) {
    const { classes, vocabulary, tokens, features } = sampleOf(cfg, schema)
    const { width, position } = cfg
    this.width = width
    this.classes = classes
    this.tokens = tokens
    this.features = vocabulary ? 1 : features
    this.parameters = new Parameters()
    this.plan = planOf(cfg, schema)
    this.embed = vocabulary
      ? new Embedding("embed", vocabulary, width, this.parameters)
      : new Linear("embed", features, width, this.parameters)
    const isAdded = cfg.net === "transformer" && ["sinusoidal", "learned"].includes(position)
    this.positions = isAdded ? new Positions(position === "learned", tokens, width, this.parameters) : null
    this.sublayers = this.plan.sublayers.map((plan) =>
      plan.identity ? new Identity() : new Sublayer(plan, cfg, tokens, this.parameters),
    )
    this.finalNorm = normOf(this.plan.finalNorm, "final_norm", width, cfg, this.parameters)
    this.head = new Linear("head", width, classes, this.parameters)
    initialise(this.parameters, cfg, this.sublayers.length, vocabulary > 0)
  }

  get usesBatch() {
    const slots = this.plan.sublayers.filter(({ identity }) => !identity)
    const norms = slots.flatMap(({ normIn, normMid, normOut, normAdd }) => [normIn, normMid, normOut, normAdd])
    return [this.plan.finalNorm, ...norms].includes("batch norm")
  }

  // The stream of the last pass by site, each n rows of `width` numbers.
  get stream() {
    return [(this.positions ?? this.embed).y, ...this.sublayers.map(({ y }) => y)]
  }

  // Logits of n rows of inputs. The buffers are those of the next pass.
  /** @param {Mode} mode */
  forward(x, n, mode = {}) {
    this.x = room(this.x, n * this.features)
    this.x.set(x.subarray(0, n * this.features))
    let h = this.embed.forward(this.x, n)
    h = this.positions?.forward(h, n) ?? h
    for (const sublayer of this.sublayers) h = sublayer.forward(h, n, mode)
    this.headInput = this.finalNorm?.forward(h, n, mode) ?? h
    return this.head.forward(this.headInput, n)
  }

  // From the gradient of the logits, those of all parameters; returns the RMS of the stream's gradient by site.
  backward(logitGrad, n) {
    const size = n * this.width
    let last = this.head.backward(logitGrad, n)
    last = this.finalNorm?.backward(last, n) ?? last
    const g = (this.streamGrad = room(this.streamGrad, size))
    g.set(last.subarray(0, size))
    const found = []
    for (const sublayer of this.sublayers.toReversed()) {
      found.push(rms(g, size))
      sublayer.backward(g, n)
    }
    found.push(rms(g, size))
    this.positions?.backward(g, n)
    this.embed.weightGradient(g, n)
    return found.reverse()
  }
}
