// A chart without a player; it has a table, and keeps its zoom when its data changes.

import { Chart, loadPlotly, setHues, themeOf } from "./chart.js"
import { whenGone } from "./dom.js"

const MOMENT = { logs: [], position: 0, shown: 0, furthest: 0, playing: false }
const charts = new WeakMap() // by root element

class StaticChart {
  constructor(root) {
    this.root = root
    this.chart = new Chart(root)
    this.resizeObserver = new ResizeObserver(() => this.draw())
    this.resizeObserver.observe(root)
  }

  declare({ data, setTriggerValue }, { plotly }) {
    setHues(data.hues)
    this.clicked = data.clicks && ((x, y) => setTriggerValue("clicked", [x, y]))
    this.chart.declare({ ...data, run: 0, sentence: "", fit: 0 })
    this.chart.layoutState = {} // new data gets new axes
    this.draw()
    loadPlotly(plotly)
      .then((plotly) => (this.plotly = plotly))
      .then(() => this.draw())
      .catch(
        (error) => (this.root.title = `This chart cannot be drawn here, its table can be opened: ${error.message}.`),
      )
  }

  draw() {
    if (!this.root.isConnected) return
    this.chart.measured = undefined
    this.chart.draw(MOMENT, this.plotly, themeOf(this.root))
    const { el } = this.chart
    if (!this.plotly || !this.clicked || this.listens) return
    this.listens = true
    el.on("plotly_click", ({ points: [point] }) => this.clicked?.(point.x, point.y))
  }

  leave() {
    this.resizeObserver.disconnect()
    this.chart.clear(this.plotly)
  }
}

export const mount = (component, host) => {
  const root = component.parentElement.querySelector(".static-chart")
  if (!charts.has(root)) charts.set(root, new StaticChart(root))
  const chart = charts.get(root)
  chart.declare(component, host)
  return whenGone(root, () => charts.delete(root) && chart.leave())
}
