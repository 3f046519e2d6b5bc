"""Results of papers: what each says, the set-up that repeats it here, and how its numbers judge."""
