// Closes the drawer when another page is shown, and opens it at the settings on request.

const OPENING_MILLISECONDS = 300 // in which the drawer slides in

let page // that was shown last
let request // for the settings that came last
export default function ({ data }) {
  if (data.page !== page) {
    page = data.page
    // Streamlit closes a drawer that covers the page at a press beside it.
    document.querySelector("[data-testid=stMain]")?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }))
  }
  const isNewRequest = request !== undefined && data.settings !== request
  request = data.settings
  if (!isNewRequest) return
  const opener = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stExpandSidebarButton]"))
  opener?.click()
  const content = () => document.querySelector("[data-testid=stSidebarUserContent]")
  setTimeout(() => content()?.scrollIntoView({ block: "start" }), OPENING_MILLISECONDS)
}
