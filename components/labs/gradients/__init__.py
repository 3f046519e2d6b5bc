"""The gradient lab."""
