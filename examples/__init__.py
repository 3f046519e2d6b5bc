"""Three scripts that record themselves: `python -m examples.digits`, `examples.trainer`, `examples.x_transformer`."""
