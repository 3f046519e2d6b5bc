"""The page Anatomy: one block taken apart."""
