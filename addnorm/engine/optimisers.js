// The optimisers, with clipping, weight decay and the factors of muP. Storage is float32, as in torch.

import { ratios } from "./config.js"

const MOMENTUM = 0.9
const [BETA_1, BETA_2, EPS] = [0.9, 0.999, 1e-8]

// muP's factors on learning rate, weight decay and Adam's epsilon of a parameter.
const factorsOf = ({ name, value }, isAdam, { width, depth }) => {
  const inBlock = name.startsWith("stream.blocks.")
  const isHidden = inBlock && name.includes(".function.w") && name.endsWith(".weight")
  const blocks = inBlock ? depth : 1
  const sgdRate = isHidden || value.length === 1 || name === "head.bias" ? blocks : blocks * width
  const rate = isAdam ? (isHidden ? 1 / width : 1) : sgdRate
  return { rate, decay: 1 / rate, eps: 1 / width / blocks }
}

// (value, gradient, memory, settings) -> one update in place; `k` counts from 0.
const sgd = ({ value, grad }, { rate, decay }) => {
  for (let i = 0; i < value.length; i++) value[i] -= rate * (grad[i] + decay * value[i])
}

const momentum = (parameter, { rate, decay, k }) => {
  const { value, grad } = parameter
  parameter.memory[0] ??= new Float32Array(value.length)
  const [m] = parameter.memory
  const kept = k ? MOMENTUM : 0
  for (let i = 0; i < value.length; i++) {
    m[i] = kept * m[i] + grad[i] + decay * value[i]
    value[i] -= rate * m[i]
  }
}

const adam = (parameter, { rate, decay, eps, k, decoupled }) => {
  const { value, grad } = parameter
  if (!k) parameter.memory = [new Float32Array(value.length), new Float32Array(value.length)]
  const [m, v] = parameter.memory
  const step = rate / (1 - BETA_1 ** (k + 1))
  const root = Math.sqrt(1 - BETA_2 ** (k + 1))
  for (let i = 0; i < value.length; i++) {
    const g = decoupled ? grad[i] : grad[i] + decay * value[i]
    const kept = decoupled ? value[i] * (1 - rate * decay) : value[i]
    m[i] = BETA_1 * m[i] + (1 - BETA_1) * g
    v[i] = BETA_2 * v[i] + (1 - BETA_2) * g * g
    value[i] = kept - (step * m[i]) / (Math.sqrt(v[i]) / root + EPS * eps)
  }
}

const UPDATES = { sgd, momentum, adam, adamw: adam }

export class Optimiser {
  constructor(cfg, parameters, schema) {
    this.update = UPDATES[cfg.optimizer]
    this.decoupled = cfg.optimizer === "adamw"
    const isAdam = this.decoupled || cfg.optimizer === "adam"
    this.parts = parameters.trained.map((parameter) => {
      const factors = factorsOf(parameter, isAdam, ratios(cfg, schema))
      const isDecayed = cfg.decayed === "all" || parameter.isMatrix
      return { parameter, ...factors, decay: isDecayed ? cfg.weight_decay * factors.decay : 0 }
    })
  }

  step(k, learningRate) {
    for (const { parameter, rate, decay, eps } of this.parts)
      this.update(parameter, { rate: learningRate * rate, decay, eps, k, decoupled: this.decoupled })
  }
}
