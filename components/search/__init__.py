"""The search in the frame of every page: the index of all words, its route, and the box that asks it."""
