# `make` prints what there is. Every target sets up what it needs; Python 3.11 or newer is all that must be there.
VENV ?= .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types format docs bench-costs bench-engine bench-spark bench-workloads fuzz soak figures java postgresql chromium lock upgrade clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Create .venv with the locked versions and this package

$(READY): requirements.lock pyproject.toml tools/bootstrap
	tools/bootstrap $(VENV)
	@touch $@

demo: $(READY) java ## A stream, a master on disk, a warehouse, in a minute and a half; ARGS are passed on
	$(PYTHON) -m semistream demo $(ARGS)

test: lint types java postgresql chromium ## Everything that CI checks; ARGS="-k keys" is passed to pytest
	$(PYTHON) -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

lint: $(READY) ## Style, and the direction of imports
	$(VENV)/bin/ruff check
	$(VENV)/bin/lint-imports

types: $(READY) ## Static types
	$(VENV)/bin/mypy

format: $(READY) ## Lay the code out
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

docs: $(READY) ## Write docs/algorithms.md from the algorithms' files
	$(PYTHON) tools/algorithm-docs

bench-costs: $(READY) ## What a row costs here, measured and predicted; ARGS are passed on
	$(PYTHON) -m benchmarks.costs $(ARGS)

bench-engine: $(READY) ## Time the engine; ARGS are passed on
	$(PYTHON) -m benchmarks.engine $(ARGS)

bench-spark: $(READY) java ## Time lookup_join beside Spark's own join and the ceiling; ARGS are passed on
	$(PYTHON) -m benchmarks.spark $(ARGS)

bench-workloads: $(READY) ## Time the key streams; ARGS are passed on
	$(PYTHON) -m benchmarks.workloads $(ARGS)

fuzz: $(READY) ## Random joins against an oracle; ARGS are passed on
	$(PYTHON) -m tests.fuzz $(ARGS)

soak: $(READY) java postgresql ## What shows after a long time: memory, and kills; ARGS="kills" runs one part alone
	$(PYTHON) -m tests.soak $(ARGS)

figures: $(READY) ## Run the papers' figures again, in minutes, and write build/figures/report.html; ARGS are passed on
	$(PYTHON) -m semistream figures --quick --results build/figures $(ARGS)

java: ## Install a Java runtime where none is found (Spark needs one)
	tools/java

postgresql: ## Install PostgreSQL's server where none is found (tests start their own)
	tools/postgresql

chromium: ## Install a browser where none is found (a test opens the papers' report)
	tools/chromium

lock: ## Write requirements.lock anew after a change to pyproject.toml, keeping what still fits
	tools/lock

upgrade: ## Write requirements.lock anew with the newest versions
	tools/lock --upgrade

clean: ## Remove everything that these targets made
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
