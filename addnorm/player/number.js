// Formats numbers in the same notation as the sentences made in Python. Pure.

const MAX_PLAIN_EXPONENT = 6 // from here on, and below its negative, a number gets a power of ten
const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 12 })
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
export const power = (exponent) => `10${String(exponent).replace(/./g, (sign) => SUPERSCRIPTS[sign] ?? "⁻")}`

// The number rounded to `digits` significant digits, in the format of toExponential. Ties go to the even digit as in Python;
// toExponential itself rounds them up.
const roundHalfEven = (value, digits) => {
  const nearest = value.toExponential(digits - 1)
  const [mantissa, exponent] = value.toExponential(digits).split("e") // one more digit
  if (!mantissa.endsWith("5") || Number(value.toExponential(40).split("e")[0].slice(mantissa.length))) return nearest
  const lower = mantissa.slice(0, -1)
  return "02468".includes(lower.at(-1)) ? `${lower}e${exponent}` : nearest
}

// A share beside its bar, never wider than six letters: 12%, 0.75%, <0.01%.
export const percentage = (share) => {
  const percent = 100 * share
  if (percent > 0 && percent < 0.01) return "<0.01%"
  return `${Number(Math.max(Number(percent.toPrecision(2)), 0).toFixed(2))}%`
}

// A number with at most `digits` significant digits: 0.186, 63,000, 1.6·10¹⁶, nan, -inf.
export const brief = (value, digits = 3) => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"
  const size = Math.abs(value)
  if (size >= 0.001 && size < 100) return String(Number(roundHalfEven(value, digits))) // fast path
  const [mantissa, exponent] = roundHalfEven(value, digits).split("e").map(Number)
  if (exponent >= -MAX_PLAIN_EXPONENT && exponent < MAX_PLAIN_EXPONENT)
    return PLAIN.format(Number(roundHalfEven(value, digits)) + 0)
  if (Math.abs(mantissa) === 1) return `${mantissa < 0 ? "-" : ""}${power(exponent)}`
  return `${mantissa}·${power(exponent)}`
}
