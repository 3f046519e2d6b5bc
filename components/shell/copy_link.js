// Copies the address, and shows an iframe that embeds it. If copying is denied, as in another site's frame or over http,
// it also shows the address, selected, to copy by hand.

const CONFIRMATION_MILLISECONDS = 2000

// The address, without the secret key of a class's teacher.
const publicAddress = () => location.href.replace(/([?&])key=[^&#]*(&|$)/, (_, before, after) => (after ? before : ""))

const quoted = (text) => `"${text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"`

const iframe = () =>
  `<iframe src=${quoted(publicAddress())} title=${quoted(document.title)} width="100%" height="700"></iframe>`

// Asks the frame's policy first, if the browser has that: a denied attempt would log an error.
const mayCopy = () => /** @type {any} */ (document).featurePolicy?.allowsFeature("clipboard-write") ?? true

export default ({ data, parentElement }) => {
  const button = parentElement.querySelector(".copy-link")
  const box = parentElement.querySelector(".copy-box")
  const [link, embed] = box.querySelectorAll("input")
  const [label, title, confirmation, ...names] = data.words
  const setLabel = (text) => {
    button.textContent = text
  }
  const showBox = (isDenied) => {
    link.value = publicAddress()
    embed.value = iframe()
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
  const hideUnlessInside = ({ target }) => {
    if (!box.contains(target) && !button.contains(target)) box.hidden = true
  }
  if (button.title !== title) setLabel(label) // only in a new language: the button may just confirm a copy
  button.title = title
  for (const [index, name] of box.querySelectorAll("span").entries()) name.textContent = names[index]
  button.onclick = async () => {
    const hasCopied = await copy()
    showBox(!hasCopied)
    if (!hasCopied) return
    setLabel(confirmation)
    setTimeout(setLabel, CONFIRMATION_MILLISECONDS, label)
  }
  embed.onfocus = () => embed.select()
  box.onfocusout = ({ relatedTarget }) => relatedTarget && hideUnlessInside({ target: relatedTarget })
  button.onkeydown = box.onkeydown = ({ key }) => {
    if (key !== "Escape" || box.hidden) return
    button.focus()
    box.hidden = true
  }
  document.addEventListener("pointerdown", hideUnlessInside)
  return () => document.removeEventListener("pointerdown", hideUnlessInside)
}
