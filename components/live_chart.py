"""A plotly chart that keeps its zoom and hover while its data moves.

`st.plotly_chart` remounts whenever its data changes. This component calls `Plotly.react` on the plotly that Streamlit
ships, and falls back to `st.plotly_chart` where that cannot be found. Every chart has its numbers as a table.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from components import chart_table
from components.assets import plotly_chunk
from components.charts import Figure, table_of

FAILED = "live_charts_failed"  # (key, reason): set for the rest of a session whose browser could not load plotly by itself

JS = """
const load = (chunk) => {
  if (window.Plotly) return Promise.resolve(window.Plotly)
  const own = [...document.scripts].find((s) => s.src.includes("/static/js/index."))
  if (!chunk || !own) return Promise.reject(new Error("no plotly beside Streamlit"))
  return import(new URL(chunk, own.src).href).then(() => {
    if (!window.Plotly) throw new Error("plotly did not announce itself")
    return window.Plotly
  })
}
const finger = matchMedia("(pointer: coarse)").matches // it scrolls the page: a chart keeps nothing of that to itself
const themed = (layout, el) => {
  const style = getComputedStyle(el)
  const of = (name, other) => style.getPropertyValue(name).trim() || other
  const grid = of("--st-border-color", "#8884")
  const axis = (a) => ({ gridcolor: grid, linecolor: grid, ...a })
  return {
    ...layout, ...(finger && { dragmode: false }), autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: of("--st-text-color", "#555"), family: of("--st-font", "sans-serif"), size: layout.font?.size ?? 12 },
    legend: { ...layout.legend, bgcolor: "rgba(0,0,0,0)" },
    xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
  }
}
const latest = new WeakMap()
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const el = parentElement.querySelector(".live-chart")
  el.style.height = data.height + "px"
  el.setAttribute("role", "figure")
  el.setAttribute("aria-label", data.alt)
  latest.set(el, data)
  keepTable(parentElement, data)
  // Drawing holds the page up: the slider over the steps, which Streamlit sets a moment after the text, comes first.
  const others = new Promise((set) => setTimeout(set, 30))
  others.then(() => load(data.chunk)).then(function draw(Plotly) {
    if (latest.get(el) !== data) return
    if (el._dragging) return void setTimeout(() => draw(Plotly), 100) // new data must not end a drag
    // "Reset axes" would be a second button of that first word on the page; a double click resets them too.
    const spare = ["resetScale2d", "select2d", "lasso2d"]
    const config = {
      responsive: true, displaylogo: false, showSendToCloud: false, displayModeBar: finger ? false : "hover",
      modeBarButtonsToRemove: spare,
    }
    // A copy: plotly writes the zoom into what it is given, and the same data comes again when the theme changes.
    const { data: traces, layout } = structuredClone(data.figure)
    return Promise.resolve(Plotly.react(el, traces, themed(layout, el), config)).then(() => {
      if (!data.clicks || el._clicks) return
      el._clicks = true
      el.on("plotly_click", ({ points: [point] }) => setTriggerValue("clicked", [point.x, point.y]))
    })
  }).catch((error) => {
    // A chart that was taken away while plotly still drew it has not failed.
    if (latest.has(el)) setTriggerValue("failed", String(error.message ?? error))
  })
  return () => { latest.delete(el); if (window.Plotly) window.Plotly.purge(el) }
}
"""

_component = st.components.v2.component(
    "live_chart", html=chart_table.HTML, css=chart_table.CSS, js=chart_table.JS + JS, isolate_styles=False
)


def live_chart(
    figure: Figure, *, key: str, alt: str, height: int = 300, on_click: Callable[[Any, Any], None] | None = None
) -> None:
    """Draws a figure under a fixed key; `alt` is its accessible name. Its height is reserved before plotly is there.

    `on_click` is given x and y of a point that was clicked, as the browser says them.
    """
    chunk = plotly_chunk()
    failed_key, reason = st.session_state.get(FAILED, ("", ""))
    if chunk and not reason:
        _component(
            key=key,
            data={"figure": figure, "alt": alt, "chunk": chunk, "height": height, "clicks": on_click is not None},
            on_failed_change=lambda: _failed(key),
            on_clicked_change=lambda: _clicked(key, on_click),
            height=height,
        )
        return
    _static_chart(figure, key=key, alt=alt, height=height)
    if key == failed_key:
        st.caption(f"Charts are drawn anew at each update here and lose their zoom: {reason}.")


def _failed(key: str) -> None:
    """Notes why this browser could not load plotly by itself. The trigger has fired, so the page runs again."""
    reason = str(getattr(st.session_state.get(key), "failed", ""))[:200]  # it comes from a browser
    st.session_state[FAILED] = key, reason or "unknown reason"


def _clicked(key: str, on_click: Callable[[Any, Any], None] | None) -> None:
    """Hands on where a chart was clicked."""
    place = getattr(st.session_state.get(key), "clicked", None)
    if on_click is not None and isinstance(place, list | tuple) and len(place) == 2:  # it comes from a browser
        on_click(*place)


def _static_chart(figure: Figure, *, key: str, alt: str, height: int) -> None:
    import plotly.graph_objects as go

    drawn: Any = go.Figure(figure)
    drawn.update_layout(height=height)
    st.plotly_chart(drawn, key=f"{key}_static", alt=alt, config={"displaylogo": False, "showSendToCloud": False})
    with st.popover("Table", key=f"{key}_table", on_change="rerun") as opened:
        if opened.open:
            st.dataframe(table_of(figure), alt=f"{alt.removesuffix(', chart')}, table", height=240)
