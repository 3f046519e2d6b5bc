// Hosts a player in a file: the page contains all that a server would send.

import { fromBase64 } from "./connection.js"
import { mount } from "./player.js"

const decompress = ({ textContent }) => {
  const compressed = new Blob([fromBase64(textContent)]).stream()
  return new Response(compressed.pipeThrough(new DecompressionStream("gzip"))).text()
}

const ignore = () => {}
const methods = { hello: ignore, request: ignore, stopRequests: ignore, sendRequest: ignore, close: ignore }
const connection = { connected: true, trainer: null, refusal: "", ...methods } // nothing more will arrive

// Plays the page: its scripts hold the declarations of the parts and, compressed, the messages of the runs and plotly.
export const play = async (main) => {
  const parts = JSON.parse(document.querySelector("script[type='application/json']").textContent)
  const compressed = [...document.querySelectorAll("script[type='application/gzip']")]
  const [messages, plotly] = await Promise.all(compressed.map(decompress))
  document.head.append(Object.assign(document.createElement("script"), { textContent: plotly }))
  parts.find(({ runs }) => runs).messages = JSON.parse(messages)
  const host = { connect: () => connection }
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
