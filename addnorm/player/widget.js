// The player in a notebook, while the recording grows: a frame with its page, to which the recording's bytes are posted.
// addnorm/live.py sends them in pieces, and again and again the whole, because nobody hears a piece before this is loaded.

export default () => {
  const pieces = [] // in order, without gaps
  const frames = new Set()
  let length = 0 // bytes in all pieces
  const take = (start, view) => {
    const end = start + view.byteLength
    if (start > length || end <= length) return
    const data = new Uint8Array(view.buffer, view.byteOffset + length - start, end - length).slice()
    pieces.push({ start: length, data })
    length = end
    for (const frame of frames) frame.contentWindow?.postMessage(pieces.at(-1), "*") // its origin is opaque
  }
  return {
    initialize({ model }) {
      const takeAll = () => take(0, model.get("recording"))
      model.on("change:recording", takeAll)
      model.on("msg:custom", ({ start }, [view]) => take(start, view))
      takeAll()
    },
    render({ model, el }) {
      const frame = document.createElement("iframe")
      Object.assign(frame, { title: "A recording that grows", srcdoc: model.get("page") })
      frame.setAttribute("sandbox", "allow-scripts")
      frame.style.cssText = "width: 100%; height: 44rem; border: 0; resize: vertical"
      frame.onload = () => {
        frames.add(frame)
        for (const piece of pieces) frame.contentWindow?.postMessage(piece, "*")
      }
      el.append(frame)
      return () => frames.delete(frame)
    },
  }
}
