// The activations with their slopes, and the error function that two of them and a norm need.

// Chebyshev coefficients of erfc to the precision of a double (Press 2007, Numerical Recipes, section 6.2).
const ERFC = [
  -1.3026537197817094, 0.6419697923564902, 1.9476473204185836e-2, -9.561514786808631e-3, -9.46595344482036e-4,
  3.66839497852761e-4, 4.2523324806907e-5, -2.0278578112534e-5, -1.624290004647e-6, 1.30365583558e-6, 1.5626441722e-8,
  -8.5238095915e-8, 6.529054439e-9, 5.059343495e-9, -9.91364156e-10, -2.27365122e-10, 9.6467911e-11, 2.394038e-12,
  -6.886027e-12, 8.94487e-13, 3.13092e-13, -1.12708e-13, 3.81e-16, 7.106e-15, -1.523e-15, -9.4e-17, 1.21e-16, -2.8e-17,
]
const SELU = 1.0507009873554805
const SELU_ALPHA = 1.6732632423543774

// By its power series, which is exactly 0 at 0 and keeps all digits near it.
const nearZero = (x) => {
  let [sum, power] = [0, x]
  for (let n = 0; n < 12; power *= -(x * x) / ++n) sum += power / (2 * n + 1)
  return (2 / Math.sqrt(Math.PI)) * sum
}

export const erf = (x) => {
  const z = Math.abs(x)
  if (z < 0.5) return nearZero(x)
  const t = 2 / (2 + z)
  const y = 4 * t - 2
  let [d, before] = [0, 0]
  for (let j = ERFC.length - 1; j > 0; j--) [d, before] = [y * d - before + ERFC[j], d]
  const tail = t * Math.exp(-z * z + 0.5 * (ERFC[0] + y * d) - before)
  return x < 0 ? tail - 1 : 1 - tail
}

// The slope of erf.
export const erfSlope = (x) => (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x)

const normalCdf = (z) => 0.5 * (1 + erf(z * Math.SQRT1_2))
const sigmoid = (z) => 1 / (1 + Math.exp(-z))

// By name: the value at z, and the slope from z and that value. NaN stays NaN.
export const ACTIVATIONS = {
  relu: { of: (z) => Math.max(z, 0), slope: (_, y) => (y <= 0 ? 0 : 1) },
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
