// Hosts a player in a file: the page has all that a server would send, or an engine, or the page around it posts that.

import { fromBase64 } from "./connection.js"
import { mount } from "./player.js"

const decompress = ({ textContent }) => {
  const compressed = new Blob([fromBase64(textContent)]).stream()
  return new Response(compressed.pipeThrough(new DecompressionStream("gzip"))).text()
}

const ignore = () => {}
const methods = {
  hello: ignore,
  request: ignore,
  stopRequests: ignore,
  sendRequest: ignore,
  ask: ignore,
  close: ignore,
}
export const connection = { connected: true, trainer: null, refusal: "", ...methods } // nothing more will arrive

// The connection of a recording that grows: hears the pieces of it that the page around this one posts (widget.js).
const hearPieces = () => {
  const waiting = [] // for the player to say hello
  let take = (piece) => {
    waiting.push(piece)
  }
  addEventListener("message", ({ source, data }) => source === parent && take(data))
  return (onChange) => ({
    ...connection,
    hello: (_ticket, [log]) => {
      take = (piece) => {
        log.receive({ kind: "rows", ...piece })
        onChange()
      }
      waiting.splice(0).forEach(take)
    },
  })
}

// What the scripts of the page hold, compressed: the messages of the runs, and the engine, where there is one. Runs plotly.
export const unpack = async () => {
  const compressed = [...document.querySelectorAll("script[type='application/gzip']")]
  const [messages, plotly, engine] = await Promise.all(compressed.map(decompress))
  document.head.append(Object.assign(document.createElement("script"), { textContent: plotly }))
  return { messages: JSON.parse(messages), engine: engine && JSON.parse(engine) }
}

// Mounts the parts of a player in `main`, from top to bottom. Returns a function that declares them anew.
export const mountParts = (main, parts, host, { setStateValue = ignore, setTriggerValue = ignore } = {}) => {
  const [template] = main.children
  const components = parts.map((data) => {
    const parentElement = main.appendChild(document.createElement("section"))
    parentElement.append(template.cloneNode(true))
    return { data, parentElement, setStateValue, setTriggerValue }
  })
  template.remove()
  const mountAll = () => {
    for (const component of components) mount(component, host)
  }
  mountAll()
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", mountAll)
  return (parts) => {
    for (const [index, data] of parts.entries()) components[index].data = data
    mountAll()
  }
}

// Plays the page: a script holds the declarations of the parts.
export const play = async (main) => {
  const parts = JSON.parse(document.querySelector("script[type='application/json']").textContent)
  const player = parts.find(({ runs }) => runs)
  const connect = player.grows ? hearPieces() : () => connection // before anything is awaited: pieces may come
  const { messages, engine } = await unpack()
  player.messages = messages
  mountParts(main, parts, { connect, engine: async () => engine })
  document.querySelector("#still").remove()
}
