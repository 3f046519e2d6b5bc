// Opens a text file of the visitor's and hands its text to the page.

export default ({ data, parentElement, setTriggerValue }) => {
  const [label, input] = parentElement.querySelectorAll("span, input")
  label.textContent = data.label
  input.onchange = async () => {
    const text = await input.files[0]?.slice(0, data.maxBytes).text()
    input.value = ""
    if (text !== undefined) setTriggerValue("opened", text)
  }
}
