"""The page Common claims: claims, each tested by an experiment."""
