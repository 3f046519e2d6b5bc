"""Figures as plain dicts, which plotly draws."""
