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
  document.querySelector("[data-testid=stExpandSidebarButton]")?.click()
  const content = () => document.querySelector("[data-testid=stSidebarUserContent]")
  setTimeout(() => content()?.scrollIntoView({ block: "start" }), OPENING)
}
