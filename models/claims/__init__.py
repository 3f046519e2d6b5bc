"""Common errors as claims: what is said, the experiment that tests it, and what its numbers say."""
