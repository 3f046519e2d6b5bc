"""Results of papers: each with the set-up that reproduces it at toy scale and the judge of its numbers."""
