// The optimisers, with weight decay. Storage is float32, as in torch.

import { addScaled, numbers } from "./products.js"

const MOMENTUM = 0.9
const [BETA_1, BETA_2, EPS] = [0.9, 0.999, 1e-8]

// One update in place; `k` counts from 0. SGD keeps nothing of earlier gradients.
const descend = ({ value, grad, m }, { rate, decay, k, optimizer }) => {
  const kept = k && optimizer === "momentum" ? MOMENTUM : 0
  addScaled(grad, decay, value, grad, value.length)
  addScaled(m, kept, m, grad, value.length)
  addScaled(value, -rate, m, value, value.length)
}

const adam = ({ value, grad, m, v }, { rate, decay, k, optimizer }) => {
  const [coupled, decoupled] = optimizer === "adam" ? [decay, 0] : [0, decay]
  const step = rate / (1 - BETA_1 ** (k + 1))
  const root = Math.sqrt(1 - BETA_2 ** (k + 1))
  for (let i = 0; i < value.length; i++) {
    const g = grad[i] + coupled * value[i]
    m[i] = BETA_1 * m[i] + (1 - BETA_1) * g
    v[i] = BETA_2 * v[i] + (1 - BETA_2) * g * g
    value[i] = value[i] * (1 - rate * decoupled) - (step * m[i]) / (Math.sqrt(v[i]) / root + EPS)
  }
}

export class Optimiser {
  constructor(cfg, parameters) {
    this.cfg = cfg
    const zeros = ({ value }) => numbers(value.length)
    this.parameters = parameters.trained.map((one) => ({ ...one, m: zeros(one), v: zeros(one) }))
  }

  step(k, rate) {
    const { optimizer, decayed, weight_decay } = this.cfg
    const update = optimizer.startsWith("adam") ? adam : descend
    for (const parameter of this.parameters) {
      const decay = decayed === "all" || parameter.isMatrix ? weight_decay : 0
      update(parameter, { rate, decay, k, optimizer })
    }
  }
}
