// The optimisers, with weight decay. Storage is float32, as in torch.

const MOMENTUM = 0.9
const [BETA_1, BETA_2, EPS] = [0.9, 0.999, 1e-8]

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

const adam = (parameter, { rate, decay, k, decoupled }) => {
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
    value[i] = kept - (step * m[i]) / (Math.sqrt(v[i]) / root + EPS)
  }
}

const UPDATES = { sgd, momentum, adam, adamw: adam }

export class Optimiser {
  constructor(cfg, parameters) {
    this.cfg = cfg
    this.parameters = parameters.trained
  }

  step(k, rate) {
    const { optimizer, decayed, weight_decay } = this.cfg
    for (const parameter of this.parameters) {
      const decay = decayed === "all" || parameter.isMatrix ? weight_decay : 0
      UPDATES[optimizer](parameter, { rate, decay, k, decoupled: optimizer === "adamw" })
    }
  }
}
