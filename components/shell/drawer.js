const OPENING = 300 // milliseconds in which the drawer slides in

let shown, settings
export default function ({ data }) {
  if (data.page !== shown) {
    shown = data.page
    // Streamlit closes a drawer that covers the page at a press beside it.
    document.querySelector("[data-testid=stMain]")?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }))
  }
  const asked = settings !== undefined && data.settings !== settings
  settings = data.settings
  if (!asked) return
  const opener = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stExpandSidebarButton]"))
  opener?.click()
  const content = () => document.querySelector("[data-testid=stSidebarUserContent]")
  setTimeout(() => content()?.scrollIntoView({ block: "start" }), OPENING)
}
