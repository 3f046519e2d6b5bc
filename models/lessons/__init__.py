"""Lessons with their challenges, the glossary, and the class board. Free of torch and Streamlit."""
