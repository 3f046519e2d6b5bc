"""Costs as ratios measured in one run: `python -m benchmarks` prints every figure beside its goal."""
