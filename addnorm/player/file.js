// The host of a player in a file: what a server would send stands in the page, and there is nobody to tell.

import { bytes } from "./connection.js"
import { mount } from "./player.js"

// The text that was compressed.
const unpacked = ({ textContent }) => {
  const packed = new Blob([bytes(textContent)]).stream()
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text()
}

const nobody = () => {}
// In place of a connection: nothing more will come.
const still = { hello: nobody, request: nobody, rest: nobody, sendRequest: nobody, close: nobody }
const connection = { connected: true, trainer: null, refusal: "", ...still }

// Plays what stands in the page: what its parts declare, and, compressed, the messages about its runs and plotly.
export const play = async (main) => {
  const parts = JSON.parse(document.querySelector("script[type='application/json']").textContent)
  const packed = [...document.querySelectorAll("script[type='application/gzip']")]
  const [messages, plotly] = await Promise.all(packed.map(unpacked))
  document.head.append(Object.assign(document.createElement("script"), { textContent: plotly }))
  parts.find(({ runs }) => runs).messages = JSON.parse(messages)
  const host = { connect: () => connection }
  const [empty] = main.children
  const components = parts.map((data) => {
    const parentElement = main.appendChild(document.createElement("section"))
    parentElement.append(empty.cloneNode(true))
    return { data, parentElement, setStateValue: nobody, setTriggerValue: nobody }
  })
  const declare = () => {
    for (const component of components) mount(component, host)
  }
  declare()
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", declare)
  empty.remove()
  document.querySelector("#still").remove()
}
