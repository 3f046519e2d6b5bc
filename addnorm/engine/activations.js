// The activations with their slopes, and the error function that two of them and a norm need.

const SELU = 1.0507009873554805
const SELU_ALPHA = 1.6732632423543774

// By its power series, which is 0 at 0 and keeps all digits near it; beyond 4 it is 1 to the precision of float32.
export const erf = (x) => {
  if (!(Math.abs(x) < 4)) return Math.sign(x)
  let [sum, power] = [0, x]
  for (let n = 0; Math.abs(power) > 1e-17 * Math.abs(sum); power *= -(x * x) / ++n) sum += power / (2 * n + 1)
  return (2 / Math.sqrt(Math.PI)) * sum
}

// The slope of erf.
export const erfSlope = (x) => (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x)

const normalCdf = (z) => 0.5 * (1 + erf(z * Math.SQRT1_2))
const sigmoid = (z) => 1 / (1 + Math.exp(-z))

// By name: the value at z, and the slope from z and that value. NaN stays NaN.
export const ACTIVATIONS = {
  relu: { of: (z) => Math.max(z, 0) }, // its slope is in layers.js
  gelu: {
    of: (z) => z * normalCdf(z),
    slope: (z) => normalCdf(z) + (z * Math.SQRT1_2 * erfSlope(z * Math.SQRT1_2)) / 2,
  },
  silu: { of: (z) => z * sigmoid(z), slope: (z) => sigmoid(z) * (1 + z * sigmoid(-z)) },
  selu: {
    of: (z) => SELU * (z > 0 ? z : SELU_ALPHA * Math.expm1(z)),
    slope: (z) => SELU * (z > 0 ? 1 : SELU_ALPHA * Math.exp(z)),
  },
  tanh: { of: Math.tanh, slope: (_, y) => 1 - y * y },
  sigmoid: { of: sigmoid, slope: (_, y) => y * (1 - y) },
  identity: { of: (z) => z, slope: () => 1 },
}
