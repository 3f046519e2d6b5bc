// Opens text files of the visitor's and hands their text to the page.

export default ({ data, parentElement, setTriggerValue }) => {
  const [label, input] = parentElement.querySelectorAll("span, input")
  label.textContent = data.label
  input.multiple = data.several
  input.onchange = async () => {
    const files = [...input.files]
    input.value = ""
    const texts = await Promise.all(files.map((file) => file.slice(0, 4 * data.maxChars).text()))
    if (texts.length) setTriggerValue("opened", texts.join("\n").slice(0, data.maxChars))
  }
  if (input.files.length) input.onchange() // chosen before this script was here
}
