"""The page Common errors: claims, each tested by an experiment."""
