// Closes the drawer when another page is shown, and opens it at the settings on request. Lights the entries of
// the navigation under which a page stands, and calls the button that opens the drawer a menu.

const OPENING_MILLISECONDS = 300 // in which the drawer slides in

let page // that was shown last
let request // for the settings that came last
let current // the words of the entries that are lit
let menu // the word on the button that opens the drawer

const ENTRIES = "[data-testid=stTopNavLink], [data-testid=stSidebarNavLink], [data-testid=stTopNavSection]"
const wordsOf = (entry) => (entry.querySelector("[data-testid=stMarkdownContainer]") ?? entry).textContent.trim()
const opener = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stExpandSidebarButton]"))
const light = () => {
  const button = opener()
  if (button && button.dataset.menu !== menu) {
    button.dataset.menu = menu // style.css draws it
    button.setAttribute("aria-label", `${menu}: expand sidebar`)
  }
  for (const entry of document.querySelectorAll(ENTRIES)) {
    if (current.includes(wordsOf(entry))) entry.setAttribute("aria-current", "true")
    else if (entry.getAttribute("aria-current") === "true") entry.removeAttribute("aria-current")
  }
}
const changes = new MutationObserver(light)

export default function ({ data }) {
  current = data.current
  menu = data.menu
  light()
  for (const place of document.querySelectorAll("[data-testid=stHeader], [data-testid=stSidebar]"))
    changes.observe(place, { childList: true, subtree: true })
  if (data.page !== page) {
    page = data.page
    // Streamlit closes a drawer that covers the page at a press beside it.
    document.querySelector("[data-testid=stMain]")?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }))
  }
  const isNewRequest = request !== undefined && data.settings !== request
  request = data.settings
  if (!isNewRequest) return
  opener()?.click()
  const content = () => document.querySelector("[data-testid=stSidebarUserContent]")
  setTimeout(() => content()?.scrollIntoView({ block: "start" }), OPENING_MILLISECONDS)
}
