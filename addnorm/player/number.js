// Numbers in words: the same notation as in Python's sentences. Pure.

const WRITTEN_OUT = 6 // decades, up and down, from which a number is written with a power of ten
const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 12 })
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
export const power = (exponent) => `10${String(exponent).replace(/./g, (sign) => RAISED[sign] ?? "⁻")}`

// A number of so many significant digits, as toExponential writes it. Exactly between two of them it is the even one, as in
// Python, where toExponential takes the larger.
const rounded = (value, digits) => {
  const nearest = value.toExponential(digits - 1)
  const [mantissa, exponent] = value.toExponential(digits).split("e") // with one digit more
  if (!mantissa.endsWith("5") || Number(value.toExponential(40).split("e")[0].slice(mantissa.length))) return nearest
  const lower = mantissa.slice(0, -1)
  return "02468".includes(lower.at(-1)) ? `${lower}e${exponent}` : nearest
}

// A number with at most so many significant digits: 0.186, 63,000, 1.6·10¹⁶.
export const brief = (value, digits = 3) => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"
  const size = Math.abs(value)
  if (size >= 0.001 && size < 100) return String(Number(rounded(value, digits))) // the usual case, ten times faster than below
  const [mantissa, exponent] = rounded(value, digits).split("e").map(Number)
  if (exponent >= -WRITTEN_OUT && exponent < WRITTEN_OUT) return PLAIN.format(Number(rounded(value, digits)) + 0)
  if (Math.abs(mantissa) === 1) return `${mantissa < 0 ? "-" : ""}${power(exponent)}`
  return `${mantissa}·${power(exponent)}`
}
