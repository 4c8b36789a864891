#!/usr/bin/env bash
# test.sh [pytest options]: pure tests in parallel, then real processes, then Spark, one by one.
# Stops at the first run that fails and ends with pytest's own closing line.
set -euo pipefail
cd "$(dirname "$0")/.."
alone="process or chaos"
.venv/bin/python -m pytest -n auto --dist worksteal -m "not ($alone or spark)" "$@"
.venv/bin/python -m pytest -m "($alone) and not spark" "$@"
# A process of its own: PySpark forks to start Java, which gRPC's threads of earlier tests disturb.
.venv/bin/python -m pytest -m spark "$@"
