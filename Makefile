# `make demo` and `make test` need nothing but Python 3.11+, make and pip: they set up .venv first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check check-fast lint bench docs clean

demo: $(READY)  ## a first look: an explained answer on a small invented world
	@$(BIN)/apptek demo

test: check  ## everything that must hold

check: lint  ## the one gate: format, lint, types, import contracts, tests
	$(BIN)/python -m pytest -q -n 2

check-fast: lint  ## the same without slow tests, for the loop while writing
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

lint: $(READY)
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## speed and memory, as ratios within one run
	$(BIN)/apptek bench graph

docs: $(READY)  ## write anew what is generated in the docs
	$(BIN)/python tests/make_docs.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

clean:  ## remove everything that make made
	rm -rf .venv build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .numba_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
