// Copies the address; without a clipboard, as on a page served over http, it says so.

const SHOWN_MILLISECONDS = 2000

// The address, without the key that proves whose a class is.
const shared = () => location.href.replace(/([?&])key=[^&#]*(&|$)/, (_, before, after) => (after ? before : ""))

export default ({ data, parentElement }) => {
  const button = parentElement.querySelector(".copy-link")
  const say = (words) => {
    button.textContent = words
  }
  if (!button.textContent) say(data.words)
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(shared())
      say("Copied")
    } catch {
      say("Copy it from the address bar")
    }
    setTimeout(say, SHOWN_MILLISECONDS, data.words)
  }
}
