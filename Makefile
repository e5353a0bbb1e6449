# metacross: every target does all the set-up it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCS_INSTALLED := $(VENV)/.docs-installed

LABEL_STUDIO := .venv-label-studio

.PHONY: install demo fix check test test-fast test-label-studio coverage docs package bench clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "metacross needs Python 3.10 or newer, found " + sys.version.split()[0] + "; name another with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --constraint constraints.txt --editable . --group dev
	touch $(INSTALLED)

$(DOCS_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --constraint constraints.txt --group docs
	touch $(DOCS_INSTALLED)

demo: install
	$(BIN)/metacross demo

fix: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: install
	$(BIN)/python -m pytest -n auto --dist worksteal

coverage: install
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

test-fast: install
	$(BIN)/python -m pytest -n auto -m "not slow"

$(LABEL_STUDIO)/.installed:
	$(PYTHON) -m venv $(LABEL_STUDIO)
	$(LABEL_STUDIO)/bin/python -m pip install --quiet label-studio==1.23.2 label-studio-sdk==2.1.2 playwright
	touch $(LABEL_STUDIO)/.installed

test-label-studio: install $(LABEL_STUDIO)/.installed
	LABEL_STUDIO_ENVIRONMENT=$(LABEL_STUDIO) $(BIN)/python -m pytest -n 0 tests/serving/test_real_label_studio.py

docs: $(DOCS_INSTALLED)
	$(BIN)/python -m tools.docs
	$(BIN)/zensical build --clean --strict
	@echo 'Built site/index.html. To read it with a working search: $(BIN)/python -m http.server --directory site'

package: install
	$(BIN)/python -m tools.package

bench: install
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(LABEL_STUDIO) .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache .coverage dist site
