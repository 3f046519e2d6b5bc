"""A link as a QR code, to scan from a wall."""

import segno
import streamlit as st


def draw(link: str, width: str = "200px") -> None:
    """Draws a link as a QR code of this width (CSS)."""
    st.html(qr_code(link, f'style="width: {width}" '))


def qr_code(link: str, looks: str = "") -> str:
    """The code as an image, black on white in both themes; `looks`: more attributes of it."""
    code = segno.make(link, error="m", micro=False)
    source = code.svg_data_uri(scale=6, border=4, light="white")
    return f'<img alt="QR code of the link to hand out" {looks}src="{source}">'
