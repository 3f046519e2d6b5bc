"""CSS that Streamlit's theme options lack: readable text in both themes, and no motion for those who want none."""

import streamlit as st

BADGES = {"measured": "blue", "formula": "green", "recorded": "gray"}  # the colours of where a number comes from

# Streamlit's contrast is too low: captions have 60 % opacity (3.9:1, a badge inside 2.8:1), code has 2.6:1 to 3.8:1 on
# white, and buttons have white text on a primary colour that is light enough to be read on the dark page.
CSS = """
[data-testid="stCaptionContainer"] { opacity: 1; color: color-mix(in srgb, currentColor 85%, transparent); }
button[kind="primary"], [data-tag-index] * { color: light-dark(#ffffff, #0b1622); }
[data-testid="stCode"] .token:is(.number, .string) { color: light-dark(#11705f, #29b09d); }
[data-testid="stCode"] .token.keyword { color: light-dark(#0b5cad, #5aa9f0); }
[data-testid="stCode"] .token.operator { color: light-dark(#a84300, #f08a4b); }
[data-testid="stCode"] .token:is(.punctuation, .comment) { color: light-dark(#5d6270, #a3a8b4); }
@media (max-width: 1400px) { /* Words without signs, so that Labs and Learn have room beside the sidebar. */
  [data-testid="stTopNavLink"] > span:has(> span > [data-testid="stIconMaterial"]) { display: none; }
}
.st-key-drawer, .st-key-history { position: absolute; }
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after {
    animation-duration: 0.01ms !important;
    animation-iteration-count: 1 !important;
    transition-duration: 0.01ms !important;
    scroll-behavior: auto !important;
  }
}
"""


def style() -> None:
    """Puts the rules on the page, where they take no room."""
    st.html(f"<style>{CSS}</style>")
