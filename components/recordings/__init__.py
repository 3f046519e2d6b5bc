"""The page "Your model"."""
