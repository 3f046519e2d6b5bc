"""A visitor who presses anything, and what a person would call
broken: for `tests/browser/test_walk.py` and `python -m tests.walk`.
"""
