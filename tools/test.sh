#!/usr/bin/env bash
# test.sh [pytest options]: pure tests in parallel, then real processes, then Spark, one by one.
# Every phase runs; the script fails if one of them failed, and ends with pytest's own last line.
set -uo pipefail
cd "$(dirname "$0")/.."
alone="process or chaos"
failed=0
trap 'exit 130' INT

phase() { # phase NAME [pytest options]
  local name=$1
  shift
  .venv/bin/python -m pytest "$@" && return
  failed=1
  echo "test: the phase '$name' failed; the next one still runs" >&2
}

phase pure -n auto --dist worksteal -m "not ($alone or spark)" "$@"
phase processes -m "($alone) and not spark" "$@"
# A process of its own: PySpark forks to start Java, which gRPC's threads of earlier tests disturb.
.venv/bin/python -m pytest -m spark "$@" || failed=1
exit "$failed"
