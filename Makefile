# CONTRIBUTING.md explains the targets.
.PHONY: app check quick test full bench

app:
	streamlit run app.py

check:
	ruff format --check .
	ruff check .
	mypy
	npx --yes @biomejs/biome@2.6.8 ci components

quick:
	pytest -m "first and not browser and not slow"

test:
	pytest

full:
	pytest -m full

bench:
	python -m benchmarks
