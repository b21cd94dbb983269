# Two commands for everyone: `make serve` and `make test`. `make check` is the long way round.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: serve test check lint types bench messages docs wheel lock clean

serve: $(VENV)/.serve build/docs/index.html
	$(RUN) manage.py serve

test: $(VENV)/.test
	$(RUN) -m tests.run quick

check: $(VENV)/.test
	$(RUN) -m tests.run all

lint: $(VENV)/.test
	$(RUN) -m tests.run lint

bench: $(VENV)/.test
	$(RUN) -m bench --pin

# The catalogues of the pages' words: taken from the code and compiled.
messages: $(VENV)/.test
	$(RUN) -m tests.messages

# The table of fields in the guide to queries, and the documentation as the server shows it.
docs: $(VENV)/.test
	$(RUN) -m tests.guide
	$(RUN) -m tests.reference
	$(RUN) docs_build.py

build/docs/index.html: docs_build.py zensical.toml $(shell find docs -type f) | $(VENV)/.serve
	$(RUN) docs_build.py

# What people install: dist/turnlog-<version>-py3-none-any.whl.
wheel: $(VENV)/.test
	$(RUN) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

# The command in a clone.
COMMAND = @printf '\#!/bin/sh\nexec "%s" "%s" "$$@"\n' "$(CURDIR)/$(RUN)" "$(CURDIR)/manage.py" > $(VENV)/bin/turnlog; chmod +x $(VENV)/bin/turnlog

# The locked dependencies, checked against their hashes. A stamp file tells what is installed.
$(VENV)/.serve: requirements.txt requirements-docs.txt | $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt -r requirements-docs.txt
	$(COMMAND)
	touch $@

$(VENV)/.test: requirements-dev.txt | $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(COMMAND)
	touch $@ $(VENV)/.serve

$(VENV):
	@$(PYTHON) -c 'import sys; sys.exit("Turnlog needs Python 3.11 or later: this is " + sys.version.split()[0] + ". Name one: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# Needs uv: make new lock files from pyproject.toml.
lock:
	uv pip compile -q pyproject.toml --generate-hashes --no-annotate --no-header --python-version 3.11 \
		-o requirements.txt
	uv pip compile -q pyproject.toml --group dev --generate-hashes --no-annotate --no-header --python-version 3.11 \
		-c requirements.txt -o requirements-dev.txt

	uv pip compile -q --group docs --generate-hashes --no-annotate --no-header --python-version 3.11 \
		-c requirements.txt -c requirements-dev.txt -o requirements-docs.txt

clean:
	rm -rf $(VENV) build dist .venvs .mypy_cache .ruff_cache .pytest_cache
