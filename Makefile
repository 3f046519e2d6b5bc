# CONTRIBUTING.md explains the targets.
.PHONY: app check quick test full bench recorder site plotly kernels

app:
	streamlit run app.py

check:
	ruff format --check .
	ruff check .
	mypy
	npx --yes @biomejs/biome@2.6.8 ci components addnorm tests/js
	npx --yes -p typescript@5.9.3 tsc

quick:
	pytest -m "first and not browser and not slow"
	pytest -n 0 -o addopts="" -q tests/test_content.py tests/project/test_architecture.py

test:
	pytest

full:
	pytest -m full

# The recorder's tests that need nothing of the app, for a Python and a torch on which that does not run.
NEED_APP = browser_reader findings histograms law numbers outputs rules sites
recorder:
	python -m pytest --noconftest -p no:cacheprovider -o addopts="" -q tests/addnorm $(NEED_APP:%=--ignore=tests/addnorm/test_%.py)

# In a virtual environment with requirements-site.txt; the site is in build/site.
site:
	mkdocs build --strict

# Another release of plotly's cartesian bundle: make plotly RELEASE=4.1.1
plotly:
	cd addnorm/player/plotly && npm pack --silent plotly.js-cartesian-dist-min@$(RELEASE) | xargs tar xzf \
		&& mv package/plotly-cartesian.min.js package/LICENSE . && rm -r package *.tgz \
		&& sha256sum plotly-cartesian.min.js LICENSE > SHA256SUMS

# The inner loops of the engine in a browser, after a change of kernels.ts.
kernels:
	cd addnorm/engine && npx --yes -p assemblyscript@0.28.9 asc kernels.ts -o kernels.wasm -O3 --noAssert \
		--enable simd --runtime stub --use abort= --initialMemory 8192 && sha256sum kernels.ts kernels.wasm > SHA256SUMS

bench:
	python -m benchmarks
	python -m tests.load
