// Copies the address, and shows it as a frame for a page of one's own. Where copying is denied, as in another site's frame
// or over http, it shows the address too, selected, to copy by hand.

const SHOWN_MILLISECONDS = 2000

// The address, without the key that proves whose a class is.
const shared = () => location.href.replace(/([?&])key=[^&#]*(&|$)/, (_, before, after) => (after ? before : ""))

const quoted = (text) => `"${text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"`

const frame = () =>
  `<iframe src=${quoted(shared())} title=${quoted(document.title)} width="100%" height="700"></iframe>`

// A frame's own policy, where the browser tells it: to try and be denied is an error in its console.
const allowed = () => /** @type {any} */ (document).featurePolicy?.allowsFeature("clipboard-write") ?? true

export default ({ data, parentElement }) => {
  const button = parentElement.querySelector(".copy-link")
  const box = parentElement.querySelector(".copy-box")
  const [link, embed] = box.querySelectorAll("input")
  const [usual, title, afterwards, ...names] = data.words
  const say = (words) => {
    button.textContent = words
  }
  const show = (denied) => {
    link.value = shared()
    embed.value = frame()
    link.parentElement.hidden = !denied
    box.hidden = false
    if (denied) link.select()
  }
  const copied = async () => {
    if (!allowed()) return false
    return navigator.clipboard.writeText(shared()).then(
      () => true,
      () => false,
    )
  }
  const away = ({ target }) => {
    if (!box.contains(target) && !button.contains(target)) box.hidden = true
  }
  if (button.title !== title) say(usual) // in a new language; else it may have just copied
  button.title = title
  for (const [at, name] of box.querySelectorAll("span").entries()) name.textContent = names[at]
  button.onclick = async () => {
    const done = await copied()
    show(!done)
    if (!done) return
    say(afterwards)
    setTimeout(say, SHOWN_MILLISECONDS, usual)
  }
  embed.onfocus = () => embed.select()
  box.onfocusout = ({ relatedTarget }) => relatedTarget && away({ target: relatedTarget })
  button.onkeydown = box.onkeydown = ({ key }) => {
    if (key !== "Escape" || box.hidden) return
    button.focus()
    box.hidden = true
  }
  document.addEventListener("pointerdown", away)
  return () => document.removeEventListener("pointerdown", away)
}
