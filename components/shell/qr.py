"""A link as a QR code, to scan from a screen."""

import segno
import streamlit as st


def draw_qr(link: str, width: str = "200px") -> None:
    """Draws a link as a QR code of this CSS width."""
    st.html(qr_code(link, f'style="width: {width}" '))


def qr_code(link: str, attributes: str = "") -> str:
    """The code as an HTML image, black on white in both themes; `attributes` must end with a space."""
    code = segno.make(link, error="m", micro=False)
    source = code.svg_data_uri(scale=6, border=4, light="white")
    return f'<img alt="QR code of the link to hand out" {attributes}src="{source}">'
