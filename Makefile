# `make demo` and `make test` work from nothing: they make a virtual environment beside this file and use only that.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check -q
SOURCES = $(shell find src -type f -not -name '*.pyc')

.PHONY: all demo browser test check docs bench clean
all: test

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The package as a user gets it: built and installed, not linked.
$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt $(SOURCES)
	$(PIP) install -c constraints.txt .
	$(PIP) install --no-deps --force-reinstall .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install -c constraints.txt '.[dev]'
	$(PIP) install --no-deps --force-reinstall .
	@touch $@

demo: $(VENV)/.installed
	@$(BIN)/stepscope demo

# Exactly what CI runs: format, lint, types, generated files, tests (the real logs too, where they lie beside the checkout).
test: $(VENV)/.dev browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/gen.py --check
	$(BIN)/python -m pytest -n auto

# The browser of the page's tests: the system's own, installed where that is allowed.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { echo "installing chromium"; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  echo "no Chromium, and it cannot be installed here: the page's tests are skipped"

docs: $(VENV)/.dev
	$(BIN)/python tools/gen.py

bench: $(VENV)/.dev
	$(PIP) install runmedic polars pyarrow
	$(BIN)/python bench/start.py
	$(BIN)/python bench/read.py
	$(BIN)/python bench/plan.py

clean:
	rm -rf $(VENV) build src/*.egg-info
