// A chart without a player, with a table. New data recomputes its axis ranges; the visitor's zoom stays.

import { Chart, loadPlotly, setHues, themeOf } from "./chart.js"
import { whenGone } from "./dom.js"

// a player with no logs: only the chart's own data is drawn
const EMPTY_MOMENT = { logs: [], position: 0, shown: 0, furthest: 0, playing: false }
const charts = new WeakMap() // by root element

class StaticChart {
  constructor(root) {
    this.root = root
    this.chart = new Chart(root)
    this.resizeObserver = new ResizeObserver(() => this.draw())
    this.resizeObserver.observe(root)
  }

  declare({ data, setTriggerValue }, { plotly: plotlyAddress }) {
    setHues(data.hues)
    this.onClick = data.clicks ? (x, y) => setTriggerValue("clicked", [x, y]) : undefined
    this.chart.declare({ ...data, run: 0, sentence: "", fit: 0 })
    this.chart.layoutState = {} // forgets axis ranges; the zoom stays, as `fit` does not change
    this.draw()
    loadPlotly(plotlyAddress)
      .then((plotly) => {
        this.plotly = plotly
        this.draw()
      })
      .catch((error) => {
        this.root.title = `This chart cannot be drawn here, its table can be opened: ${error.message}.`
      })
  }

  draw() {
    if (!this.root.isConnected) return
    this.chart.remeasure()
    this.chart.draw(EMPTY_MOMENT, this.plotly, themeOf(this.root))
    if (!this.plotly || !this.onClick || this.hasClickListener) return
    this.hasClickListener = true
    this.chart.el.on("plotly_click", ({ points: [point] }) => this.onClick?.(point.x, point.y))
  }

  dispose() {
    this.resizeObserver.disconnect()
    this.chart.clear(this.plotly)
  }
}

export const mount = (component, host) => {
  const root = component.parentElement.querySelector(".static-chart")
  if (!charts.has(root)) charts.set(root, new StaticChart(root))
  const chart = charts.get(root)
  chart.declare(component, host)
  return whenGone(root, () => {
    if (charts.delete(root)) chart.dispose()
  })
}
