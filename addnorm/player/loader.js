// The only script inside the page. It imports the player's script, which browsers cache, from the server's base path.
const indexScript = [...document.scripts].find((script) => script.src.includes("/static/js/index."))
const base = indexScript ? new URL("../../", indexScript.src) : new URL("./", document.baseURI)

export default async function (component) {
  const { version, plotly, script = "player" } = component.data
  const modules = await import(new URL(`player/${version}/player.js`, base).href)
  const address = new URL("log", base)
  address.protocol = address.protocol.replace("http", "ws")
  const connect = (onChange) => new modules.connection.Connection(address.href, onChange)
  const engine = async (path) => (await fetch(new URL(path, base))).json()
  return modules[script].mount(component, { connect, engine, plotly: plotly && new URL(plotly, base).href })
}
