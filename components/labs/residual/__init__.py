"""The residual lab."""
