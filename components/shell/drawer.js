// Streamlit closes a drawer that covers the page at a press beside it.
let shown
export default function ({ data }) {
  if (data.page === shown) return
  shown = data.page
  document.querySelector("[data-testid=stMain]")?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }))
}
