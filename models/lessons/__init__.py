"""Lessons with their challenges, the glossary, and the class board. No torch, no drawing."""
