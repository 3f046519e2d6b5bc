// Hosts a player in a file: the page has all that a server would send, or an engine, or the page around it posts that.

import { fromBase64 } from "./connection.js"
import { mount } from "./player.js"
import { TrainingConnection } from "./training.js"

const decompress = ({ textContent }) => {
  const compressed = new Blob([fromBase64(textContent)]).stream()
  return new Response(compressed.pipeThrough(new DecompressionStream("gzip"))).text()
}

const ignore = () => {}
const methods = { hello: ignore, request: ignore, stopRequests: ignore, sendRequest: ignore, close: ignore }
const connection = { connected: true, trainer: null, refusal: "", ...methods } // nothing more will arrive

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

// Plays the page: its scripts hold the declarations of the parts and, compressed, the messages of the runs, plotly and the
// engine, where there is one.
export const play = async (main) => {
  const parts = JSON.parse(document.querySelector("script[type='application/json']").textContent)
  const player = parts.find(({ runs }) => runs)
  const connect = player.grows ? hearPieces() : () => connection // before anything is awaited: pieces may come
  const compressed = [...document.querySelectorAll("script[type='application/gzip']")]
  const [messages, plotly, engine] = await Promise.all(compressed.map(decompress))
  document.head.append(Object.assign(document.createElement("script"), { textContent: plotly }))
  player.messages = JSON.parse(messages)
  const given = engine && JSON.parse(engine)
  const host = { connect: given ? (onChange) => new TrainingConnection(given, onChange) : connect }
  const [template] = main.children
  const components = parts.map((data) => {
    const parentElement = main.appendChild(document.createElement("section"))
    parentElement.append(template.cloneNode(true))
    return { data, parentElement, setStateValue: ignore, setTriggerValue: ignore }
  })
  const mountAll = () => {
    for (const component of components) mount(component, host)
  }
  mountAll()
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", mountAll)
  template.remove()
  document.querySelector("#still").remove()
}
