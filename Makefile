# `make demo`, `make quick` and `make test` work from nothing: they create a virtual environment in .venv and use only that.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check -q
SOURCES = $(shell find src -type f -not -name '*.pyc' -not -path '*.egg-info/*')

# What `make quick` leaves to `make test`, by name: the slowest tests, over half of the unit tests' time (mostly statistics
# over many made-up runs), and the check of generated files, which it runs as a step of its own.
SLOW = named_for_what_they_are or healthy_runs_have_no or intervals_of_ninety_percent or chance_is_called_chance or \
  test_infer or what_is_suggested_reads_the_log or no_pattern_matches_a_line_without or bytes_go_to_a_file_or_a_pipe or \
  a_broken_archive_keeps or measured_through_torch or generated_files_are_up_to_date

# One process more than there are cores: many tests wait for other processes.
WORKERS ?= $(shell expr $$($(PYTHON) -c 'import os; print(os.cpu_count())') + 1)

.PHONY: all demo browser scripts quick test faults soak audit docs site sizes bench clean
.NOTPARALLEL:
all: test

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The package as a user gets it: built and installed, not linked. What an earlier build left would be packed again, also
# modules that are gone.
$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt $(SOURCES)
	@rm -rf build
	$(PIP) install -c constraints.txt .
	$(PIP) install --no-deps --force-reinstall .
	@touch $@

# The tools and extras of development; installed again only when the requirements change.
$(VENV)/.deps: $(BIN)/python pyproject.toml constraints.txt
	@rm -rf build
	$(PIP) install -c constraints.txt '.[dev]'
	@touch $@

$(VENV)/.dev: $(VENV)/.deps $(VENV)/.installed
	@touch $@

demo: $(VENV)/.installed
	@$(BIN)/stepscope demo

# Under a minute on two cores: everything that is quick, on the sources as they are, without building the package.
quick: export PYTHONPATH = $(CURDIR)/src
quick: $(VENV)/.deps scripts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/gen.py --check
	$(BIN)/python -m pytest -n auto tests/unit tests/test_*.py -k "not ($(SLOW))"

# Exactly what CI runs: format, lint, types, generated files, tests (the real logs too, if they are beside the checkout).
test: $(VENV)/.dev browser scripts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/gen.py --check
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The browser for the page's tests: the system's own, installed where that is allowed.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { echo "installing chromium"; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  echo "no Chromium, and it cannot be installed here: the page's tests are skipped"

# Types of the page's and the app's scripts, where npm is or can bring the compiler; users need neither.
TYPESCRIPT = 7.0.2
TSC = $(VENV)/node/node_modules/.bin/tsc
scripts: $(BIN)/python
	@if ! test -x $(TSC) || ! grep -q '"version": "$(TYPESCRIPT)"' $(VENV)/node/node_modules/typescript/package.json; then \
	  command -v npm >/dev/null && npm install --silent --no-fund --no-audit --no-save --fetch-retries=0 --prefix $(VENV)/node typescript@$(TYPESCRIPT) \
	    >/dev/null 2>&1 || echo "no npm, or it cannot install TypeScript: the types of the scripts are not checked"; \
	fi
	@if $(TSC) --version >/dev/null 2>&1; then $(TSC) -p tools/tsconfig.json; fi

# A hundred kills of each process, full and vanishing disks: docs/reliability.md has what came out. Some twenty minutes.
faults: export STEPSCOPE_FAULTS = 100
faults: $(VENV)/.dev
	$(BIN)/python -m pytest -n 0 tests/faults

# Inputs that nobody would send, as many as wanted: make soak NUM=250000 SEED=1 (LOGS=folder: stretches of those, too).
soak: NUM ?= 250000
soak: SEED ?= 1
soak: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz.soak --num $(NUM) --seed $(SEED) $(if $(LOGS),--logs $(LOGS))

# Known vulnerabilities of what is installed; says "not checked" and returns 2 where no service for that can be reached.
audit: $(VENV)/.deps
	$(PIP) install pip-audit
	@$(BIN)/python tools/audit.py

docs: $(VENV)/.dev
	$(BIN)/python tools/gen.py

# The documentation as a site, in the folder site; it needs no network to be read.
site: $(BIN)/python
	$(PIP) install -c constraints.txt mkdocs-material
	$(BIN)/mkdocs build --strict

# What has grown large: files, functions, branches, state. It prints and never fails.
sizes: $(VENV)/.deps
	@$(BIN)/python tools/sizes.py

bench: $(VENV)/.dev
	$(PIP) install runmedic polars pyarrow
	$(BIN)/python bench/start.py
	$(BIN)/python bench/read.py
	$(BIN)/python bench/plan.py

clean:
	rm -rf $(VENV) build src/*.egg-info
