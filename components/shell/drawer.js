// A press beside an open drawer closes it where it covers the page, and nowhere else.
let shown
export default function ({ data }) {
  if (data.page === shown) return
  shown = data.page
  document.querySelector("[data-testid=stMain]")?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }))
}
