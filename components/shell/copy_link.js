// Copies the address. Where that is denied, as in another site's frame or over http, it shows it, selected, to copy by hand.

const SHOWN_MILLISECONDS = 2000

// The address, without the key that proves whose a class is.
const shared = () => location.href.replace(/([?&])key=[^&#]*(&|$)/, (_, before, after) => (after ? before : ""))

// A frame's own policy, where the browser tells it: to try and be denied is an error in its console.
const allowed = () => /** @type {any} */ (document).featurePolicy?.allowsFeature("clipboard-write") ?? true

export default ({ data, parentElement }) => {
  const button = parentElement.querySelector(".copy-link")
  const byHand = parentElement.querySelector(".copy-by-hand")
  const field = byHand.querySelector("input")
  const say = (words) => {
    button.textContent = words
  }
  const show = () => {
    field.value = shared()
    byHand.hidden = false
    field.select()
  }
  if (!button.textContent) say(data.words)
  button.onclick = async () => {
    if (!allowed()) return show()
    try {
      await navigator.clipboard.writeText(shared())
    } catch {
      return show()
    }
    say("Copied")
    setTimeout(say, SHOWN_MILLISECONDS, data.words)
  }
  field.onblur = () => (byHand.hidden = true)
  field.onkeydown = ({ key }) => key === "Escape" && button.focus()
}
