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
/* Start's four nets, and the playground's stack, player and charts, stand in the first screen. */
.stMainBlockContainer { padding-top: 4.25rem; }
.stMainBlockContainer h1 { padding: 0.25rem 0 0.5rem; }
@media (min-width: 768px) {
  .st-key-preset [data-testid="stButtonGroup"] { display: flex; flex-direction: row; gap: 0.5rem; align-items: center; }
}
@media (min-width: 768px) and (max-width: 1400px) {
  .stMainBlockContainer { padding-left: 2rem; padding-right: 2rem; }
}
.st-key-top h1 { padding: 0; }
.st-key-start_words { display: grid; }
.st-key-start_words > * { grid-area: 1 / 1; }
.st-key-start_words:has(> :nth-child(2)) > :first-child * { visibility: hidden; }
@media (min-width: 768px) { .stElementContainer.st-key-settings { display: none; } }
@media (max-width: 767px) { /* The drawer's closing button stays in sight, with nothing over it. */
  [data-testid="stApp"]:has([data-testid="stSidebar"]):not(:has([data-testid="stExpandSidebarButton"])) .copy-link {
    visibility: hidden;
  }
  [data-testid="stSidebarContent"], [data-testid="stSidebarHeader"] { background: inherit; }
  [data-testid="stSidebarHeader"] { position: sticky; z-index: 1; top: 0; flex-shrink: 0; }
  [data-testid="stSidebarUserContent"] { scroll-margin-top: 60px; }
}
.st-key-preset [data-testid="stButtonGroup"] > div { flex-wrap: wrap; }
.stVerticalBlock:has(> * > .st-key-top, > .st-key-stage_playground) { gap: 0.5rem; }
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
