"""Common claims: what is said, the experiment that tests it, and how its numbers judge."""
