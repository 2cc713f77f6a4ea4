# Two commands for a fresh machine:
#   make demo   builds an environment, evaluates both robots against the reference values, drives two simulated arms,
#               saves figures in demo/
#   make test   format, lint, types, documentation and tests, all blocking
# Needs: Python >= 3.11 with venv, a package index; a C compiler makes the compiled kernels (optional for the demo).

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test check docs clean

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,peers]'
	@# an independent server; its own physics (and what that needs) is not used
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps franka-sim==1.1.7
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/python -m franka_jax conformance --gradients --throughput
	@mkdir -p demo
	$(BIN)/python -m franka_jax plot --out demo/frames.png
	$(BIN)/python -m franka_rt demo --out demo

test: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m pytest

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) demo docs/_build .pytest_cache .ruff_cache
