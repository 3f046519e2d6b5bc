// The host of a stage in a file: what a server would send stands in the page, and there is nobody to tell.

import { mount } from "./stage.js"
import { headed, hear } from "./tape.js"

const bytes = (letters) => Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0))

// The text that was compressed.
const unpacked = ({ textContent }) => {
  const packed = new Blob([bytes(textContent)]).stream()
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text()
}

// In place of a connection: all messages are there from the beginning.
class Messages {
  constructor(messages, changed) {
    this.messages = messages
    this.changed = changed
    this.connected = true
    this.trainer = null
    this.refusal = ""
  }

  hello(_ticket, tapes) {
    for (const message of this.messages) {
      if (typeof message !== "string") hear(tapes[message.run], message)
      else {
        const [run, start, count, , rows] = headed(bytes(message).buffer)
        tapes[run].receive(start, count, rows)
      }
    }
    this.messages = []
    this.changed()
  }

  wish() {}
  say() {}
  rest() {}
  close() {}
}

const nobody = () => {}

// Plays what stands in the page: what its parts declare, and, compressed, the messages about its runs and plotly.
export const play = async (main) => {
  const parts = JSON.parse(document.querySelector("script[type='application/json']").textContent)
  const packed = [...document.querySelectorAll("script[type='application/gzip']")]
  const [messages, plotly] = await Promise.all(packed.map(unpacked))
  document.head.append(Object.assign(document.createElement("script"), { textContent: plotly }))
  const host = { connect: (changed) => new Messages(JSON.parse(messages), changed) }
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
