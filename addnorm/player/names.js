// The names of a stranger's model: safe to draw, short, and without what all of them share. Pure.

const MIN_NAMES = 5 // among which a prefix is looked for

// A text made safe to draw: nothing that plotly would take for a tag, nothing invisible.
export const plain = (name) =>
  [...name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\uFFFD")].join("").replaceAll("<", "‹").replaceAll("&", "＆")

// A name cut in the middle to fit so many letters.
export const shortened = (name, width) => {
  const letters = [...plain(name)]
  if (letters.length <= width) return letters.join("")
  const left = (width - 1) >> 1
  return `${letters.slice(0, left).join("")}…${letters.slice(letters.length - (width - 1 - left)).join("")}`
}

// The modules that all names but the first and the last lie in, with a dot at the end, which a chart and its table say
// once. `lists`: of the recordings in a chart.
export const sharedPrefix = (lists) => {
  const inner = lists.flatMap((names) => (names.length < MIN_NAMES ? [""] : names.slice(1, -1)))
  let prefix = inner[0] ?? ""
  for (const name of inner) while (!name.startsWith(prefix)) prefix = prefix.slice(0, -1)
  return prefix.slice(0, prefix.lastIndexOf(".") + 1)
}
