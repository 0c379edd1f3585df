# Every target sets up what it needs: a virtual environment in .venv, made with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 9092
# Tests that run side by side, by the cores and the memory of this machine: tools/workers.py.
WORKERS ?= $(shell $(BIN)/python -m tools.workers)
# How often and how long each fault of make faults runs on a cluster, and which: all, unless named.
RUNS ?= 1
OPERATIONS ?= 3000
FAULTS ?=
KILLS ?=
# Whatever the environment says, compiled modules are kept: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help up test test-compiled lint unit wheels faults client-model simulation streams-comparison spark-kills spark-memory bench conformance conformance-go docs clean check-wheel test-python

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Bytecode is compiled at install: a start without it takes a second longer.
$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "ottla needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing ottla into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --compile --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing what the tests and the benchmark need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --compile --editable '.[dev,bench]'
	@touch $@

up: $(VENV)/.run ## start a broker on port 9092
	@$(BIN)/python -m compileall -q src
	@exec $(BIN)/ottla up --port $(PORT)

# Side by side: most of lint is one process of mypy.
test: $(VENV)/.dev ## lint, types, layers and all tests
	@$(MAKE) --no-print-directory -j2 lint unit

lint: $(VENV)/.dev ## ruff, mypy and import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# Loops for Spark are compiled once here, not by each worker that is started at the same time.
unit: $(VENV)/.dev
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python -c 'from ottla.pipeline.compiled import warm; warm()'
	@$(BIN)/pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder

faults: $(VENV)/.dev ## what can fail fails, under a checker (RUNS=5 OPERATIONS=15000 FAULTS=kill-leader)
	@$(BIN)/python -m compileall -q src
	@test -n "$(FAULTS)" || OTTLA_FAULTS=1 $(BIN)/pytest -m faults --no-header -q
	@$(BIN)/python -m tests.faults --runs $(RUNS) --operations $(OPERATIONS) $(FAULTS)

# Two kinds of wheels: any machine can run the one, the other is compiled for machines like this one.
wheels: $(VENV)/.run ## both wheels, in dist/
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@OTTLA_COMPILE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist

test-compiled: $(VENV)/.dev ## the tests, against the package as a wheel for this platform has it
	@package=$$($(BIN)/python -m tools.compiled) && PYTHONPATH=$$package $(BIN)/pytest -m 'not interpreted' \
	  --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder

# As it is installed from a wheel; INTERPRETED=1 measures the sources, and needs no C compiler.
bench: $(VENV)/.dev ## ottla and Apache Kafka 4.3 side by side
	@$(BIN)/python -m compileall -q src
	@package=$$($(if $(INTERPRETED),,$(BIN)/python -m tools.compiled)) \
	  && PYTHONPATH=$$package $(BIN)/python -m benchmarks $(BENCH_ARGS)

client-model: $(VENV)/.dev ## the real clients on simulated brokers, for ten minutes (STORIES=1000)
	@$(BIN)/python -m tests.client_model --seconds 600 $(if $(STORIES),--stories $(STORIES))

simulation: $(VENV)/.dev ## three brokers in one process: thousands of seeds, and brokers that break a rule (SEEDS=4000)
	@$(BIN)/python -m tests.simulation 0 $(or $(SEEDS),4000) --processes 2
	@$(BIN)/python -m tests.simulation 0 100 --long --processes 2
	@for mutant in $$($(BIN)/python -c 'from tests.simulation.mutants import MUTANTS; print(*MUTANTS)'); do \
	  echo "looking for $$mutant"; $(BIN)/python -m tests.simulation 0 1000 --mutant $$mutant || exit 1; done

streams-comparison: $(VENV)/.dev ## random topologies: ottla's test driver and Kafka Streams' own agree (SEEDS=4000)
	@$(BIN)/python -m tests.streams 0 $(or $(SEEDS),4000)

spark-kills: $(VENV)/.dev ## drivers, executors and brokers of Spark jobs die at every step (RUNS=10 KILLS=driver)
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python -m tests.pipeline.kills --runs $(RUNS) $(KILLS)

spark-memory: $(VENV)/.dev ## Spark's Python workers on a topic of 10 GB (GIGABYTES=1 for less)
	@$(BIN)/python -m benchmarks.spark_memory --gigabytes $(or $(GIGABYTES),10)

conformance: $(VENV)/.dev ## librdkafka's own test-suite against a broker (TESTS=0118 for one)
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python -m tests.conformance $(TESTS)

conformance-go: $(VENV)/.dev ## franz-go's own tests against a broker
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python -m tests.conformance.franz_go

check-wheel: $(VENV)/.run ## the wheel in an empty environment does what the README's first minutes do
	@$(BIN)/python -m tools.check_wheel

# Another Python's environment lies in .cache; TESTS=tests for the whole suite.
test-python: ## the unit tests with another Python (PYTHON=python3.13)
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])') && place=.cache/python-$$version \
	  && { test -x $$place/bin/pytest || $(PYTHON) -m venv $$place; } \
	  && $$place/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' \
	  && $$place/bin/pytest --numprocesses 2 --dist loadscope $(or $(TESTS),tests/unit)

docs: $(VENV)/.dev ## regenerate the pages under docs/ that come from tables
	@$(BIN)/python -m tools.render_docs

clean: ## remove everything that was generated
	@rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
