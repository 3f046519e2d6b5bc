// Makes the module names of any model safe to draw and short. Pure.

const MIN_NAMES = 5 // fewer names have no common prefix

// Replaces invisible characters, and those that plotly would read as markup.
export const sanitize = (name) =>
  [...name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\uFFFD")].join("").replaceAll("<", "‹").replaceAll("&", "＆")

// A name of at most `width` letters, cut in the middle.
export const shorten = (name, width) => {
  const letters = [...sanitize(name)]
  if (letters.length <= width) return letters.join("")
  const left = (width - 1) >> 1
  return `${letters.slice(0, left).join("")}…${letters.slice(letters.length - (width - 1 - left)).join("")}`
}

// The path of the module that contains all modules but the first and the last, with a dot at the end; a chart shows it
// once, in the title of its axis. `lists`: one list of names per recording in the chart.
export const commonPrefix = (lists) => {
  const inner = lists.flatMap((names) => (names.length < MIN_NAMES ? [""] : names.slice(1, -1)))
  let prefix = inner[0] ?? ""
  for (const name of inner) while (!name.startsWith(prefix)) prefix = prefix.slice(0, -1)
  return prefix.slice(0, prefix.lastIndexOf(".") + 1)
}
