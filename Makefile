# Needs make and a CPython of at least 3.11, nothing else: the environments are made in .venv* and kept, so that a second
# call takes seconds. `make PYTHON=/path/to/python3.12 test` chooses the interpreter of a new .venv.

BIN := .venv/bin
JOBS ?= 2
PYTEST := -m pytest -q -n $(JOBS)

MINUTES ?= 10
SEED ?=

.PHONY: help demo test check lint compat ray matrix bench bench-peers soak pictures clean

help:
	@echo "make demo    install what is missing and watch the sample environment on a real model (HEADLESS=1: as text)"
	@echo "make test    the test suite on one interpreter"
	@echo "make compat  the tests that need pydantic-ai, openai-agents and agno, which make test leaves out"
	@echo "make ray     the tests that need a Ray cluster, which they make on this machine; minutes, and 2 GB of memory"
	@echo "make check   format, lint, types, imports, and the suite on every interpreter and on the lowest versions"
	@echo "make bench   what an attempt costs, as ratios to a bare loop; how often the stated intervals hold the truth"
	@echo "make bench-peers  the same work with other runners of evaluations, each in an environment below .venv-peers"
	@echo "make pictures  the pictures of the documentation, taken anew by the dashboard"
	@echo "make soak    kills, faults and outages at random moments (MINUTES=10; SEED=... repeats one)"
	@echo "make clean   remove the environments and caches"

demo:
	@.ci/venv .venv demo
	@$(BIN)/rollgrid demo --yes $(if $(HEADLESS),--headless --json)

test:
	@.ci/venv .venv test
	@echo "== tests on $$($(BIN)/python -V)"
	@$(BIN)/python $(PYTEST)

lint:
	@.ci/venv .venv dev
	@echo "== ruff format" && $(BIN)/ruff format --check --quiet
	@echo "== ruff check" && $(BIN)/ruff check --quiet
	@echo "== pyright" && $(BIN)/pyright
	@echo "== import contracts" && $(BIN)/lint-imports

COMPAT_TESTS := tests/core/adapters tests/core/environments/test_seed_files.py

compat:
	@.ci/venv .venv-compat compat
	@echo "== tests with the libraries of the adapters, the newest, on $$(.venv-compat/bin/python -V)"
	@.venv-compat/bin/python $(PYTEST) $(COMPAT_TESTS)
	@.ci/venv .venv-adapters adapters
	@echo "== tests with the libraries of the adapters, the oldest that are taken"
	@.venv-adapters/bin/python $(PYTEST) $(COMPAT_TESTS)

ray:
	@.ci/venv .venv-ray ray
	@echo "== runs on a Ray cluster of three nodes, on $$(.venv-ray/bin/python -V)"
	@.venv-ray/bin/python -m pytest -q tests/cluster

matrix:
	@.ci/matrix $(PYTEST) -m "(not e2e or smoke) and not local_model"

check: lint test compat matrix

bench:
	@.ci/venv .venv test
	@$(BIN)/python tests/bench/cpu_per_attempt.py
	@$(BIN)/python tests/bench/simulation/coverage.py
	@$(BIN)/python tests/bench/dashboard.py
	@$(BIN)/python tests/bench/simulation/sequential.py

bench-peers:
	@.ci/venv .venv test
	@$(BIN)/python tests/bench/peers/compare.py

soak:
	@.ci/venv .venv test
	@CHAOS_SECONDS=$$(($(MINUTES) * 60)) $(if $(SEED),CHAOS_SEED=$(SEED)) $(BIN)/python -m pytest -q -s tests/chaos/test_chaos.py

pictures:
	@.ci/venv .venv test
	@$(BIN)/python docs/pictures.py

clean:
	rm -rf .venv .venv-* dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
