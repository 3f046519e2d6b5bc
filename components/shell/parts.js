// A link to a part of a page scrolls to it. The address names the part by one of its keys, or behind its # by the words
// of a heading or of an expander, which is opened. `window.openedPart` is what comes behind the # of a copied link:
// the expander in sight that the visitor opened last.
{
  const KEYS = ["instrument", "closer", "part", "panel"]
  const SETTING = "setting" // a key whose value is a control of the sidebar
  const LOOK_MILLISECONDS = 100 // between two looks at where the part lies
  const WAIT_MILLISECONDS = 60_000 // for the part, which a page may not have
  const SETTLED_MILLISECONDS = 5000 // after the part has last moved, because what stands above it was still drawn
  const VISITOR_EVENTS = ["wheel", "touchstart", "keydown", "pointerdown"] // that end the scrolling

  let stopScrolling = () => {}
  let isArriving = false // on another page, whose query may come after its path
  let lastPressed // the expander that the visitor pressed last

  const pane = () => document.querySelector("[data-testid=stMain]")
  const paneOf = (part) => part?.closest("[data-testid=stSidebarContent]") ?? pane()
  // The height of what stands over the top of the page: the player, or Streamlit's header.
  const coveredHeight = () =>
    Number.parseFloat(getComputedStyle(pane()).scrollPaddingTop) ||
    document.querySelector("[data-testid=stHeader]")?.clientHeight ||
    0
  const slug = (text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}.]+/gu, "-")
      .replace(/^-|-$/g, "")
  const nameOf = (el) =>
    slug((el.querySelector("[data-heading-text], [data-testid=stMarkdownContainer]") ?? el).textContent)
  const shownParts = () =>
    [...(pane()?.querySelectorAll("h2, h3, h4, summary") ?? [])].filter((el) => el.checkVisibility())
  const namedPart = (name) => shownParts().find((el) => el.id === name || nameOf(el) === name)
  const choiceOf = (key) =>
    [...(pane()?.querySelectorAll(`[class*="${key}"]`) ?? [])].find((el) =>
      [...el.classList].some((of) => of.startsWith("st-key-") && `_${of.slice(7)}`.endsWith(`_${key}`)),
    )

  // Scrolls to the part that `find` returns, once there is one, and again while it moves.
  const scrollTo = (find, behavior) => {
    stopScrolling()
    let at
    let endsAt = performance.now() + WAIT_MILLISECONDS
    const look = () => {
      if (performance.now() > endsAt) return stopScrolling()
      const part = find()
      if (part?.matches("details:not([open]) > summary")) part.click()
      const { scrollHeight, clientHeight, scrollTop } = paneOf(part) ?? {}
      const top = part && part.getBoundingClientRect().top + scrollTop - coveredHeight()
      const place = part && Math.round(Math.min(top, scrollHeight - clientHeight)) // what lies below may yet be drawn
      if (place === at) return
      at = place
      endsAt = performance.now() + (part ? SETTLED_MILLISECONDS : WAIT_MILLISECONDS)
      if (part) paneOf(part).scrollTo({ top: place, behavior })
    }
    const timer = setInterval(look, LOOK_MILLISECONDS)
    const listeners = new AbortController()
    stopScrolling = () => {
      clearInterval(timer)
      listeners.abort()
    }
    for (const kind of VISITOR_EVENTS)
      window.addEventListener(kind, stopScrolling, { capture: true, signal: listeners.signal })
  }

  // A control of the sidebar, which a narrow page folds away.
  const setting = (name) => {
    const control = document.querySelector(`[data-testid=stSidebar] .st-key-${CSS.escape(name)}`)
    if (control && control.getBoundingClientRect().right > 0) return control
    const opener = document.querySelector("[data-testid=stExpandSidebarButton]")
    if (opener instanceof HTMLElement) opener.click()
  }

  const arrive = (address) => {
    stopScrolling()
    const { hash, searchParams } = new URL(address, location.href)
    const control = searchParams.get(SETTING)
    if (control) return scrollTo(() => setting(control), "instant")
    const key = KEYS.find((name) => searchParams.has(name))
    const name = decodeURIComponent(hash.slice(1)) || searchParams.get(key ?? "")
    if (name) scrollTo(() => namedPart(name) ?? (hash ? undefined : choiceOf(key)), "instant")
  }

  for (const method of ["pushState", "replaceState"]) {
    const change = history[method].bind(history)
    history[method] = (state, title, address) => {
      const before = location.pathname
      change(state, title, address)
      isArriving ||= location.pathname !== before
      if (isArriving) arrive(location.href)
    }
  }
  const stay = () => {
    isArriving = false
  }
  for (const kind of VISITOR_EVENTS) window.addEventListener(kind, stay, { capture: true })
  window.addEventListener("popstate", () => {
    stay()
    stopScrolling()
  })
  window.addEventListener("click", ({ target }) => {
    if (target instanceof Element) lastPressed = target.closest("summary") ?? lastPressed
  })
  Object.assign(window, {
    showAddress: arrive,
    openedPart: () => {
      const isShown = ({ bottom, top }) => bottom > 0 && top < innerHeight
      const opened = shownParts().find((el) => el === lastPressed && el.matches("details[open] > summary"))
      return opened && isShown(opened.getBoundingClientRect()) ? opened.id || nameOf(opened) : ""
    },
    showPart: (name) => {
      const { matches: reducesMotion } = matchMedia("(prefers-reduced-motion: reduce)")
      scrollTo(() => namedPart(slug(name)), reducesMotion ? "instant" : "smooth")
    },
  })
  arrive(location.href)
}
