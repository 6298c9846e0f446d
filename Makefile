# Each target does all its own set-up in .venv; nothing else is touched.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready

.PHONY: help demo reproduce test test-slow audit peers coverage lint types rooms check bench docs proofs clean

help:
	@echo "make demo       draw the paper's posterior privately, beside one that is not"
	@echo "make reproduce  draw the paper's figures, in minutes; FULL=1: at the paper's sizes"
	@echo "make test       run the tests"
	@echo "make test-slow  run the tests that take minutes"
	@echo "make audit      attack every stage that reads records, and plant every bug: an hour"
	@echo "make peers      published private samplers on the same records: hours; QUICK=1: a minute"
	@echo "make coverage   run the tests, and say which lines they miss"
	@echo "make check      lint, types and import contracts"
	@echo "make docs       build the documentation, running its examples"
	@echo "make bench      measure speed against stated peers"

demo: $(READY)
	@$(BIN)/python -m dpmcmc.cli demo

# FULL=1 for the paper's sizes, about half an hour; FIGURES="2 3" for some of them.
FIGURES ?= all
reproduce: $(READY)
	@$(BIN)/python -m reproduction $(FIGURES) $(if $(FULL),--full)

# Tapes of tests are keyed by this: with another one private runs draw otherwise.
TAPE_SEED ?= 0

test: $(READY)
	@PYTHONHASHSEED=0 $(BIN)/python -m pytest --numprocesses auto --dist loadfile \
	  --tape-seed $(TAPE_SEED)

coverage: $(READY)
	@PYTHONHASHSEED=0 $(BIN)/python -m pytest --cov --numprocesses auto --dist loadfile

test-slow: $(READY)
	@$(BIN)/python -m pytest -m slow

audit: $(READY)
	@mkdir -p build
	@$(BIN)/python -m dpmcmc.cli audit --picture build/audit.png
	@DPMCMC_FUZZ=20 $(BIN)/python -m pytest tests/audit -m "slow or not slow"

# TABLES=folder with UCI Adult as Parquet; PROCESSES=16 for as many at a time.
PROCESSES ?= 1
peers: $(READY)
	@mkdir -p build
	@$(BIN)/python -m benchmarks.peers $(TABLES) --processes $(PROCESSES) \
	  $(if $(QUICK),--quick,--out build/peers.jsonl)
	@$(if $(QUICK),:,$(BIN)/python -m benchmarks.peers --page build/peers.jsonl)

check: lint types rooms

lint: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

rooms: $(READY)
	@$(BIN)/lint-imports

bench: $(READY)
	@for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

# Warnings are errors, and so is an example that fails.
docs: $(DOCS_READY)
	@$(BIN)/python -m sphinx -W --keep-going -n -q -j 2 -b html -d build/doctrees docs build/docs
	@echo "Open build/docs/index.html"

proofs: $(READY)
	@$(BIN)/python docs/proofs/sign.py

clean:
	rm -rf .venv build demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "dpmcmc needs Python 3.11 or newer, but there is no '$(PYTHON)' here."; \
	  echo "Install it, or say where it is: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dpmcmc needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1)."; \
	  echo "Install a newer one and say where it is: make PYTHON=python3.11 $(MAKECMDGOALS)"; \
	  exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module. Install it (Debian: python3-venv) and try again."; \
	  exit 1; }
	@echo "Setting up .venv (a few minutes the first time) …"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

$(DOCS_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[docs]'
	@touch $(DOCS_READY)
