# CONTRIBUTING.md explains the targets.
.PHONY: app check test quick long bench

app:
	streamlit run app.py

check:
	ruff format --check .
	ruff check .
	mypy
	npx --yes @biomejs/biome@2.6.8 ci components

test:
	pytest

quick:
	pytest -m "not browser and not slow"

long:
	pytest -m long

bench:
	python -m benchmarks
