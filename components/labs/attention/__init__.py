"""The attention lab."""
