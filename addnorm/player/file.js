// The host of a stage in a file: what a server would send stands in the page, and there is nobody to tell.

import { mount } from "./stage.js"
import { headed, hear } from "./tape.js"

const SENT = "script[type='application/json']" // what the page declares, part by part, and the messages about its runs

// In place of a connection: all messages are there from the beginning.
class Messages {
  constructor(messages, changed) {
    Object.assign(this, { messages, changed, connected: true, trainer: null, refusal: "" })
  }

  hello(_ticket, tapes) {
    for (const message of this.messages) {
      if (typeof message !== "string") hear(tapes[message.run], message)
      else {
        const [run, start, count, , rows] = headed(Uint8Array.from(atob(message), (byte) => byte.charCodeAt(0)).buffer)
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

export const play = (main) => {
  const [parts, messages] = [...document.querySelectorAll(SENT)].map((script) => JSON.parse(script.textContent))
  const host = { connect: (changed) => new Messages(messages, changed) }
  const [empty] = main.children
  for (const data of parts) {
    const parentElement = main.appendChild(document.createElement("section"))
    parentElement.append(empty.cloneNode(true))
    mount({ data, parentElement, setStateValue: nobody, setTriggerValue: nobody }, host)
  }
  empty.remove()
  document.querySelector("#still").remove()
}
