"""The page Start: the experiment of the first minute."""
