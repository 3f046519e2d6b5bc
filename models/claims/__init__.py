"""Common claims: each with the experiment that tests it and the judge of its numbers."""
