"""A class in the pages: they follow it, ask its questions and show its guesses."""
