// Small helpers for elements of the page.

// A new element at the end of another.
export const made = (parent, name, className = "") => {
  const el = parent.appendChild(document.createElement(name))
  if (className) el.className = className
  return el
}

// What the player says in another language, by pattern: "block {} of {}". English is as it stands.
let phrases = []
export const usePhrases = (words) => {
  phrases = Object.entries(words).map(([pattern, phrase]) => {
    const parts = pattern.split("{}").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", "\\s"))
    return [new RegExp(`^${parts.join("(.*?)")}$`), phrase]
  })
}

// A text in the language of the page. What fills a pattern is looked up, too.
export const translated = (text) => {
  for (const [pattern, phrase] of phrases) {
    const match = pattern.exec(text)
    if (match) return match.slice(1).reduce((whole, part) => whole.replace("{}", () => translated(part)), phrase)
  }
  return text
}

// Puts what stands in a page's HTML into its language.
export const translateTexts = (root) => {
  const texts = phrases.length ? document.createTreeWalker(root, NodeFilter.SHOW_TEXT) : undefined
  for (let text = texts?.nextNode(); text; text = texts?.nextNode()) write(text, text.textContent)
}

const NS = "http://www.w3.org/2000/svg"

// A new element of an SVG.
export const node = (name, attributes, text) => {
  const made = document.createElementNS(NS, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  if (text !== undefined) made.textContent = translated(text)
  return made
}

// Sets the text of an element, if it differs: equal text set again would be announced again and lose a selection.
export const write = (el, english) => {
  const text = translated(english)
  if (el.textContent !== text) el.textContent = text
}

// A plain click belongs to the page; one with a modifier key, which opens a tab or a window, to the browser.
export const onPlainClick = (link, act) => {
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    act()
  }
}

// What a mount returns: `end`s it when its element has left the page. Streamlit also calls it at once for a mount of
// which it has newer data by then, and mounts that element again in a later task.
export const whenGone = (root, end) => () => {
  if (!root.isConnected) end()
}

export const clock = () => performance.now() / 1000 // seconds
