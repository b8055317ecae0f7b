# Every command of this project. `make` alone lists them; `make demo` and `make test` are all a newcomer needs.

PYTHON ?= python3
# For example: make test ARGS='tests/policy -x' JOBS=0
ARGS ?=
JOBS ?= 2
UV ?= uv

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
# The interpreter is part of the stamp's name: another PYTHON is another environment.
DEPENDENCIES := $(VENV)/dependencies-$(subst /,_,$(PYTHON))
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test check lint types layers replay history dev worker format lock .venv

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## Send notices of many fates on a real Temporal server, and check each outcome
	@$(BIN)/standby demo $(ARGS)

test: $(READY) ## Run the tests (ARGS=… for pytest, JOBS=0 for one process)
	@$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(ARGS)

check: lint types layers test ## All that must pass before a change lands

lint: $(READY) ## Check style and formatting
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@echo "lint: clean"

types: $(READY) ## Check types
	@$(BIN)/mypy

layers: $(READY) ## Check that imports only go down
	@$(BIN)/lint-imports --no-cache --no-logo

replay: $(READY) ## Replay every recorded history with the workflow code of today
	@$(BIN)/python -m pytest tests/workflows/test_replay.py $(ARGS)

history: $(READY) ## Record a new history: make history NAME=scenario
	@test -n "$(NAME)" || { echo "Say which scenario to record: make history NAME=…" >&2; exit 2; }
	@$(BIN)/python -m tests.workflows.record "$(NAME)"

dev: $(READY) ## Run Temporal, the sandbox provider, a worker and the receiver here, until Ctrl-C
	@$(BIN)/standby dev $(ARGS)

worker: $(READY) ## Run one worker against the Temporal that the environment names
	@$(BIN)/python worker.py

format: $(READY) ## Rewrite style and formatting where a tool can
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

# Pins stay where pyproject.toml still allows them: UPGRADE=--upgrade takes the newest of all.
lock: COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-config --no-emit-index-url --no-header $(UPGRADE) pyproject.toml
lock: ## Write requirements*.txt anew from pyproject.toml (needs uv; UPGRADE=--upgrade)
	@command -v $(UV) >/dev/null || { echo "uv is missing: pip install uv, or make lock UV=/path/to/uv" >&2; exit 2; }
	@$(COMPILE) --output-file requirements.txt
	@$(COMPILE) --extra dev --constraint requirements.txt --output-file requirements-dev.txt
	@echo "requirements.txt and requirements-dev.txt hold what pyproject.toml asks for"

.venv: $(READY)

$(READY): $(DEPENDENCIES) pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(DEPENDENCIES): requirements-dev.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "$(PYTHON) is not there. Standby needs Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "Standby needs Python 3.11, 3.12 or 3.13, and this is $$($(PYTHON) --version 2>&1): make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian: apt install python3-venv)" >&2; exit 2; }
	@echo "Installing the locked packages into $(VENV), once: about a minute"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --require-hashes --requirement requirements-dev.txt
	@touch $@
