"""The page Teacher."""
