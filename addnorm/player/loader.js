// The only script inside the page. It imports the other modules, which browsers cache, from the server's base path.
const indexScript = [...document.scripts].find((script) => script.src.includes("/static/js/index."))
const base = indexScript ? new URL("../../", indexScript.src) : new URL("./", document.baseURI)

export default async function (component) {
  const { version, plotly, script = "player" } = component.data
  const { mount } = await import(new URL(`player/${version}/${script}.js`, base).href)
  const { Connection } = await import(new URL(`player/${version}/connection.js`, base).href)
  const address = new URL("log", base)
  address.protocol = address.protocol.replace("http", "ws")
  const connect = (onChange) => new Connection(address.href, onChange)
  return mount(component, { connect, plotly: plotly && new URL(plotly, base).href })
}
