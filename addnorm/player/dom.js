// Helpers for elements of the page.

export const appendElement = (parent, name, className = "") => {
  const el = parent.appendChild(document.createElement(name))
  if (className) el.className = className
  return el
}

const SVG_NAMESPACE = "http://www.w3.org/2000/svg"

export const svg = (name, attributes, text) => {
  const el = document.createElementNS(SVG_NAMESPACE, name)
  for (const [key, value] of Object.entries(attributes)) el.setAttribute(key, value)
  if (text !== undefined) el.textContent = text
  return el
}

// Sets the text of an element only if it differs: setting it again would repeat an announcement and drop a selection.
export const setText = (el, text) => {
  if (el.textContent !== text) el.textContent = text
}

// Handles plain clicks; the browser keeps those with a modifier key, which open a tab or a window.
export const onPlainClick = (link, handler) => {
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    handler()
  }
}

// The cleanup function of a mount, which calls `end` only once the element has left the page: Streamlit also runs the
// cleanup when newer data has come, and then mounts the same element again.
export const whenGone = (root, end) => () => {
  if (!root.isConnected) end()
}

export const clock = () => performance.now() / 1000 // seconds
