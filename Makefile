# `make demo` and `make test` need nothing but Python 3.11+, make and pip: they set up .venv first.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder
READY := .venv/.ready
SLOW_READY := .venv/.slow-ready
SITE_READY := .venv/.site-ready
MINUTES ?= 60
SEED ?= 0
INSTALL := timeout 120 apt-get -qq update > /dev/null && DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq -y --no-install-recommends install
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE  # each of many short processes would compile all that it imports

.PHONY: demo test check check-fast test-slow torture golden lint kernels types style browser postgresql load bench lock sbom docs figures site notebooks clean

demo: $(READY)  ## a first look: an explained answer on a small invented world
	@$(BIN)/apptek demo

test: check  ## everything that must hold

check: lint browser postgresql  ## the one gate: format, lint, types, import contracts, tests
	$(PYTEST) -m "not slow"

check-fast: lint  ## the quick tier, for the loop while you write
	$(PYTEST) -m "not gate and not slow"

test-slow: $(SLOW_READY) browser postgresql  ## the slow tier: Ray, builds, load, damage, more pages, random Hypothesis seeds
	$(PYTEST) -m slow
	$(PYTEST) -m "hypothesis and not slow" --hypothesis-profile=random

golden: $(READY)  ## rewrite the golden files: read the diff before you commit it
	GOLDEN=write $(BIN)/python -m pytest -q -n0 tests/test_golden.py tests/test_golden_cases.py tests/test_manifest.py tests/test_mcp.py

torture: $(READY)  ## the standing campaign: an hour of kills, cuts, full disks, mutations, bombs, slow clients
	$(BIN)/python -m benchmarks.torture --minutes $(MINUTES) --seed $(SEED) --result torture.json

lint: $(READY)  ## format, lint, types and import contracts
	@$(MAKE) --no-print-directory -j2 kernels types style

kernels:
	@test -d .numba_cache || $(BIN)/python -m tools.compile_kernels

types:
	$(BIN)/mypy

style:
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/lint-imports
	$(BIN)/oxfmt --check src/apptek/server/explorer tests/explorer
	$(BIN)/oxlint src/apptek/server/explorer
	$(BIN)/deno check --quiet --no-lock --no-remote src/apptek/server/explorer/globals.d.ts src/apptek/server/explorer/*.js

browser:  ## chromium for the tests of the page, from the system's packages; without it they are skipped
	@if command -v chromium > /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "Installing the system package chromium for the tests of the page."; \
	  $(INSTALL) chromium > /dev/null \
	  || echo "chromium could not be installed: the tests of the page will be skipped."; \
	else echo "There is no chromium: the tests of the page will be skipped."; fi

postgresql:  ## the server for the tests of databases, from the system's packages; without it they are skipped
	@if command -v initdb > /dev/null || ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "Installing the system package postgresql for the tests of databases."; \
	  $(INSTALL) postgresql > /dev/null \
	  || echo "postgresql could not be installed: the tests that need it will be skipped."; \
	else echo "There is no PostgreSQL: the tests that need it will be skipped."; fi

load: $(READY)  ## 200 clients for 30 s: no error, no growth
	APPTEK_LOAD=full $(BIN)/python -m pytest -q tests/test_service_load.py

bench: $(READY)  ## speed and memory, as ratios within one run
	$(BIN)/python -m benchmarks graph

lock: $(READY)  ## the release lock, with the checksums that the package index has
	$(BIN)/python -m tools.make_lock

sbom: $(READY)  ## the bill of materials of a release, as CycloneDX
	$(BIN)/python -m tools.make_sbom sbom.cdx.json

docs: $(READY)  ## rebuild what is generated in the docs
	$(BIN)/python -m tools.make_docs

figures: $(READY)  ## draw the figures of the docs again, from the result files
	$(BIN)/python -m tools.make_figures

notebooks: $(SITE_READY)  ## run the tutorials again, and keep what they show
	$(BIN)/python -m tools.run_notebooks

site: $(SITE_READY)  ## the documentation site, in docs/_build; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile -c constraints.txt -e '.[dev]'
	@touch $@

$(SLOW_READY): $(READY)
	$(BIN)/pip install --quiet --no-compile -c constraints.txt -e '.[dev,ray,site]'
	@touch $@ $(SITE_READY)

$(SITE_READY): $(READY)
	$(BIN)/pip install --quiet --no-compile -c constraints.txt -e '.[dev,site]'
	@touch $@

clean:  ## remove everything that make made
	rm -rf .venv build dist demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .numba_cache
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} +
