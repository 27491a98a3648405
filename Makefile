# promptcache: two commands matter, `make serve` and `make test`. Neither asks anything.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
# A file of tests to a process; in order, since the kernels' take longest and come early. PARALLEL= for one process.
# Each computes on one thread: processes that wait for each other's threads take longer than one after the other.
PARALLEL ?= --numprocesses=auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help serve test check fix reference types contracts unit setup setup-dev clean

help: ## what can be made here
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 16

serve: setup ## set everything up and serve on http://127.0.0.1:8400 (ARGS="--port 9000" …)
	@exec $(BIN)/promptcache serve $(ARGS)

test: setup-dev check types contracts unit ## set up what the tests need and run everything CI runs

check: setup-dev ## style: ruff's rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

fix: setup-dev ## mend what ruff can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

reference: setup-dev ## write docs/reference again from the docstrings
	@$(BIN)/python scripts/make_api_reference.py

types: setup-dev
	@$(BIN)/mypy

contracts: setup-dev
	@$(BIN)/lint-imports

unit: setup-dev
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest $(PARALLEL) $(ARGS)

setup:
	@$(PYTHON) scripts/setup_venv.py --venv $(VENV) --extras gateway,engine

setup-dev:
	@$(PYTHON) scripts/setup_venv.py --venv $(VENV) --extras dev
	@sh scripts/install_services.sh
	@$(BIN)/python scripts/fetch_model.py

clean: ## remove the environment and the caches in this folder
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache test-artifacts dist
