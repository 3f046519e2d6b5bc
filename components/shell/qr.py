"""A link as a QR code, to scan from a screen."""

from contextlib import suppress
from functools import lru_cache

import segno
import streamlit as st


def draw_qr(link: str, width: str = "200px") -> None:
    """Shows the link as a QR code, unless it is too long for one; `width` is a CSS length."""
    with suppress(segno.DataOverflowError):
        st.html(qr_code_html(link, f"width: {width}"))


@lru_cache(maxsize=64)  # of a long link it takes half a second
def qr_code_html(link: str, style: str = "") -> str:
    """The code as an HTML image, black on white in both themes; `style` is its inline CSS."""
    code = segno.make(link, error="m", micro=False)
    source = code.svg_data_uri(scale=6, border=4, light="white")
    styled = f'style="{style}" ' if style else ""
    return f'<img alt="QR code of the link to hand out" {styled}src="{source}">'
