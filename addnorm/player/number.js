// Numbers in words: the same notation as in Python's sentences. Pure.

const WRITTEN_OUT = 6 // decades, up and down, from which a number is written with a power of ten
const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 12 })
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
export const power = (exponent) => `10${String(exponent).replace(/./g, (sign) => RAISED[sign] ?? "⁻")}`

// A number with at most so many significant digits: 0.186, 63,000, 1.6·10¹⁶.
export const brief = (value, digits = 3) => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"
  const size = Math.abs(value)
  if (size >= 0.001 && size < 100) return String(Number(value.toPrecision(digits))) // the usual case, ten times faster than below
  const [mantissa, exponent] = value
    .toExponential(digits - 1)
    .split("e")
    .map(Number)
  if (exponent >= -WRITTEN_OUT && exponent < WRITTEN_OUT) return PLAIN.format(Number(value.toPrecision(digits)) + 0)
  if (Math.abs(mantissa) === 1) return `${mantissa < 0 ? "-" : ""}${power(exponent)}`
  return `${mantissa}·${power(exponent)}`
}
