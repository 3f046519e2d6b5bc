"""Common errors as claims: what people say, the set-up that tests it, and what its numbers say."""
