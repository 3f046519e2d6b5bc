"""The page Papers: published results, each run here in small."""
