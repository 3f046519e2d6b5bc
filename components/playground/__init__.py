"""The page Playground."""
