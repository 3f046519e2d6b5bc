"""The way to join a class: a QR code, and the short address for who cannot scan it."""

from html import escape

import streamlit as st

from components.shell import address
from components.shell.qr import qr_code


def beside(code: str, more: str) -> str:
    """The QR code beside its address and `more` (HTML), on a page whose address is known."""
    link, way = _ways(code, address.HERE.get())
    return f'<div class="class-join">{link}<div>{way}{more}</div></div>'


def over(code: str, page: str) -> None:
    """The same, large and over the page, which a key of the projector's shows and hides."""
    st.html(f'<div class="class-over">{"".join(_ways(code, page))}</div>')


def _ways(code: str, page: str) -> tuple[str, str]:
    base = address.base(page)
    join = escape(f"{base.partition('://')[2]}/join")
    return qr_code(f"{base}/join?c={code}"), f"<p><b>{join}</b> with the code <b>{code}</b></p>"
