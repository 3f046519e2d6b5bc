"""The page Common errors: claims, tested."""
