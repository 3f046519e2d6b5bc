"""Common errors as claims: what is said, the set-up that tests it, and what its numbers say."""
