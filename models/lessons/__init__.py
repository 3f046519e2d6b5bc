"""Lessons with their challenges, the class board, and the glossary. No torch, no drawing."""
