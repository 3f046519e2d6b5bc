"""The drawer over a narrow page closes when another page is shown.

Streamlit closes it by itself only in what calls itself a phone, not on a tablet or in a narrow window, and a drawer that was left
open lies over the page of the next visit too.
"""

import streamlit as st

# A press beside an open drawer closes it where it covers the page, and nowhere else.
JS = """
let shown
export default function ({ data }) {
  if (data.page === shown) return
  shown = data.page
  document.querySelector("[data-testid=stMain]")?.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }))
}
"""

_component = st.components.v2.component("drawer", html="", js=JS, isolate_styles=False)


def close_drawer(page: str) -> None:
    """Takes the drawer off a page that it covers, once for each page that is come to."""
    _component(key="drawer", data={"page": page}, height=0)
