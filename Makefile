# One line per target; the steps are in tools/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin

.PHONY: help cluster stop status setup dev test check fix demo prove spark bench chaos chaos-smoke chaos-mutants \
  lock proto docs clean clean-data

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

cluster: ## Start the nodes that do not run of a three-node cluster on 127.0.0.1:9192-9194
	@tools/setup.sh cluster
	@$(BIN)/tidelog cluster start

stop: ## Stop all nodes together; their data stays in .data
	@tools/setup.sh cluster
	@$(BIN)/tidelog cluster stop

status: ## Show the state of the nodes
	@tools/setup.sh cluster
	@$(BIN)/tidelog cluster status

dev:
	@tools/setup.sh dev

setup: ## Install everything: all extras into .venv, Toxiproxy into .tools
	@tools/toxiproxy.sh & tools/setup.sh dev; installed=$$?; wait $$! && exit $$installed

test: setup ## Run all tests: the pure ones in parallel, then processes and Spark
	@tools/java.sh || true
	@tools/test.sh

check: dev ## Check style, types, layers, lock file, generated code and docs; change nothing
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/basedpyright docs/examples tests/testing/whole_*.py testing/tidelog/testing/*.py
	@$(BIN)/python tools/lock.py --check
	@$(BIN)/python tools/protos.py --check
	@$(BIN)/python tools/kafka_schemas.py --check
	@$(BIN)/python tools/kafka_messages.py --check
	@$(BIN)/python tools/config_docs.py --check
	@$(BIN)/python tools/chaos_figures.py --check
	@$(BIN)/python tools/scenario_tables.py --check
	@$(BIN)/python -m pytest -q tests/test_tidy*.py tests/test_proto*.py

fix: dev proto docs ## Fix style, generated code and docs
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

prove: setup ## Run the long proofs on fresh seeds, some hours; results go to docs/ledger (options: tools/prove.sh)
	@tools/prove.sh

demo: setup ## Produce the flights, kill a leader half-way, read all back with Spark
	@tools/java.sh --required
	@$(BIN)/tidelog demo

spark: dev ## Write JSON records to Parquet: a sample, or OPTIONS="--topic … --schema … --output …", docs/SPARK.md
	@tools/java.sh --required
	@tools/spark.sh $(OPTIONS)

bench: setup ## Measure (OPTIONS=--quick); NAMES="failover log": other figures, docs/BENCHMARKS.md
	@$(if $(NAMES),PYTHONPATH=tools $(BIN)/python -m tests.benchmarks.run $(NAMES),$(BIN)/tidelog bench run $(OPTIONS))

chaos: setup ## Run every fault scenario on real processes (OPTIONS=--full: the catalogue's counts); reports in .chaos
	@$(BIN)/tidelog chaos run all $(OPTIONS)

chaos-smoke: setup ## Run the few fault scenarios that are, in turn, part of make test
	@$(BIN)/tidelog chaos run smoke $(OPTIONS)

chaos-mutants: setup ## Break rules in real nodes, one at a time: a run must notice each
	@$(BIN)/tidelog chaos mutants $(OPTIONS)

lock: dev ## Resolve requirements/*.txt from pyproject.toml
	@$(BIN)/python -m pip --quiet install --require-hashes -r requirements/lock.txt
	@$(BIN)/python tools/lock.py

proto: dev ## Generate the Python code of proto/ and add new messages and fields to tests/proto_baseline.txt
	@$(BIN)/python tools/protos.py
	@$(BIN)/python tools/kafka_messages.py

docs: dev ## Generate docs/CONFIGURATION.md from the code, docs/chaos/figures.md from its ledger, tables of scenarios
	@$(BIN)/python tools/config_docs.py
	@$(BIN)/python tools/chaos_figures.py
	@$(BIN)/python tools/scenario_tables.py

clean: ## Remove .venv, .tools and caches; keep data
	@rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

clean-data: ## Remove all topics: stop the cluster and delete .data
	@tools/setup.sh cluster
	@$(BIN)/tidelog cluster stop
	@rm -rf .data
