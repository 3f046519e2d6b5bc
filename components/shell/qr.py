"""A link as a QR code, to scan from a wall."""

import segno


def qr_code(link: str, width: str = "200px") -> str:
    """The code as an image of this width (CSS): black on white in both themes."""
    code = segno.make(link, error="m", micro=False)
    source = code.svg_data_uri(scale=6, border=4, light="white")
    return f'<img alt="QR code of the link to hand out" style="width: {width}" src="{source}">'
