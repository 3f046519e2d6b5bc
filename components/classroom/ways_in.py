"""The ways to join a class: a QR code, and a short address to type."""

from html import escape

import streamlit as st

from components.shell import address
from components.shell.qr import qr_code_html


def join_html(code: str, extra_html: str) -> str:
    """HTML of the QR code beside the address and `extra_html`, on a page whose address is known."""
    picture, instruction = _qr_code_and_address(code)
    return f'<div class="class-join">{picture}<div>{instruction}{extra_html}</div></div>'


def draw_join_overlay(code: str) -> None:
    """Draws QR code and address large over a projector's page; a key shows and hides them."""
    st.html(f'<div class="class-over">{"".join(_qr_code_and_address(code))}</div>')


def _qr_code_and_address(code: str) -> tuple[str, str]:
    base = address.app_url()
    join = escape(f"{base.partition('://')[2]}/join")
    return qr_code_html(f"{base}/join?c={code}"), f"<p><b>{join}</b> with the code <b>{code}</b></p>"
