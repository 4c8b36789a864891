#!/usr/bin/env bash
# test.sh [pytest options]: pure tests in parallel, then those with real processes or Spark one by one.
# Stops at the first run that fails and ends with pytest's own closing line.
set -euo pipefail
cd "$(dirname "$0")/.."
alone="process or chaos or spark"
.venv/bin/python -m pytest -n auto --dist worksteal -m "not ($alone)" "$@"
.venv/bin/python -m pytest -m "$alone" "$@"
