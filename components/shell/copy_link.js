// Copies the address, and shows an iframe that embeds it. If copying is denied, as in another site's frame or over http,
// it also shows the address, selected, to copy by hand.

const CONFIRMATION_MILLISECONDS = 2000

// The page's address, without the secret key of a class's teacher.
const pageAddress = () =>
  (location.origin + location.pathname + location.search).replace(/([?&])key=[^&#]*(&|$)/, (_, before, after) =>
    after ? before : "",
  )

// The address of the page, and of the part that the visitor opened.
const publicAddress = () => {
  const part = /** @type {any} */ (window).openedPart()
  return pageAddress() + (part && `#${part}`)
}

const quotedAttribute = (text) => `"${text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"`

const iframeMarkup = () =>
  `<iframe src=${quotedAttribute(publicAddress())} title=${quotedAttribute(document.title)} width="100%" height="700"></iframe>`

// Asks the frame's policy first, if the browser has that: a denied attempt would log an error.
const mayCopy = () => /** @type {any} */ (document).featurePolicy?.allowsFeature("clipboard-write") ?? true

// Shows the second button, if the page has one.
const showPageButton = (button, [label, confirmation] = [], press) => {
  button.hidden = button.disabled = !label
  if (button.textContent !== confirmation) button.textContent = label ?? ""
  button.onclick = () => {
    press()
    button.textContent = confirmation
    setTimeout(() => {
      button.textContent = label
    }, CONFIRMATION_MILLISECONDS)
  }
}

export default ({ data, parentElement, setTriggerValue }) => {
  const button = parentElement.querySelector(".copy-link")
  showPageButton(parentElement.querySelector(".page-button"), data.button, () =>
    setTriggerValue("pressed", pageAddress()),
  )
  const box = parentElement.querySelector(".copy-box")
  const [link, embed] = box.querySelectorAll("input")
  const [label, title, confirmation, ...fieldLabels] = data.words
  const setLabel = (text) => {
    button.textContent = text
  }
  const showBox = (isDenied) => {
    link.value = publicAddress()
    embed.value = iframeMarkup()
    link.parentElement.hidden = !isDenied
    box.hidden = false
    if (isDenied) link.select()
  }
  const copy = async () => {
    if (!mayCopy()) return false
    return navigator.clipboard.writeText(publicAddress()).then(
      () => true,
      () => false,
    )
  }
  const hideUnlessInside = (node) => {
    if (!box.contains(node) && !button.contains(node)) box.hidden = true
  }
  const onPointer = ({ target }) => hideUnlessInside(target)
  // Only at first; later this would overwrite a confirmation still on show.
  if (button.title !== title) setLabel(label)
  button.title = title
  for (const [index, field] of box.querySelectorAll("span").entries()) field.textContent = fieldLabels[index]
  button.onclick = async () => {
    const hasCopied = await copy()
    showBox(!hasCopied)
    if (!hasCopied) return
    setLabel(confirmation)
    setTimeout(setLabel, CONFIRMATION_MILLISECONDS, label)
  }
  embed.onfocus = () => embed.select()
  box.onfocusout = ({ relatedTarget }) => relatedTarget && hideUnlessInside(relatedTarget)
  button.onkeydown = box.onkeydown = ({ key }) => {
    if (key !== "Escape" || box.hidden) return
    button.focus()
    box.hidden = true
  }
  document.addEventListener("pointerdown", onPointer)
  return () => document.removeEventListener("pointerdown", onPointer)
}
