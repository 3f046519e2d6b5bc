"""The normalisation lab."""
