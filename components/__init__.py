"""Everything that draws. Knows Streamlit and plotly, never torch."""
