"""The page Your model."""
