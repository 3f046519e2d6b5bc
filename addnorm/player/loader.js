// The only script that is sent with the page. It imports the others, which browsers cache, from below the server's path.
const indexScript = [...document.scripts].find((script) => script.src.includes("/static/js/index."))
const base = indexScript ? new URL("../../", indexScript.src) : new URL("./", document.baseURI)

export default async function (component) {
  const { version, plotly, script = "player" } = component.data
  const { mount } = await import(new URL(`player/${version}/${script}.js`, base).href)
  const { Connection } = await import(new URL(`player/${version}/connection.js`, base).href)
  const address = new URL("log", base)
  address.protocol = address.protocol.replace("http", "ws")
  const connect = (changed) => new Connection(address.href, changed)
  return mount(component, { connect, plotly: plotly && new URL(plotly, base).href })
}
