// Links of the app as legal settings, with notes on what was changed, as models/spec/query.py and
// components/shell/compare_link.py read them; and settings as a link.

import { configOf, halfToEven } from "../../addnorm/engine/config.js"

const [MAX_KEYS, MAX_CHARS, MAX_SHOWN, MAX_NUMBER] = [200, 20_000, 40, 40]
const [COLUMN_CHARS, COLUMN_KEYS] = [4000, 60]

const sanitize = (text) => {
  const known = text.slice(0, MAX_CHARS).replace(/[^a-zA-Z0-9 .+\-/_=]/g, "")
  const letters = known.replace(/(?<!\d)\.|\.(?!\d)/g, " ") || "(unreadable)"
  return letters.length > MAX_SHOWN ? `${letters.slice(0, MAX_SHOWN)}...` : letters
}
const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^-+|-+$/g, "") || text

// The number that Python's float reads; undefined if the text is none.
const floatOf = (text) => {
  const word = text
    .trim()
    .toLowerCase()
    .replace(/(?<=\d)_(?=\d)/g, "")
  if (/^[+-]?(inf|infinity|nan)$/.test(word)) return NaN
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(word) ? Number(word) : undefined
}
const plain = (value) =>
  value && Math.abs(value) < 1e-6 ? String(value) : value.toLocaleString("en", { maximumFractionDigits: 12 })

// The value that a text stands for, a number clamped to its range; undefined if it stands for none.
const valueIn = (text, { types, choices, rules, low, high }, booleans) => {
  if (choices) return choices.find((choice) => slug(choice) === slug(text))
  if (types.includes("bool")) return Object.entries(booleans).find(([word]) => word === text.toLowerCase())?.[1]
  if (rules.includes(text)) return text
  const number = floatOf(text.slice(0, MAX_NUMBER))
  if (!Number.isFinite(number)) return undefined
  return Math.min(Math.max(types.includes("float") ? number : halfToEven(number), low), high)
}

const refusalOf = (text, { label, legal, choices, low, high }) => {
  if (choices) return `${label} ${text} is not ${legal}`
  const number = floatOf(text.replaceAll(",", ""))
  if (number === undefined) return `${label} ${text} is not a number from ${legal}`
  return `${label} ${text} is ${low <= number && number <= high ? "not a whole number" : `out of range (${legal})`}`
}

// Of a value that was taken in place of a text.
const noteOf = (text, taken, field) =>
  field.types.includes("bool")
    ? `${field.label} ${sanitize(text)} is not true or false: ${taken} instead`
    : `${refusalOf(sanitize(text), field)}: ${plain(taken)} instead`

// The settings of a link, complete and legal, with `overrides` as text, and notes. `told`: of pages/static.py.
export const settingsOf = (link, schema, told) => {
  const given = Object.entries(link)
  const taken = given.slice(0, MAX_KEYS).map(([key, text]) => [key, text.slice(0, MAX_CHARS)])
  const { arrangement, overrides, ...texts } = Object.fromEntries(taken)
  const { mixed, ...arranged } = Object.hasOwn(told.arrangements, arrangement ?? "")
    ? told.arrangements[arrangement]
    : {}
  const settings = { ...told.defaults, ...arranged }
  const isUnknown = arrangement !== undefined && !("norm" in arranged)
  const notes = []
  if (given.length > MAX_KEYS) notes.push(`${given.length - MAX_KEYS} settings after the first ${MAX_KEYS}: ignored`)
  if (isUnknown) notes.push(`there is no arrangement ${sanitize(arrangement)}: ignored`)
  for (const [key, text] of Object.entries(texts).filter(([key]) => !told.ignored.includes(key))) {
    if (!Object.hasOwn(schema.fields, key)) {
      notes.push(`there is no setting ${sanitize(key)}: ignored`)
      continue
    }
    const field = schema.fields[key]
    const value = valueIn(text, field, told.booleans)
    settings[key] = value ?? settings[key]
    const isClamped = typeof value === "number" && floatOf(text.slice(0, MAX_NUMBER)) !== value
    if (value === undefined || isClamped) notes.push(noteOf(text, settings[key], field))
  }
  const { depth } = settings
  try {
    const text = overrides ?? (mixed ? `1-${Math.ceil(depth / 4)}.placement.post-norm` : "")
    configOf({ depth: String(depth), overrides: text }, schema)
    settings.overrides = text
  } catch ({ message }) {
    notes.push(`${message.replace(/\.$/, "")}: overrides ignored`)
  }
  if (settings.batch === 1 && `${settings.norm} ${settings.overrides}`.includes("batch norm")) {
    settings.batch = 2
    notes.push(told.broken)
  }
  return { settings, notes }
}

// The settings that differ from the defaults, as a link's text by name.
export const linkOf = (settings, { defaults }) =>
  Object.fromEntries(
    Object.entries(settings)
      .filter(([name, value]) => value !== defaults[name])
      .map(([name, value]) => [name, String(value)]),
  )

// The two nets of a comparison's link, none if it names none, and notes.
export const columnsOf = (link, schema, told) => {
  const letters = ["a", "b"].filter((letter) => letter in link)
  const linkIn = (text) =>
    Object.fromEntries([...new URLSearchParams(text.slice(0, COLUMN_CHARS))].slice(0, COLUMN_KEYS))
  const read = letters.map((letter) => settingsOf(linkIn(link[letter]), schema, told))
  const notes = read.flatMap(({ notes }, index) =>
    notes.map((note) => `column ${letters[index].toUpperCase()}: ${note}`),
  )
  if (["c", "d", "e"].some((key) => key in link) || (link.seeds ?? "1") !== "1") notes.push(told.more)
  const columns = read.map(({ settings }) => settings)
  if (columns.length !== 1) return { columns, notes }
  notes.push("a comparison needs two columns: the second is the default network")
  return { columns: [...columns, told.defaults], notes }
}
