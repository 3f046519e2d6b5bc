"""Numbers in, figure out: plain dicts that plotly draws."""
